//! Who is told that a card needs somebody, and that once: the walk of whoever rings the bells.
//!
//! A hand that goes up is written down before anybody is told, by one of all nodes; when everybody was told, that is written down
//! as well. A server that dies in between tells again: a browser shows a notice of the same card in the place of the former.

use std::{sync::Arc, time::Duration};

use carrel_bell::{Bell, BellError, Doorbell, HouseKey};
use carrel_model::{
    TaskId,
    public::{Happening, TaskView},
    task::TaskPhase,
};
use carrel_store::{BellRecord, News, TaskFilter};
use serde_json::json;

use crate::{Error, desks::notices::house_key, house::House};

/// A browser that cannot be reached so often in a row is forgotten.
const MOST_FAILURES: i64 = 20;
/// Whom nobody told after this time is told by whoever looks.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
/// So many tasks are looked at after a gap.
const MOST: u32 = 10_000;
/// As much of a question as fits on a notice.
const WORDS: usize = 240;

/// Walks until the house closes.
pub(crate) async fn walk(house: Arc<House>) {
    let notices = &house.settings.notices;
    let bell = match Bell::new(notices.reach, &notices.contact) {
        Ok(bell) => bell,
        Err(error) => {
            tracing::warn!(%error, "there is no bell: browsers are not told that a card needs somebody");
            return std::future::pending().await;
        }
    };
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    look_around(&house, &bell).await;
    let mut round = tokio::time::interval(FORGOTTEN_AFTER);
    loop {
        tokio::select! {
            news = follower.next() => match news {
                Ok(News::Entries(entries)) => {
                    for written in entries {
                        if let Happening::Task { task } = &written.entry().happening {
                            hear(&house, &bell, task).await;
                        }
                    }
                }
                Ok(News::Reset(_)) => look_around(&house, &bell).await,
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the bells hear nothing; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            },
            _ = round.tick() => remember(&house, &bell).await,
        }
    }
}

fn is_up(phase: TaskPhase) -> bool {
    matches!(phase, TaskPhase::NeedsYou | TaskPhase::Failed)
}

async fn hear(house: &Arc<House>, bell: &Bell, task: &TaskView) {
    let (id, up) = (task.id, is_up(task.phase));
    let noted = house.store.change(move |tx| {
        Box::pin(async move {
            if up {
                return Ok::<_, Error>(tx.raise_hand(id).await?);
            }
            tx.lower_hand(id).await?;
            Ok(false)
        })
    });
    match noted.await {
        Ok(true) => tell(house, bell, task.clone()),
        Ok(false) => {}
        Err(error) => tracing::warn!(task = %id, error = &error as &dyn std::error::Error, "a hand was not noted"),
    }
}

/// What was not heard: every hand that is up now.
async fn look_around(house: &Arc<House>, bell: &Bell) {
    let filter = TaskFilter { phases: vec![TaskPhase::NeedsYou, TaskPhase::Failed], ..TaskFilter::default() };
    match house.store.tasks().list(&filter, MOST).await {
        Ok((tasks, _)) => {
            for task in &tasks {
                hear(house, bell, &TaskView::from(task)).await;
            }
        }
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "nobody looked for raised hands"),
    }
}

/// Hands that somebody noted and then died over.
async fn remember(house: &Arc<House>, bell: &Bell) {
    let before = house.store.now() - FORGOTTEN_AFTER;
    let Ok(forgotten) = house.store.bells().unrung(before).await else { return };
    for id in forgotten {
        if let Ok(Some(task)) = house.store.tasks().find(id).await
            && is_up(task.phase)
        {
            tell(house, bell, TaskView::from(&task));
        }
    }
}

/// Tells everybody, aside: one carrier that takes its time holds up nobody else's.
fn tell(house: &Arc<House>, bell: &Bell, task: TaskView) {
    let (house, bell) = (Arc::clone(house), bell.clone());
    let tasks = house.tasks().clone();
    tasks.spawn(async move {
        let stop = house.stop().clone();
        if let Some(Err(error)) = stop.run_until_cancelled(tell_everybody(&house, &bell, &task)).await {
            tracing::warn!(task = %task.id, error = &error as &dyn std::error::Error, "not everybody was told");
        }
    });
}

async fn tell_everybody(house: &Arc<House>, bell: &Bell, task: &TaskView) -> Result<(), Error> {
    let bells = house.store.bells().list().await?;
    if !bells.is_empty()
        && let Some(key) = house_key(house, None).await?
    {
        let (topic, message) = (format!("task-{}", task.id), words(task));
        let ringing = bells.iter().map(|at| ring(house, bell, &key, at, &topic, &message));
        futures::future::join_all(ringing).await;
    }
    note_rung(house, task.id).await
}

async fn note_rung(house: &Arc<House>, id: TaskId) -> Result<(), Error> {
    house.store.change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.note_rung(id).await?) })).await
}

async fn ring(house: &House, bell: &Bell, key: &HouseKey, at: &BellRecord, topic: &str, message: &[u8]) {
    let rung = match Doorbell::parse(&at.endpoint, &at.p256dh, &at.auth, bell.reach()) {
        Ok(doorbell) => bell.ring(key, &doorbell, topic, message).await,
        Err(error) => Err(error),
    };
    let outcome = match &rung {
        Ok(()) => "done",
        Err(BellError::Gone) => "gone",
        Err(_) => "failed",
    };
    metrics::counter!("carrel_notices_total", "outcome" => outcome).increment(1);
    if let Err(error) = &rung {
        tracing::info!(browser = at.id, %error, "a browser was not told");
    }
    let (id, is_gone) = (at.id.clone(), matches!(rung, Err(BellError::Gone | BellError::Malformed(_))));
    let failed = rung.is_err();
    let noted = house.store.change(move |tx| {
        Box::pin(async move {
            if is_gone {
                tx.remove_bell(&id, None).await?;
                return Ok::<_, Error>(());
            }
            Ok(tx.note_bell(&id, failed, MOST_FAILURES).await?)
        })
    });
    if let Err(error) = noted.await {
        tracing::warn!(browser = at.id, error = &error as &dyn std::error::Error, "a ring was not noted");
    }
}

/// What stands on the notice.
fn words(task: &TaskView) -> Vec<u8> {
    let detail = task.needs.as_ref().map(|needs| needs.detail.as_str()).filter(|detail| !detail.is_empty());
    let short = |text: &str| text.chars().take(WORDS).collect::<String>();
    let title = match task.phase {
        TaskPhase::Failed => format!("task-{} failed", task.id),
        _ => format!("task-{} needs you", task.id),
    };
    let message = json!({
        "task": task.id,
        "title": title,
        "body": short(detail.unwrap_or(&task.title)),
        "path": format!("/app/tasks/{}", task.id),
    });
    message.to_string().into_bytes()
}
