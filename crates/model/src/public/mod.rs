//! The published language: what HTTP, SSE, the command line and the page hear. It only grows.
//!
//! Everything else in the house stays unserializable to the outside.

mod area;
mod ask;
mod bulk;
mod command;
mod diff;
mod entry;
mod exec;
mod hook;
mod node;
mod notice;
mod overlap;
mod problem;
mod prune;
mod pull;
mod quota;
mod refused;
mod repo;
mod secret;
mod template;
mod usage;
mod view;
mod work;

pub use area::{AreaView, DoneView, NewClaim, NewJudgement, NewQuestion, ScoreView};
pub use ask::{
    Defaults, Field, KeyChange, NewCheckout, NewFork, NewKey, NewLimits, NewNetwork, NewPause, NewSandbox, NewSnapshot,
    NewTimeout, NewVolumeMount, SignIn, an_object,
};
pub use bulk::{BulkAnswer, BulkVerb, MOST_AT_ONCE, NewBulk};
pub use command::{AgentChange, CommandRulesChange, MoreHosts};
pub use diff::{DiffFileView, FileStatus};
pub use entry::{Cursor, Drain, Entry, Happening, Kind, Reset};
pub use exec::{
    Activity, Command, ExecSignal, ExecSize, ExecView, Executed, FileEntry, FileKind, LogLine, NewExec, StatsView,
};
pub use hook::{HookAdded, HookLetter, HookStatus, HookView, NewHook, NewReplay};
pub use node::{NewDrain, NodeView};
pub use notice::{NewSubscription, NoticesView, SubscriptionKeys, SubscriptionView};
pub use overlap::{OverlapView, OverlapWith};
pub use problem::{FieldProblem, Problem};
pub use prune::{NewPrune, PrunedView};
pub use pull::{
    BaseView, CheckState, CheckView, CommentView, NewAutoMerge, NewMerge, NewPull, NewPullComment, NewPullReview,
    PullNews, PullPhase, PullView, ReviewView, Side, Verdict,
};
pub use quota::{QuotaOf, QuotaView, QuotaWhat};
pub use refused::RefusedHost;
pub use repo::{NewRepo, PullRulesChange, PushView, RepoChange, RepoFitness, RepoView};
pub use secret::{NewSecret, SecretText, SecretView};
pub use template::{From, NewTemplate, TemplateView, limits_in};
pub use usage::{BudgetState, BudgetView, UsageBy, UsageSum, UsageView};
pub use view::{
    Actor, AuditView, Bearer, BreakerState, BreakerView, EndedView, KeyView, Minted, Page, PausedView, ProviderView,
    Readiness, ReadinessView, SandboxCreated, SandboxDetail, SandboxPage, SandboxView, SignedIn, Status,
};
pub use work::{
    AgentView, NewAgent, NewAttempts, NewInterruption, NewMessage, NewMove, NewSession, NewSessionFork, NewSessionTask,
    NewTask, SessionView, TaskChange, TaskPage, TaskView, Timeline, micros,
};
