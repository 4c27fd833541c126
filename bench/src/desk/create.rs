//! `create`: from asking for a sandbox to the first byte of `echo hi` in it, cold and from the pool, against bwrap.
//!
//! Ours is one request with the command in it, on a keep-alive connection; what it printed comes as an event, and the clock
//! stops when its bytes are here. The same in two requests (create and wait, execute) stands beside it. The peers are spawned
//! as a shell spawns them; the clock stops at the first byte.

use std::time::{Duration, Instant};

use super::{Desk, Times, runtimes::Runtimes};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

/// What every sandbox here is asked for.
const BODY: &str = r#"{"template":"host"}"#;
const HI: &str = r#"{"argv":["/bin/echo","hi"]}"#;
/// The same, and what is run in it.
const BOTH: &str = r#"{"template":"host","exec":{"argv":["/bin/echo","hi"]}}"#;
/// How the first byte of output looks among the events.
const HEARD: &[u8] = b"event: stdout";
/// How many slots wait in the pool.
const POOL: usize = 4;
/// The first few are for the caches.
const WARMING: usize = 3;

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (rounds, each) = if quick { (1, 10) } else { (5, 40) };
    let runtimes = Runtimes::find()?;
    let (mut cold, mut pooled, mut bare) = (Desk::open(0).await?, Desk::open(POOL).await?, Desk::bare().await?);
    for _ in 0..WARMING {
        for desk in [&mut cold, &mut pooled, &mut bare] {
            at_once(desk).await?;
            first_byte(desk).await?;
        }
    }
    let hits = pooled.metric("carrel_pool_hits_total").await?;

    let mut main = [
        Measure::new("cold, p50", Unit::Microseconds).aim("at most 1×"),
        Measure::new("cold, p99", Unit::Microseconds),
        Measure::new("from the pool, p50", Unit::Microseconds).aim("at most 0.33×"),
        Measure::new("from the pool, p99", Unit::Microseconds),
        Measure::new("cold, without shells, p50", Unit::Microseconds),
        Measure::new("cold, without shells, p99", Unit::Microseconds),
    ];
    let mut parts = [
        Measure::new("cold, in two requests, p50", Unit::Microseconds),
        Measure::new("from the pool, in two requests, p50", Unit::Microseconds),
        Measure::new("cold: until ready, p50", Unit::Microseconds),
        Measure::new("cold: exec to first byte, p50", Unit::Microseconds),
        Measure::new("from the pool: until ready, p50", Unit::Microseconds),
        Measure::new("from the pool: exec, p50", Unit::Microseconds),
    ];
    let mut context: Vec<_> = runtimes
        .others()
        .map(|name| (name, Measure::new(format!("cold against {name}, p50"), Unit::Microseconds)))
        .collect();
    for _ in 0..rounds {
        let three = || Outcome::Ok([Times::new()?, Times::new()?, Times::new()?]);
        let (mut ours, mut warm, mut bwrap) = (three()?, three()?, Times::new()?);
        let mut whole = three()?;
        let mut others = Vec::new();
        for _ in &context {
            others.push(Times::new()?);
        }
        for turn in 0..each {
            whole[0].note(at_once(&mut cold).await?)?;
            note(&mut ours, first_byte(&mut cold).await?)?;
            if runtimes.has("bwrap") {
                bwrap.note(runtimes.hi("bwrap")?)?;
            }
            whole[2].note(at_once(&mut bare).await?)?;
            until_warm(&mut pooled).await?;
            whole[1].note(at_once(&mut pooled).await?)?;
            until_warm(&mut pooled).await?;
            note(&mut warm, first_byte(&mut pooled).await?)?;
            // They are slow, and context only.
            if turn % 5 == 0 {
                for (times, (name, _)) in others.iter_mut().zip(&context) {
                    times.note(runtimes.hi(name)?)?;
                }
            }
        }
        let peer = |quantile| if runtimes.has("bwrap") { bwrap.at(quantile) } else { f64::NAN };
        for (measure, (times, quantile)) in
            main.iter_mut().zip(whole.iter().flat_map(|times| [(times, 0.5), (times, 0.99)]))
        {
            measure.note(times.at(quantile), peer(quantile));
        }
        let (in_two, alone) = parts.split_at_mut(2);
        for (measure, times) in in_two.iter_mut().zip([&ours[2], &warm[2]]) {
            measure.note(times.at(0.5), peer(0.5));
        }
        for (measure, times) in alone.iter_mut().zip([&ours[0], &ours[1], &warm[0], &warm[1]]) {
            measure.note_alone(times.at(0.5));
        }
        for ((_, measure), times) in context.iter_mut().zip(&others) {
            measure.note(whole[0].at(0.5), times.at(0.5));
        }
    }
    let hits = pooled.metric("carrel_pool_hits_total").await? - hits;
    let context: Vec<_> = context.into_iter().map(|(_, measure)| measure).collect();
    report::table(
        "create: POST …/sandboxes with `echo hi` in it to its first byte, against bwrap",
        &[main.as_slice(), &parts, &context].concat(),
    )?;
    Ok(report::line(format_args!("  {hits} of {} creates from the pool found a slot waiting", 2 * rounds * each))?)
}

/// Until it was ready, from there to the first byte, and both.
struct Took {
    ready: Duration,
    heard: Duration,
}

fn note(times: &mut [Times; 3], took: Took) -> Outcome<()> {
    times[0].note(took.ready)?;
    times[1].note(took.heard)?;
    times[2].note(took.ready + took.heard)
}

/// Until the first byte, when both are asked for at once.
async fn at_once(desk: &mut Desk) -> Outcome<Duration> {
    let both = desk.server.request("POST", "/api/v1/sandboxes", Some(BOTH)).for_events();
    let began = Instant::now();
    let heard = desk.line.ask_for_words(&both, HEARD).await?;
    let id = desk.line.place().and_then(|place| place.rsplit('/').next()).ok_or("no place of the sandbox")?.to_owned();
    desk.destroy(&id).await?;
    Ok(heard - began)
}

async fn first_byte(desk: &mut Desk) -> Outcome<Took> {
    let began = Instant::now();
    let id = desk.create(BODY).await?;
    let ready = Instant::now();
    let execute = desk.server.request("POST", &format!("/api/v1/sandboxes/{id}/execute"), Some(HI)).for_events();
    let heard = desk.line.ask_for_words(&execute, HEARD).await?;
    desk.destroy(&id).await?;
    Ok(Took { ready: ready - began, heard: heard - ready })
}

/// The pool is filled in the background, and says how many wait when it looks; so it is asked until two answers agree.
async fn until_warm(desk: &mut Desk) -> Outcome<()> {
    let patience = Instant::now() + Duration::from_secs(30);
    let mut agreed = 0;
    while agreed < 2 {
        let full = desk.metric("carrel_pool_waiting").await? >= POOL as f64;
        agreed = if full { agreed + 1 } else { 0 };
        if Instant::now() > patience {
            return Err("the pool is not filled".into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}
