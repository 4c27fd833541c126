//! `push`: a small commit through the gateway, judged, looked through and safe on disk, against plain `git http-backend`.

use super::{backend, git, repository, timed};
use crate::{
    Outcome,
    http::Connection,
    report::{self, Measure, Unit},
    server::Server,
};

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (rounds, files) = if quick { (3, 100) } else { (21, 2000) };
    let place = tempfile::Builder::new().prefix("carrel-bench-git.").tempdir()?;
    let folder = place.path();
    let work = repository(folder, files, files * 1000)?;
    git(folder, &["clone", "-q", "--bare", "work", "peer.git"])?;
    let peer = format!("http://{}/peer.git", backend::serve(folder.to_owned()).await?);
    let house = Server::house()?;
    let mut line = Connection::open(house.address).await?;
    line.ask(&house.request("POST", "/api/v1/repos", Some(r#"{"new": true, "name": "bench"}"#))).await?;
    let ours = format!("http://x:{}@{}/git/bench.git", house.key(), house.address);
    tokio::task::block_in_place(|| git(&work, &["push", "-q", &ours, "main"]))?;

    let mut took = Measure::new("git push of one small commit", Unit::Microseconds).aim("within 1.5×");
    for round in 0..rounds {
        std::fs::write(work.join("changed.txt"), format!("round {round}\n"))?;
        git(&work, &["add", "--all"])?;
        git(&work, &["commit", "-q", "-m", "feat: change"])?;
        let push = |url: &str| tokio::task::block_in_place(|| timed(|| git(&work, &["push", "-q", url, "main:topic"])));
        // By turns first and second, so that nobody always finds the disk warm.
        let (house_took, peer_took) = match round % 2 {
            0 => {
                let ours = push(&ours)?;
                (ours, push(&peer)?)
            }
            _ => {
                let theirs = push(&peer)?;
                (push(&ours)?, theirs)
            }
        };
        took.note(house_took, peer_took);
    }
    report::table("push: through the gateway, against git http-backend", &[took])
}
