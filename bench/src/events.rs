//! `events`: a thousand readers hear of everything, once and in order, against a bare broadcast.
//!
//! A delay is counted from the entry's own `at` to the moment the reader has it in hand, on one clock. The house takes
//! `at` before it commits, so its delay holds the commit; the peer commits nothing. Every reader checks that each cursor
//! is one more than the last, and at the end that the last is the server's: else there is no result but a panic.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use hdrhistogram::Histogram;
use jiff::Timestamp;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome, control,
    http::{Connection, Request, Stream, broken, take_line},
    report::{self, Measure, Unit, quantile},
    server::Server,
};

/// Readers, requests and time of one round.
struct Plan {
    readers: usize,
    entries_per_second: u32,
    lasts: Duration,
    rounds: usize,
}

/// Connections that write, by turns.
const WRITERS: u32 = 20;

/// How long the last entry may be on its way before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let plan = match quick {
        true => Plan { readers: 100, entries_per_second: 200, lasts: Duration::from_secs(2), rounds: 1 },
        false => Plan { readers: 1000, entries_per_second: 200, lasts: Duration::from_secs(15), rounds: 3 },
    };
    let mut delays = [
        Measure::new("delivery delay, p50", Unit::Microseconds),
        Measure::new("delivery delay, p99", Unit::Microseconds),
        Measure::new("delivery delay, longest", Unit::Microseconds),
    ];
    let mut rate = Measure::new("entries", Unit::PerSecond);
    let mut cores = Measure::new("processors kept busy", Unit::Cores);
    let mut delivered = 0;
    for _ in 0..plan.rounds {
        // Servers of their own for each round: a thousand readers have gone when the next thousand come.
        let (sample, ours) = in_house(&plan).await?;
        let theirs = at_peer(&plan, &Server::peer(&sample)?).await?;
        for (measure, at) in delays.iter_mut().zip([0.5, 0.99, 1.0]) {
            measure.note(quantile(&ours.delays, at), quantile(&theirs.delays, at));
        }
        rate.note(ours.rate, theirs.rate);
        cores.note(ours.cores, theirs.cores);
        delivered += ours.delays.len();
    }
    let title = format!("events: {} readers of GET /api/v1/events, against axum and a broadcast channel", plan.readers);
    report::table(&title, &[delays.as_slice(), &[rate, cores]].concat())?;
    Ok(report::line(format_args!("  {delivered} deliveries by the house: none lost, none twice, all in order"))?)
}

async fn in_house(plan: &Plan) -> Outcome<(carrel_model::public::SandboxView, Round)> {
    let house = Server::house()?;
    let sample = control::sample(&house).await?;
    // Each of these requests makes two entries, a commit or two apart: what is wanted, and that it is so.
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let id = control::sample(&house).await?.id;
        let pause = house.request("POST", &format!("/api/v1/sandboxes/{id}/pause?wait=paused"), None);
        let resume = house.request("POST", &format!("/api/v1/sandboxes/{id}/resume?wait=ready"), None);
        let create = house.request("POST", "/api/v1/sandboxes?wait=ready", Some("{}"));
        writers.push(vec![pause.clone(), resume.clone(), create, pause, resume]);
    }
    let head = Head { request: house.request("GET", "/api/v1/sandboxes?limit=1", None), field: Some("as_of") };
    let follow = |after| house.request("GET", &format!("/api/v1/events?after={after}"), None);
    let round = run(plan, &house, head, 2, follow, writers).await?;
    Ok((sample, round))
}

async fn at_peer(plan: &Plan, peer: &Server) -> Outcome<Round> {
    let writers = (0..WRITERS).map(|_| vec![peer.request("POST", "/tell", None)]).collect();
    let head = Head { request: peer.request("GET", "/head", None), field: None };
    run(plan, peer, head, 1, |_| peer.request("GET", "/events", None), writers).await
}

/// Asks for the newest cursor.
struct Head {
    request: Request,
    field: Option<&'static str>,
}

impl Head {
    async fn ask(&self, server: &Server) -> Outcome<i64> {
        let mut connection = Connection::open(server.address).await?;
        let answer: serde_json::Value = serde_json::from_slice(connection.ask(&self.request).await?)?;
        let cursor = self.field.map_or(&answer, |field| &answer[field]);
        cursor.as_i64().ok_or_else(|| "there is no cursor in the answer".into())
    }
}

/// What was seen in one round.
struct Round {
    delays: Histogram<u64>,
    rate: f64,
    cores: f64,
}

async fn run(
    plan: &Plan,
    server: &Server,
    head: Head,
    entries_per_request: u32,
    follow: impl Fn(i64) -> Request,
    writers: Vec<Vec<Request>>,
) -> Outcome<Round> {
    let first = head.ask(server).await?;
    let stop = CancellationToken::new();
    let mut readers = Vec::with_capacity(plan.readers);
    for _ in 0..plan.readers {
        readers.push(Reader::open(server, &follow(first), first, stop.clone()).await?);
    }
    let (cpu, began) = (server.cpu()?, Instant::now());
    write(plan, server, entries_per_request, writers).await?;
    let (cpu, took) = ((server.cpu()? - cpu).as_secs_f64(), began.elapsed().as_secs_f64());

    let last = head.ask(server).await?;
    wait_for_all(&readers, last).await;
    stop.cancel();
    let mut delays = Histogram::<u64>::new(3)?;
    for (number, reader) in readers.into_iter().enumerate() {
        match reader.task.await? {
            Ok(seen) => seen.into_iter().try_for_each(|delay| delays.record(u64::from(delay)))?,
            Err(error) => panic!("reader {number}: {error}"),
        }
    }
    assert_eq!(delays.len(), (last - first) as u64 * plan.readers as u64, "entries times readers");
    Ok(Round { delays, rate: (last - first) as f64 / took, cores: cpu / took })
}

/// Waits until every reader has heard the last entry. One that never does is a promise broken.
async fn wait_for_all(readers: &[Reader], last: i64) {
    let end = Instant::now() + PATIENCE;
    for (number, reader) in readers.iter().enumerate() {
        while reader.heard.load(Ordering::Relaxed) != last && !reader.task.is_finished() {
            let heard = reader.heard.load(Ordering::Relaxed);
            assert!(Instant::now() < end, "reader {number} heard {heard} and never {last}: entries were lost");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Writes at a steady pace for as long as a round lasts; a server that is too slow for it makes fewer entries.
async fn write(plan: &Plan, server: &Server, entries_per_request: u32, writers: Vec<Vec<Request>>) -> Outcome<()> {
    let between = Duration::from_secs(1) * entries_per_request / plan.entries_per_second;
    let (began, lasts) = (Instant::now(), plan.lasts);
    let mut tasks = JoinSet::new();
    for (number, requests) in (0..).zip(writers) {
        let mut connection = Connection::open(server.address).await?;
        tasks.spawn(async move {
            let mut ticks = tokio::time::interval_at(began + between * number, between * WRITERS);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            for request in requests.iter().cycle() {
                ticks.tick().await;
                if began.elapsed() >= lasts {
                    break;
                }
                connection.ask(request).await?;
            }
            io::Result::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// One of the thousand.
struct Reader {
    /// The last cursor it heard.
    heard: Arc<AtomicI64>,
    /// Ends with the delays in microseconds.
    task: JoinHandle<io::Result<Vec<u32>>>,
}

impl Reader {
    /// Connects; when it returns, the server has greeted it.
    async fn open(server: &Server, follow: &Request, after: i64, stop: CancellationToken) -> Outcome<Reader> {
        let mut stream = Connection::open(server.address).await?.follow(follow).await?;
        let heard = Arc::new(AtomicI64::new(after));
        let mut greeted = false;
        while !greeted {
            stream.take_chunks(|chunk| {
                greeted = true;
                let silent = chunk.starts_with(b"retry:");
                silent.then_some(()).ok_or_else(|| broken("an entry before the greeting"))
            })?;
            if !greeted {
                stream.more().await?;
            }
        }
        let task = tokio::spawn(read(stream, Arc::clone(&heard), stop));
        Ok(Reader { heard, task })
    }
}

async fn read(mut stream: Stream, heard: Arc<AtomicI64>, stop: CancellationToken) -> io::Result<Vec<u32>> {
    let mut delays = Vec::with_capacity(4096);
    let mut last = heard.load(Ordering::Relaxed);
    let stopped = stop.cancelled();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            biased;
            more = stream.more() => more?,
            () = &mut stopped => return Ok(delays),
        }
        let now = Timestamp::now();
        stream.take_chunks(|mut lines| {
            while !lines.is_empty() {
                let Some(id) = take_line(&mut lines).strip_prefix(b"id: ") else { continue };
                let (event, data) = (take_line(&mut lines), take_line(&mut lines));
                let (cursor, at) = (number(id)?, moment(data)?);
                if event != b"event: sandbox" || cursor != last + 1 {
                    let event = String::from_utf8_lossy(event).into_owned();
                    return Err(broken(&format!("`{event}` with the cursor {cursor} came after {last}")));
                }
                last = cursor;
                delays.push(u32::try_from(now.duration_since(at).as_micros().max(0)).unwrap_or(u32::MAX));
            }
            Ok(())
        })?;
        heard.store(last, Ordering::Relaxed);
    }
}

fn number(text: &[u8]) -> io::Result<i64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| broken("an id that is not a number"))
}

/// The `at` of an entry, which stands near its beginning.
pub(crate) fn moment(data: &[u8]) -> io::Result<Timestamp> {
    const NAME: &[u8] = b"\"at\":\"";
    let found = data.windows(NAME.len()).take(80).position(|window| window == NAME).and_then(|at| {
        let text = &data[at + NAME.len()..];
        let end = text.iter().take(40).position(|&byte| byte == b'"')?;
        std::str::from_utf8(&text[..end]).ok()?.parse().ok()
    });
    found.ok_or_else(|| broken("an entry without its moment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_tells_its_moment() {
        let at = moment(br#"data: {"cursor":7,"at":"2025-01-02T03:04:05.678901Z","kind":"sandbox"}"#).unwrap();
        assert_eq!(at.to_string(), "2025-01-02T03:04:05.678901Z");
        assert!(moment(b"data: {}").is_err());
    }
}
