//! The providers of this house, what they offer, and their circuit breakers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, RwLock},
};

use carrel_model::{
    ProviderName, TemplateName, Timestamp,
    breaker::{Admission, Breaker, Rules, State},
    public::{BreakerState, BreakerView, ProviderView},
    sandbox::Isolation,
};
use carrel_sandbox::{Fitness, Provider};

use crate::{Patience, sturdy::Sturdy};

/// All providers by name.
pub(crate) type Registry = BTreeMap<ProviderName, Arc<Post>>;

/// One provider with what the house knows of it.
pub(crate) struct Post {
    pub(crate) name: ProviderName,
    pub(crate) provider: Arc<dyn Provider>,
    fitness: RwLock<Option<Fitness>>,
    breaker: Mutex<Breaker>,
    rules: Rules,
}

impl Post {
    pub(crate) fn new(name: ProviderName, provider: Arc<dyn Provider>, patience: &Patience) -> Self {
        let provider = Arc::new(Sturdy { name: name.clone(), provider, patience: patience.step });
        let rules = patience.breaker;
        Self { name, provider, fitness: RwLock::default(), breaker: Mutex::default(), rules }
    }

    /// Looks at what the provider offers now.
    pub(crate) async fn probe(&self) {
        match self.provider.probe().await {
            Ok(found) => *self.fitness.write().expect("nobody panics while holding it") = Some(found),
            Err(error) => tracing::warn!(provider = %self.name, %error, "the provider cannot say what it offers"),
        }
    }

    /// It has one more template than it said.
    pub(crate) fn offers(&self, template: &TemplateName) {
        if let Some(fitness) = &mut *self.fitness.write().expect("nobody panics while holding it")
            && !fitness.templates.contains(template)
        {
            fitness.templates.push(template.clone());
        }
    }

    /// What it offers, as far as it ever said.
    pub(crate) fn fitness(&self) -> Option<Fitness> {
        self.fitness.read().expect("nobody panics while holding it").clone()
    }

    pub(crate) fn usual_isolation(&self) -> Option<Isolation> {
        self.fitness().and_then(|fitness| fitness.isolation.first().copied())
    }

    /// Whether it may be asked now. In the middle of a trial others come back soon: it may have ended well.
    pub(crate) fn admit(&self, now: Timestamp) -> Admission {
        let mut breaker = self.breaker.lock().expect("nobody panics while holding it");
        match (breaker.admit(self.rules, now), breaker.state()) {
            (Admission::Wait(until), State::HalfOpen(_)) => {
                Admission::Wait(until.min(now + jiff::SignedDuration::from_secs(1)))
            }
            (admission, _) => admission,
        }
    }

    /// Notes how a call went; says whether the breaker changed its stand.
    pub(crate) fn report(&self, outcome: Result<(), String>, now: Timestamp) -> bool {
        let mut breaker = self.breaker.lock().expect("nobody panics while holding it");
        let stood = std::mem::discriminant(&breaker.state());
        match outcome {
            Ok(()) => breaker.succeeded(),
            Err(error) => breaker.failed(error, self.rules, now),
        }
        std::mem::discriminant(&breaker.state()) != stood
    }

    pub(crate) fn last_error(&self) -> Option<String> {
        self.breaker.lock().expect("nobody panics while holding it").last_error().map(str::to_owned)
    }

    /// Shows in the numbers how the breaker stands: 1 for the state it is in, 0 for the others.
    pub(crate) fn show_breaker(&self) {
        let stands = BreakerView::from(&*self.breaker.lock().expect("nobody panics while holding it")).state;
        for (state, word) in
            [(BreakerState::Closed, "closed"), (BreakerState::Open, "open"), (BreakerState::HalfOpen, "half_open")]
        {
            metrics::gauge!("carrel_breaker", "provider" => self.name.to_string(), "state" => word)
                .set(if stands == state { 1.0 } else { 0.0 });
        }
    }

    pub(crate) fn view(&self) -> ProviderView {
        let fitness = self.fitness();
        let breaker = BreakerView::from(&*self.breaker.lock().expect("nobody panics while holding it"));
        let pause = self.provider.pausing().map(|_| "pause".to_owned());
        let fork = self.provider.forking().map(|_| "fork".to_owned());
        let template = self.provider.templating().map(|_| "template".to_owned());
        ProviderView {
            name: self.name.clone(),
            isolation: fitness.as_ref().map(|fitness| fitness.isolation.clone()).unwrap_or_default(),
            templates: fitness.as_ref().map(|fitness| fitness.templates.clone()).unwrap_or_default(),
            abilities: [pause, fork, template].into_iter().flatten().collect(),
            reach: self.provider.reach().word().into(),
            missing: fitness.map(|fitness| fitness.missing).unwrap_or_default(),
            breaker,
        }
    }
}
