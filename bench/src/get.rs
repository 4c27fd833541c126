//! `get`: what it costs to look at a sandbox, against a bare handler that serialises the same view.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::{
    Outcome, control,
    http::{Connection, Request},
    report::{self, Measure, Unit},
    server::Server,
};

const CONNECTIONS: usize = 32;

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (rounds, lasts) = if quick { (1, Duration::from_millis(500)) } else { (7, Duration::from_secs(3)) };
    let house = Server::house()?;
    let sample = control::sample(&house).await?;
    let peer = Server::peer(&sample)?;
    let look = house.request("GET", &format!("/api/v1/sandboxes/{}", sample.id), None);
    let show = peer.request("GET", "/sandbox", None);
    same_answers(&house, &look, &peer, &show).await?;

    let mut rate = Measure::new("32 connections, answers", Unit::PerSecond).aim("at least 0.5×");
    let mut cpu = Measure::new("processor time per answer", Unit::Microseconds);
    for _ in 0..rounds {
        let (ours, theirs) = (load(&house, &look, lasts).await?, load(&peer, &show, lasts).await?);
        rate.note(ours.rate, theirs.rate);
        cpu.note(ours.cpu_us, theirs.cpu_us);
    }
    report::table("get: GET /api/v1/sandboxes/{id}, against axum serialising the same view", &[rate, cpu])
}

async fn same_answers(house: &Server, look: &Request, peer: &Server, show: &Request) -> Outcome<()> {
    let (mut ours, mut theirs) = (Connection::open(house.address).await?, Connection::open(peer.address).await?);
    match ours.ask(look).await? == theirs.ask(show).await? {
        true => Ok(()),
        false => Err("house and peer show different sandboxes".into()),
    }
}

struct Load {
    rate: f64,
    cpu_us: f64,
}

async fn load(server: &Server, request: &Request, lasts: Duration) -> Outcome<Load> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(server.address).await?;
        connection.ask(request).await?;
        connections.push(connection);
    }
    let (cpu, began) = (server.cpu()?, Instant::now());
    let mut tasks = JoinSet::new();
    for mut connection in connections {
        let request = request.clone();
        tasks.spawn(async move {
            let mut answers = 0u64;
            while began.elapsed() < lasts {
                connection.ask(&request).await?;
                answers += 1;
            }
            std::io::Result::Ok(answers)
        });
    }
    let mut answers = 0;
    while let Some(done) = tasks.join_next().await {
        answers += done??;
    }
    let cpu_us = (server.cpu()? - cpu).as_micros() as f64 / answers as f64;
    Ok(Load { rate: answers as f64 / began.elapsed().as_secs_f64(), cpu_us })
}
