//! The postman: reads the journal for each hook from where that hook is, and carries it there in order.
//!
//! Where a hook is stands in its row and moves after a letter was taken: whoever dies in between delivers that letter
//! again, under the same name, and nothing is left out. One hook that does not answer holds up no other.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use carrel_forge::courier::{Answer, Courier, NotCarried, Outgoing};
use carrel_model::{
    HookId, Timestamp,
    hook::{Delivery, Hook},
    public::{Cursor, Entry, HookLetter},
};
use carrel_store::News;
use jiff::SignedDuration;
use tokio::{sync::watch, task::AbortHandle};

use crate::{Error, house::House, pulls::Hold};

/// The pauses between tries: seconds, minutes, hours; the last one again and again.
const PAUSES: [u64; 9] = [1, 5, 30, 120, 600, 1800, 3600, 7200, 14_400];
/// After so many tries in a row, which take about three days, nothing is delivered until a person asks for it.
const TRIES: u32 = 24;
/// How far a hook's place may lag behind entries that it does not want before that is written down.
const LAG: i64 = 500;

/// Knows who carries for which hook.
pub(crate) struct Postman {
    courier: Option<Courier>,
    bell: watch::Sender<u64>,
}

impl Postman {
    /// A postman. With `private` hooks may be in private networks and on this host.
    pub(crate) fn new(private: bool) -> Postman {
        let courier = Courier::new(private);
        if let Err(error) = &courier {
            tracing::error!(%error, "nothing can be delivered to hooks");
        }
        Postman { courier: courier.ok(), bell: watch::Sender::new(0) }
    }

    /// A hook was added, changed or removed.
    pub(crate) fn ring(&self) {
        self.bell.send_modify(|rung| *rung += 1);
    }
}

impl House {
    pub(crate) fn courier(&self) -> Result<&Courier, Error> {
        let none = || Error::Unavailable { why: "this server cannot deliver to hooks".into(), source: None };
        self.postman.courier.as_ref().ok_or_else(none)
    }
}

/// Walks until the house closes: somebody carries for every hook that there is.
pub(crate) async fn walk(house: Arc<House>) {
    let mut rung = house.postman.bell.subscribe();
    let mut carriers: HashMap<HookId, Carrier> = HashMap::new();
    loop {
        rung.mark_unchanged();
        match house.store.hooks().list().await {
            Ok(hooks) => {
                carriers.retain(|id, _| hooks.iter().any(|hook| hook.id == *id));
                for hook in hooks {
                    carriers.entry(hook.id.clone()).or_insert_with(|| Carrier::start(&house, hook.id));
                }
            }
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "hooks cannot be looked at"),
        }
        // Those that another node added are seen by and by.
        let _ = tokio::time::timeout(house.settings.patience.sweep, rung.changed()).await;
    }
}

/// Carries for one hook until it is dropped.
struct Carrier(AbortHandle);

impl Carrier {
    fn start(house: &Arc<House>, id: HookId) -> Carrier {
        let (house, stop) = (Arc::clone(house), house.stop().clone());
        let carrying = house.tasks().clone().spawn(async move {
            let again = async {
                while let Err(error) = carry_on(&house, &id).await {
                    tracing::warn!(hook = %id, error = &error as &dyn std::error::Error, "a hook was not served");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            };
            stop.run_until_cancelled(Box::pin(again)).await;
        });
        Carrier(carrying.abort_handle())
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Carries for a hook until it is gone. One node at a time does.
async fn carry_on(house: &Arc<House>, id: &HookId) -> Result<(), Error> {
    let _hold = Hold::take_named(house, &format!("hook {id}")).await?;
    let mut rung = house.postman.bell.subscribe();
    'anew: loop {
        rung.mark_unchanged();
        let Some(hook) = house.store.hooks().find(id).await? else { return Ok(()) };
        let pause = hook.next_attempt_at.map(|next| next.duration_since(house.store.now()));
        let pause = pause.and_then(|pause| Duration::try_from(pause).ok()).filter(|pause| !pause.is_zero());
        if hook.stopped.is_some() || pause.is_some() {
            // Until it is time, or somebody asks for a replay, here or on another node.
            let most = pause.unwrap_or(house.settings.patience.sweep).min(house.settings.patience.sweep);
            let _ = tokio::time::timeout(most, rung.changed()).await;
            continue;
        }
        let mut follower = house.store.journal().follow(Cursor(hook.cursor));
        let mut written = hook.cursor;
        loop {
            let news = tokio::select! {
                news = follower.next() => news?,
                _ = rung.changed() => continue 'anew,
            };
            match news {
                News::Reset(span) => {
                    tracing::warn!(hook = %id, cursor = written, "the journal has forgotten what a hook did not hear");
                    note(house, id, written, span.head.0, |_| {}).await?;
                    continue 'anew;
                }
                News::Entries(entries) => {
                    for entry in entries.iter().map(|written| written.entry()) {
                        if entry.happening.is_unfinished() || !hook.wants(&entry.happening.topic()) {
                            continue;
                        }
                        if !deliver(house, &hook, written, entry).await? {
                            continue 'anew;
                        }
                        written = entry.cursor.0;
                    }
                    let reached = follower.cursor().0;
                    if reached - written > LAG {
                        if !note(house, id, written, reached, |_| {}).await? {
                            continue 'anew;
                        }
                        written = reached;
                    }
                }
            }
        }
    }
}

/// Delivers one entry, and writes down how that went. Says whether to go on with the next.
async fn deliver(house: &Arc<House>, hook: &Hook, before: i64, entry: &Entry) -> Result<bool, Error> {
    let (began, now) = (Instant::now(), house.store.now());
    let name = format!("msg_{}_{}", hook.id.as_str().trim_start_matches("hook_"), entry.cursor.0);
    let sent = carry(house, hook, name, &HookLetter::of(entry)).await;
    let last = delivery(now, Some(entry.cursor.0), &sent, began.elapsed());
    let outcome = if matches!(&sent, Ok(answer) if answer.is_taken()) { "taken" } else { "failed" };
    metrics::counter!("carrel_hook_deliveries_total", "outcome" => outcome).increment(1);
    match sent {
        Ok(answer) if answer.is_taken() => {
            let taken = move |hook: &mut Hook| {
                hook.delivered += 1;
                (hook.failures, hook.next_attempt_at, hook.last) = (0, None, Some(last));
            };
            note(house, &hook.id, before, entry.cursor.0, taken).await
        }
        other => {
            let asked = other.ok().and_then(|answer| answer.retry_after);
            let gone = last.status == Some(410);
            let failed = move |hook: &mut Hook| {
                hook.failures += 1;
                let pause = PAUSES[(hook.failures as usize - 1).min(PAUSES.len() - 1)];
                let pause = Duration::from_secs(pause).max(asked.unwrap_or_default().min(Duration::from_secs(86_400)));
                hook.next_attempt_at =
                    SignedDuration::try_from(jittered(pause)).ok().and_then(|pause| now.checked_add(pause).ok());
                if gone {
                    hook.stopped = Some("It said that it is gone (410).".into());
                } else if hook.failures >= TRIES {
                    let why = last.error.clone().unwrap_or_default();
                    hook.stopped = Some(format!("It was not reached in {TRIES} tries: {why}"));
                }
                hook.last = Some(last);
            };
            note(house, &hook.id, before, before, failed).await.map(|_| false)
        }
    }
}

/// Up to a tenth longer, so that those that failed together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0_u8; 1];
    getrandom::fill(&mut byte).expect("the kernel gives random bytes");
    pause + pause.mul_f64(f64::from(byte[0]) / 2560.0)
}

/// Moves a hook on and writes what is now true of it, unless somebody moved it meanwhile. Says whether it was moved.
async fn note(
    house: &Arc<House>,
    id: &HookId,
    from: i64,
    to: i64,
    edit: impl FnOnce(&mut Hook) + Send + 'static,
) -> Result<bool, Error> {
    let id = id.clone();
    let noted = house.store.change(move |tx| {
        Box::pin(async move {
            let Some(mut hook) = tx.lock_hook(&id).await?.filter(|hook| hook.cursor == from) else { return Ok(false) };
            hook.cursor = to;
            edit(&mut hook);
            tx.put_hook(&mut hook).await?;
            Ok::<_, Error>(true)
        })
    });
    noted.await
}

/// Carries one letter, once.
pub(crate) async fn carry(
    house: &Arc<House>,
    hook: &Hook,
    name: String,
    letter: &HookLetter,
) -> Result<Answer, NotCarried> {
    let trouble = |error: Error| NotCarried(error.to_string());
    let secret = house.reveal(None, &hook.secret_name()).await.map_err(trouble)?;
    let secret =
        secret.ok_or_else(|| NotCarried(format!("its secret {} is gone; set it again", hook.secret_name())))?;
    let body = serde_json::to_string(letter).map_err(|error| NotCarried(error.to_string()))?;
    let outgoing = Outgoing { id: name, at: house.store.now().as_second(), body };
    house.courier().map_err(trouble)?.carry(hook.url.as_str(), &outgoing, &secret).await
}

/// How a try went, for those who look after it.
pub(crate) fn delivery(
    at: Timestamp,
    cursor: Option<i64>,
    sent: &Result<Answer, NotCarried>,
    took: Duration,
) -> Delivery {
    let (status, error) = match sent {
        Ok(answer) if answer.is_taken() => (Some(answer.status), None),
        Ok(answer) => (Some(answer.status), Some(format!("it answered {}", answer.status))),
        Err(error) => (None, Some(error.to_string())),
    };
    Delivery { at, cursor, status, error, took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }
}
