//! Redis, where somebody has one: lanes, rates and the sandboxes that were looked at lately, shared by all nodes.
//!
//! Nothing is true because Redis says so. A lane that was taken here is written into the database with its token before
//! anything is done in it, and who acts in a lane shows that token there: a holder that slept, and a Redis that forgot
//! everything, make somebody wait and nobody wrong.

use std::{sync::Arc, time::Duration};

use carrel_model::{
    SandboxId,
    public::{Happening, SandboxView},
};
use redis::{AsyncCommands, Client, Script, aio::ConnectionManager, aio::ConnectionManagerConfig};

use crate::{Store, StoreError, Written};

/// How long Redis may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// How long what was looked at is kept.
const KEPT_S: u64 = 3600;

/// Takes a lane that nobody holds; with a token larger than any before, here or in the database.
const TAKE: &str = "if redis.call('exists', KEYS[1]) == 1 then return 0 end
    local last = math.max(tonumber(redis.call('get', KEYS[2]) or '0'), tonumber(ARGV[3]))
    redis.call('set', KEYS[2], last + 1)
    redis.call('set', KEYS[1], ARGV[1] .. ' ' .. (last + 1), 'PX', ARGV[2])
    return last + 1";
/// Prolongs a lane, if it is still the holder's.
const PROLONG: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
    return 0";
/// Gives a lane back, if it is still the holder's.
const LEAVE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
    return 0";
/// A bucket that fills with time: says for how many milliseconds to wait, or 0.
const ADMIT: &str = "local clock = redis.call('time')
    local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
    local gap, burst = 1000 / ARGV[1], ARGV[2] * 1000 / ARGV[1]
    local full = math.max(tonumber(redis.call('get', KEYS[1]) or '0'), now)
    if full + gap - now > burst then return math.ceil(full + gap - now - burst) end
    redis.call('set', KEYS[1], full + gap, 'PX', math.ceil(burst + gap))
    return 0";
/// Keeps a view, unless a newer one is kept already.
const KEEP: &str = "local held = redis.call('hget', KEYS[1], 'revision')
    if held and tonumber(held) >= tonumber(ARGV[1]) then return 0 end
    redis.call('hset', KEYS[1], 'revision', ARGV[1], 'view', ARGV[2])
    redis.call('expire', KEYS[1], ARGV[3])
    return 1";

/// A handle on Redis. Clones share it.
#[derive(Clone)]
pub struct Redis {
    line: ConnectionManager,
    /// Sets this house apart from others in the same Redis.
    house: String,
}

impl Redis {
    /// Connects. What is lost later is connected again by itself.
    pub async fn open(url: &str, house: String) -> Result<Redis, StoreError> {
        let place = || crate::open::hide_password(url);
        let away = |error: redis::RedisError| StoreError::Redis { place: place(), why: error.category().to_owned() };
        let client = Client::open(url).map_err(|_| {
            let why = "write `redis://host:6379`, or `redis://:PASSWORD@host:6379/0`".into();
            StoreError::Address { url: place(), why }
        })?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(ANSWERS_WITHIN))
            .set_response_timeout(Some(ANSWERS_WITHIN))
            .set_number_of_retries(1);
        let line = ConnectionManager::new_with_config(client, config).await.map_err(away)?;
        Ok(Redis { line, house })
    }

    fn key(&self, kind: &str, name: &str) -> String {
        format!("carrel:{}:{kind}:{name}", self.house)
    }

    /// Takes a lane for a while; the token when nobody has it. It is larger than `floor`.
    pub(crate) async fn take(
        &self,
        name: &str,
        owner: &str,
        lasts: Duration,
        floor: i64,
    ) -> Result<Option<i64>, StoreError> {
        let script = Script::new(TAKE);
        let mut call = script.key(self.key("lane", name));
        call.key(self.key("token", name)).arg(owner).arg(millis(lasts)).arg(floor);
        let token: i64 = call.invoke_async(&mut self.line.clone()).await?;
        Ok((token > 0).then_some(token))
    }

    pub(crate) async fn prolong(
        &self,
        name: &str,
        owner: &str,
        token: i64,
        lasts: Duration,
    ) -> Result<bool, StoreError> {
        let script = Script::new(PROLONG);
        let mut call = script.key(self.key("lane", name));
        call.arg(format!("{owner} {token}")).arg(millis(lasts));
        Ok(call.invoke_async::<i64>(&mut self.line.clone()).await? == 1)
    }

    pub(crate) async fn leave(&self, name: &str, owner: &str, token: i64) -> Result<(), StoreError> {
        let script = Script::new(LEAVE);
        let mut call = script.key(self.key("lane", name));
        call.arg(format!("{owner} {token}"));
        call.invoke_async::<i64>(&mut self.line.clone()).await?;
        Ok(())
    }

    /// Whether somebody may do something once more; how long to wait when not. All nodes count together.
    pub async fn admit(&self, who: &str, per_second: u32, burst: u32) -> Result<Option<Duration>, StoreError> {
        let script = Script::new(ADMIT);
        let mut call = script.key(self.key("rate", who));
        call.arg(per_second.max(1)).arg(burst.max(1));
        let wait: u64 = call.invoke_async(&mut self.line.clone()).await?;
        Ok((wait > 0).then(|| Duration::from_millis(wait)))
    }

    /// A sandbox as somebody last saw it.
    pub(crate) async fn look(&self, id: &SandboxId) -> Result<Option<SandboxView>, StoreError> {
        let text: Option<String> = self.line.clone().hget(self.key("sandbox", id.as_str()), "view").await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Keeps a sandbox as it was seen, unless somebody saw a newer one.
    pub(crate) async fn keep(&self, view: &SandboxView) -> Result<(), StoreError> {
        let Ok(text) = serde_json::to_string(view) else { return Ok(()) };
        let script = Script::new(KEEP);
        let mut call = script.key(self.key("sandbox", view.id.as_str()));
        call.arg(view.revision).arg(text).arg(KEPT_S);
        call.invoke_async::<i64>(&mut self.line.clone()).await?;
        Ok(())
    }
}

impl Store {
    /// A sandbox as some node last saw it, when a Redis remembers it. One that does not answer remembers nothing.
    pub async fn remembered(&self, id: &SandboxId) -> Option<SandboxView> {
        self.redis()?.look(id).await.unwrap_or_default()
    }

    /// Lets other nodes remember a sandbox as it was read here.
    pub fn remember_view(&self, view: &Arc<SandboxView>) {
        let Some(redis) = self.redis().cloned() else { return };
        let view = Arc::clone(view);
        tokio::spawn(async move { redis.keep(&view).await });
    }

    /// The same for what was changed here. Newer is kept over older, in whatever order it arrives.
    pub(crate) fn share(&self, written: &[Arc<Written>]) {
        let Some(redis) = self.redis().cloned() else { return };
        let views: Vec<_> = written
            .iter()
            .filter(|entry| matches!(entry.entry().happening, Happening::Sandbox { .. }))
            .map(Arc::clone)
            .collect();
        if views.is_empty() {
            return;
        }
        tokio::spawn(async move {
            for entry in views {
                if let Happening::Sandbox { sandbox } = &entry.entry().happening {
                    let _ = redis.keep(sandbox).await;
                }
            }
        });
    }
}

fn millis(lasts: Duration) -> u64 {
    u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl From<redis::RedisError> for StoreError {
    fn from(error: redis::RedisError) -> Self {
        StoreError::Redis { place: "Redis".into(), why: error.category().to_owned() }
    }
}
