//! Contexts: each a kernel of its own, with its own variables and its own folder.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};
use tokio::sync::{Mutex as Turn, mpsc};

use crate::kernel::{Kernel, Kernels, Trouble, random_name};

/// Where contexts are when nobody says.
const HOME: &str = "/home/user";

/// All contexts.
pub(crate) struct Contexts {
    kernels: Kernels,
    held: Mutex<HashMap<String, Arc<Context>>>,
    /// The one of each language that is meant when none is named.
    usual: Mutex<HashMap<String, Arc<Context>>>,
}

/// One context. Its kernel starts with its first cell, or when somebody wants it to.
pub(crate) struct Context {
    pub(crate) id: String,
    pub(crate) language: String,
    pub(crate) cwd: String,
    kernel: Turn<Option<Kernel>>,
}

impl Contexts {
    pub(crate) fn new(kernels: Kernels) -> Self {
        Contexts { kernels, held: Mutex::default(), usual: Mutex::default() }
    }

    /// Makes one; its kernel runs when this returns.
    pub(crate) async fn make(&self, language: &str, cwd: Option<&str>) -> Result<Arc<Context>, Trouble> {
        let context = Arc::new(Context::new(language, cwd));
        context.awake(&self.kernels).await?;
        lock(&self.held).insert(context.id.clone(), Arc::clone(&context));
        Ok(context)
    }

    /// The usual one of a language.
    pub(crate) fn usual(&self, language: &str) -> Arc<Context> {
        let mut usual = lock(&self.usual);
        let context = usual.entry(language.to_owned()).or_insert_with(|| Arc::new(Context::new(language, None)));
        lock(&self.held).entry(context.id.clone()).or_insert_with(|| Arc::clone(context));
        Arc::clone(context)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Context>> {
        lock(&self.held).get(id).cloned()
    }

    pub(crate) fn list(&self) -> Vec<Arc<Context>> {
        let mut all: Vec<_> = lock(&self.held).values().cloned().collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// Ends one; `false` when there is none.
    pub(crate) async fn remove(&self, id: &str) -> bool {
        let Some(context) = lock(&self.held).remove(id) else { return false };
        lock(&self.usual).retain(|_, usual| usual.id != id);
        context.sleep().await;
        true
    }

    /// Gives one a fresh kernel; `None` when there is none.
    pub(crate) async fn restart(&self, id: &str) -> Option<Result<(), Trouble>> {
        let context = self.find(id)?;
        context.sleep().await;
        Some(context.awake(&self.kernels).await)
    }

    /// Runs a cell in one, with variables of the environment that are there for it alone.
    pub(crate) async fn run(
        &self,
        context: &Context,
        code: &str,
        env: &BTreeMap<String, String>,
        told: &mpsc::Sender<Value>,
    ) -> Result<(), Trouble> {
        let mut held = context.kernel.lock().await;
        let kernel = match &mut *held {
            Some(kernel) => kernel,
            none => none.insert(Kernel::start(&self.kernels, &context.language, &context.cwd).await?),
        };
        let ran = async {
            if let Some(before) = prelude(&context.language, env) {
                kernel.run(&before, true, told).await?;
            }
            let ran = kernel.run(code, false, told).await;
            if let Some(after) = coda(&context.language, env) {
                kernel.run(&after, true, told).await?;
            }
            ran
        };
        let ran = ran.await;
        if matches!(ran, Err(Trouble::Ended)) {
            // The next cell finds a fresh one.
            *held = None;
        }
        ran
    }

    /// Starts the kernel of a context ahead of its first cell. The usual context of a language that has no kernel is none.
    pub(crate) async fn wake(&self, context: &Context) -> Result<(), Trouble> {
        let woken = context.awake(&self.kernels).await;
        if matches!(woken, Err(Trouble::NoKernel(_))) {
            lock(&self.held).remove(&context.id);
            lock(&self.usual).retain(|_, usual| usual.id != context.id);
        }
        woken
    }
}

impl Context {
    fn new(language: &str, cwd: Option<&str>) -> Self {
        let home = if std::path::Path::new(HOME).is_dir() { HOME } else { "/" };
        Context {
            id: random_name(),
            language: language.to_owned(),
            cwd: cwd.filter(|cwd| !cwd.is_empty()).unwrap_or(home).to_owned(),
            kernel: Turn::new(None),
        }
    }

    pub(crate) fn shown(&self) -> Value {
        json!({ "id": self.id, "language": self.language, "cwd": self.cwd })
    }

    async fn awake(&self, kernels: &Kernels) -> Result<(), Trouble> {
        let mut kernel = self.kernel.lock().await;
        if kernel.is_none() {
            *kernel = Some(Kernel::start(kernels, &self.language, &self.cwd).await?);
        }
        Ok(())
    }

    async fn sleep(&self) {
        if let Some(kernel) = self.kernel.lock().await.take() {
            kernel.end().await;
        }
    }
}

/// Sets variables before a cell, and remembers what was there.
fn prelude(language: &str, env: &BTreeMap<String, String>) -> Option<String> {
    if env.is_empty() {
        return None;
    }
    let all = serde_json::to_string(env).ok()?;
    match language {
        "python" => Some(format!(
            "import os as __os, json as __json\n__given = __json.loads({})\n\
             __before = {{name: __os.environ.get(name) for name in __given}}\n__os.environ.update(__given)",
            serde_json::to_string(&all).ok()?
        )),
        "bash" => Some(
            env.iter().map(|(name, value)| format!("export {name}='{}'\n", value.replace('\'', r"'\''"))).collect(),
        ),
        "javascript" | "typescript" => Some(format!("Object.assign(process.env, {all})")),
        _ => None,
    }
}

/// Puts back after a cell what was there before.
fn coda(language: &str, env: &BTreeMap<String, String>) -> Option<String> {
    if env.is_empty() {
        return None;
    }
    match language {
        "python" => Some(
            "for __name, __value in __before.items():\n    __os.environ.pop(__name, None) if __value is None else \
             __os.environ.__setitem__(__name, __value)\ndel __os, __json, __given, __before, __name, __value"
                .into(),
        ),
        "bash" => Some(env.keys().map(|name| format!("unset {name}\n")).collect()),
        "javascript" | "typescript" => Some(env.keys().map(|name| format!("delete process.env['{name}'];")).collect()),
        _ => None,
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
