//! What follows when a provider fails: another try later, or the end; and what its breaker is told.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use carrel_model::{
    public::Happening,
    sandbox::{Fact, Step},
};
use carrel_sandbox::ProviderError;
use carrel_store::{Leased, StoreError};
use jiff::SignedDuration;

use super::row::{Next, edit, record};
use crate::{Error, house::House, registry::Post};

/// What follows a failure: another try later, or the end.
pub(super) async fn mend(
    house: &House,
    post: &Post,
    step: Step,
    leased: &Leased,
    error: ProviderError,
) -> Result<Option<Leased>, Error> {
    // Whoever says that something cannot be has answered.
    let answered = match &error {
        ProviderError::Unavailable { why } => Err(why.clone()),
        ProviderError::Unfit { .. }
        | ProviderError::Throttled { .. }
        | ProviderError::Exhausted { .. }
        | ProviderError::Lost => Ok(()),
    };
    report(house, post, answered).await;
    let patience = &house.settings.patience;
    let attempts = leased.sandbox.attempts.saturating_add(1);
    let hopeless = match (&error, step) {
        // Taking down is never given up.
        (_, Step::Destroy) => false,
        // Nothing is left to come back to.
        (ProviderError::Lost, Step::Pause | Step::Resume) => true,
        // What has worked once holds work: it waits for its provider for as long as it lives.
        (_, Step::Pause | Step::Resume) => false,
        (ProviderError::Unfit { .. } | ProviderError::Lost, Step::Create) => true,
        // It has a place in the queue, and waits there for as long as it lives. So does the desk of a task where as many
        // stand as may.
        (ProviderError::Throttled { .. }, Step::Create) => false,
        (ProviderError::Exhausted { .. }, Step::Create) if leased.sandbox.spec.task_id.is_some() => false,
        (ProviderError::Unavailable { .. } | ProviderError::Exhausted { .. }, Step::Create) => {
            attempts >= patience.tries
        }
    };
    if hopeless {
        // What was half made goes; if that fails too, the sweep finds it.
        if leased.sandbox.ready_at.is_none()
            && let Err(error) = post.provider.destroy(&leased.sandbox.id).await
        {
            tracing::warn!(sandbox = %leased.sandbox.id, %error, "a failed sandbox is left to the sweep");
        }
        let why = format!("It could not {}: {error}.", step.word());
        return record(house, leased, Fact::Broke, None, Some(why)).await;
    }
    let mut pause = backoff(patience.first_retry, patience.longest_retry, attempts);
    if let ProviderError::Throttled { after: Some(after), .. } = &error {
        pause = pause.max(*after);
    }
    let next = house.store.now() + SignedDuration::try_from(pause).unwrap_or(SignedDuration::from_secs(60));
    let why = format!("It could not {} yet: {error}.", step.word());
    edit(house, leased, move |sandbox, now| {
        // Somebody wants something else meanwhile: that does not wait for this mishap.
        if sandbox.step_at(now) != Some(step) {
            return Ok(Next::GoOn);
        }
        sandbox.attempts = attempts;
        sandbox.next_attempt_at = Some(next);
        sandbox.note = Some(why.clone());
        Ok(Next::GiveBack)
    })
    .await
}

/// Twice as long each time, up to a limit, and never the same for two that failed together.
fn backoff(first: Duration, longest: Duration, attempts: u32) -> Duration {
    let pauses =
        ExponentialBuilder::new().with_min_delay(first).with_max_delay(longest).without_max_times().with_jitter();
    pauses.build().nth(attempts.saturating_sub(1) as usize).unwrap_or(longest).min(longest)
}

/// Tells the breaker how a call went, and everybody when it changed its stand.
pub(super) async fn report(house: &House, post: &Post, outcome: Result<(), String>) {
    if !post.report(outcome, house.store.now()) {
        return;
    }
    let view = post.view();
    tracing::warn!(provider = %post.name, breaker = ?view.breaker.state, error = view.breaker.last_error, "a breaker changed");
    post.show_breaker();
    let told = house.store.change(move |tx| {
        tx.tell(Happening::Provider { provider: view });
        Box::pin(async { Ok::<_, StoreError>(()) })
    });
    if let Err(error) = told.await {
        tracing::warn!(error = &error as &dyn std::error::Error, "cannot tell of a breaker");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(10));
        let pauses: Vec<_> = (1..=40).map(|attempt| backoff(first, longest, attempt)).collect();
        assert!(pauses[0] >= first && pauses[0] <= first * 3, "{:?}", pauses[0]);
        assert!(pauses.iter().all(|pause| *pause <= longest));
        assert!(pauses[30] > longest / 2);
        let same: std::collections::HashSet<_> = (0..20).map(|_| backoff(first, longest, 3)).collect();
        assert!(same.len() > 1, "no jitter");
    }
}
