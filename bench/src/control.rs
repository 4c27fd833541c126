//! `control`: what the control plane costs. A sandbox at the fake provider, waited for, against one durable insert.
//!
//! The house commits twice, when the sandbox is asked for and when it is ready; the peer commits once.

use std::time::Instant;

use carrel_model::public::SandboxView;
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::{
    Outcome,
    http::{Connection, Request},
    report::{self, Measure, Unit, quantile},
    server::Server,
};

const BODY: &str = r#"{"template":"host","timeout_s":1800,"metadata":{"for":"bench","why":"to be measured"}}"#;

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (rounds, each) = if quick { (1, 40) } else { (7, 400) };
    let house = Server::house()?;
    let create = house.request("POST", "/api/v1/sandboxes?wait=ready", Some(BODY));
    let peer = Server::peer(&sample(&house).await?)?;
    let insert = peer.request("POST", "/insert", Some(BODY));

    let mut alone = [
        Measure::new("1 connection, p50", Unit::Microseconds).aim("p50 within 3×"),
        Measure::new("1 connection, p99", Unit::Microseconds),
    ];
    let mut together = [
        Measure::new("8 connections, p50", Unit::Microseconds).aim("p50 within 3×"),
        Measure::new("8 connections, p99", Unit::Microseconds),
        Measure::new("8 connections, answers", Unit::PerSecond),
    ];
    let mut cpu = Measure::new("processor time per answer", Unit::Microseconds);
    for _ in 0..rounds {
        let (ours, theirs) = (load(&house, &create, 1, each).await?, load(&peer, &insert, 1, each).await?);
        alone[0].note(quantile(&ours.times, 0.5), quantile(&theirs.times, 0.5));
        alone[1].note(quantile(&ours.times, 0.99), quantile(&theirs.times, 0.99));
        let (ours, theirs) = (load(&house, &create, 8, each / 4).await?, load(&peer, &insert, 8, each / 4).await?);
        together[0].note(quantile(&ours.times, 0.5), quantile(&theirs.times, 0.5));
        together[1].note(quantile(&ours.times, 0.99), quantile(&theirs.times, 0.99));
        together[2].note(ours.rate, theirs.rate);
        cpu.note(ours.cpu_us, theirs.cpu_us);
    }
    let title =
        "control: POST /api/v1/sandboxes?wait=ready, against axum and one SQLite insert (WAL, synchronous FULL)";
    report::table(title, &[alone.as_slice(), &together, &[cpu]].concat())
}

/// A sandbox of this house.
pub(crate) async fn sample(house: &Server) -> Outcome<SandboxView> {
    let create = house.request("POST", "/api/v1/sandboxes?wait=ready", Some(BODY));
    Ok(serde_json::from_slice(Connection::open(house.address).await?.ask(&create).await?)?)
}

struct Load {
    times: Histogram<u64>,
    rate: f64,
    cpu_us: f64,
}

/// Asks one after the other on each connection.
async fn load(server: &Server, request: &Request, connections: usize, each: u64) -> Outcome<Load> {
    let (cpu, began) = (server.cpu()?, Instant::now());
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (request, address) = (request.clone(), server.address);
        tasks.spawn(async move {
            let mut connection = Connection::open(address).await?;
            let mut times = Histogram::<u64>::new(3)?;
            // The first few are for the caches.
            for number in 0..each + 5 {
                let asked = Instant::now();
                connection.ask(&request).await?;
                if number >= 5 {
                    times.record(u64::try_from(asked.elapsed().as_micros())?)?;
                }
            }
            Outcome::Ok(times)
        });
    }
    let mut times = Histogram::<u64>::new(3)?;
    while let Some(done) = tasks.join_next().await {
        times.add(done??)?;
    }
    let answers = (connections as u64 * (each + 5)) as f64;
    let cpu_us = (server.cpu()? - cpu).as_micros() as f64 / answers;
    Ok(Load { times, rate: answers / began.elapsed().as_secs_f64(), cpu_us })
}
