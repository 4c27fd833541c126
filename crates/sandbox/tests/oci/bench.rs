//! Figures, by hand: `cargo test -p carrel-sandbox --test oci -- --ignored --nocapture figures`.
#![allow(clippy::print_stderr)]

use std::time::{Duration, Instant};

use carrel_model::sandbox::Depth;
use carrel_sandbox::{Pausing, Provider};

use crate::yard::{Yard, new_id};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; run it by hand on a quiet machine"]
async fn figures() {
    for runtime in ["runsc", "runc"] {
        let yard = Yard::with(runtime).await;
        let spec = yard.spec().await;
        let (mut create, mut exec, mut freeze, mut thaw, mut store, mut restore, mut destroy) =
            (vec![], vec![], vec![], vec![], vec![], vec![], vec![]);
        for _ in 0..10 {
            let id = new_id();
            timed(&mut create, yard.oci.create(&id, &spec)).await.unwrap();
            for _ in 0..5 {
                timed(&mut exec, yard.run(&id, "true")).await;
            }
            timed(&mut freeze, yard.oci.pause(&id, Depth::Frozen)).await.unwrap();
            timed(&mut thaw, yard.oci.resume(&id)).await.unwrap();
            let reached = timed(&mut store, yard.oci.pause(&id, Depth::Stored)).await.unwrap();
            assert_eq!(timed(&mut restore, yard.oci.resume(&id)).await, Ok(reached));
            timed(&mut destroy, yard.oci.destroy(&id)).await.unwrap();
        }
        for (what, times) in [
            ("create", create),
            ("exec `true`", exec),
            ("freeze", freeze),
            ("thaw", thaw),
            ("store", store),
            ("restore", restore),
            ("destroy", destroy),
        ] {
            eprintln!("{runtime}: {what}: {}", summary(times));
        }
        yard.close().await;
    }
}

async fn timed<T>(times: &mut Vec<Duration>, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let done = work.await;
    times.push(began.elapsed());
    done
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    format!("median {:.1?}, worst {:.1?} of {}", times[times.len() / 2], times[times.len() - 1], times.len())
}
