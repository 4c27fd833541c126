//! The published language, word for word. It only grows: a snapshot that loses or changes a field breaks somebody.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the verdict")]

use carrel_model::{
    AgentId, Authority, ExecId, Grant, KeyId, NodeId, PushId, Role, SandboxId, TaskId, Timestamp,
    agent::{Agent, Voice},
    audit::{AuditLine, Outcome},
    breaker::{Breaker, Rules},
    exec::{Exec, ExecStatus},
    key::Key,
    public::{
        Activity, AgentView, AuditView, BaseView, Bearer, BreakerView, BudgetState, BudgetView, CheckState, Cursor,
        Drain, Entry, ExecView, Executed, FieldProblem, FileEntry, FileKind, Happening, KeyView, Kind, LogLine, Minted,
        NewKey, NewSandbox, NewTimeout, Page, Problem, ProviderView, PullNews, PullPhase, PullView, PushView,
        Readiness, ReadinessView, RepoView, Reset, SandboxDetail, SandboxPage, SandboxView, SecretView, SessionView,
        SignIn, SignedIn, StatsView, TaskView, TemplateView,
    },
    repo::{Push, Repo, RepoPhase},
    sandbox::{AtEnd, Depth, Ended, Isolation, Lifetime, Manners, Phase, Sandbox, Sleep, Spec, Usage, Want},
    secret::Secret,
    session::{Moment, MomentKind, Session, SessionPhase, ToolUse},
    task::{Conflict, Dependency, Needs, NeedsReason, Task, TaskPhase, TaskPull, TaskWant, Until},
    template::{Template, TemplatePhase},
};
use insta::assert_json_snapshot;
use jiff::SignedDuration;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_767_225_600 + second, 123_456_000).unwrap()
}

fn key_id(n: u8) -> KeyId {
    KeyId::from_random([n; 8])
}

fn sandbox_id() -> SandboxId {
    SandboxId::from_random([7; 16])
}

fn scout() -> AgentId {
    "scout".parse().unwrap()
}

fn plain_spec() -> Spec {
    Spec {
        template: "host".parse().unwrap(),
        provider: "fake".parse().unwrap(),
        isolation: Isolation::None,
        agent_id: None,
        task_id: None,
        repo: None,
        checkout: None,
        env: Default::default(),
        metadata: Default::default(),
        lifetime: Lifetime::new(3600).unwrap(),
        at_end: AtEnd::Destroy,
        limits: from(json!({"cpus": 1, "memory_mb": 256, "disk_mb": 512, "pids": 128})),
        network: Default::default(),
        ports: Default::default(),
        port_host: None,
        tls_ports: Vec::new(),
        pause_depth: Default::default(),
        volumes: Vec::new(),
    }
}

fn rich_spec() -> Spec {
    Spec {
        agent_id: Some(scout()),
        task_id: Some(from(json!(42))),
        env: from(json!({"TOKEN": "hunter2", "PATH": "/bin"})),
        metadata: from(json!({"colour": "red"})),
        at_end: AtEnd::Pause,
        limits: from(json!({"cpus": 0.5, "memory_mb": 64, "disk_mb": 128, "pids": 16})),
        network: from(json!({"mode": "allow", "allow": ["example.org", "*.example.org:443"]})),
        isolation: Isolation::Microvm,
        ..plain_spec()
    }
}

fn from<T: DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A sandbox in a phase, as its row would be by then.
fn sandbox(phase: Phase) -> Sandbox {
    let spec = if phase == Phase::Paused { rich_spec() } else { plain_spec() };
    let mut sandbox = Sandbox::born(sandbox_id(), spec, Manners::default(), key_id(1), None, at(0));
    sandbox.phase = phase;
    sandbox.updated_at = at(5);
    match phase {
        Phase::Requested => (sandbox.updated_at, sandbox.revision) = (at(0), 1),
        Phase::Preparing => {
            sandbox.revision = 3;
            sandbox.attempts = 2;
            sandbox.next_attempt_at = Some(at(9));
            sandbox.note = Some("It could not create yet: no answer.".into());
        }
        Phase::Ready => (sandbox.ready_at, sandbox.revision) = (Some(at(1)), 2),
        Phase::Paused => (sandbox.ready_at, sandbox.want, sandbox.revision) = (Some(at(1)), Want::Paused, 4),
        Phase::Closing | Phase::Gone => {
            sandbox.ready_at = Some(at(1));
            sandbox.want = Want::Gone;
            sandbox.ended = Some(Ended {
                by: key_id(2).to_string(),
                why: "It was destroyed with the key `admin`.".into(),
                at: at(4),
            });
            sandbox.revision = 5;
        }
        Phase::Failed => {
            sandbox.revision = 7;
            sandbox.note = Some("It could not create: there is no template `nope`.".into());
        }
    }
    sandbox
}

fn template() -> Template {
    Template {
        name: "mine/own:1".parse().unwrap(),
        provider: "local".parse().unwrap(),
        phase: TemplatePhase::Ready,
        source: json!({"from": "debian", "suite": "bookworm", "packages": ["git"]}),
        origin: Some("Debian bookworm with git".into()),
        bytes: Some(123_456_789),
        layers: Some(2),
        memory: false,
        note: None,
        log: ExecId::from_random([5; 8]),
        created_by: key_id(1),
        node: NodeId::from_random([1; 8]),
        created_at: at(0),
        updated_at: at(9),
        ready_at: Some(at(9)),
        revision: 2,
    }
}

fn repo() -> Repo {
    Repo {
        name: "app".parse().unwrap(),
        source: Some("github:octo/app".parse().unwrap()),
        phase: RepoPhase::Ready,
        default_branch: Some("main".parse().unwrap()),
        head: Some("a".repeat(40).parse().unwrap()),
        rules: from(json!({
            "check_command": "make test", "merge": "rebase", "deny_paths": [".github/**"], "largest_file_mb": 10
        })),
        note: None,
        synced_at: Some(at(8)),
        created_by: key_id(1),
        created_at: at(0),
        updated_at: at(8),
        revision: 3,
    }
}

fn pull() -> PullView {
    from(json!({
        "repo": "app", "number": 7, "forge": "embedded", "url": "http://127.0.0.1:7070/app/repos/app/pulls/7",
        "title": "feat: x", "body": "y", "author": "carrel", "task_id": 42, "head": "task-42",
        "head_commit": "c".repeat(40), "base": "main", "phase": "mergeable", "draft": false, "labels": ["bug"],
        "reviewers": ["mona"], "auto_merge": "squash", "checks": "passed", "verdict": "approved", "merge_commit": null,
        "created_at": at(1), "updated_at": at(2), "revision": 3,
    }))
}

fn news() -> Vec<PullNews> {
    let head = "c".repeat(40);
    from(json!([
        {"what": "comment", "head": head, "comment": {"id": "comment-1", "author": "mona", "body": "Why?", "path": "src/a.rs",
            "line": 3, "side": "new", "stamp": null, "url": "http://127.0.0.1:7070/x", "created_at": at(1), "updated_at": at(1)}},
        {"what": "review", "head": head, "review": {"id": "review-1", "author": "mona", "verdict": "changes_requested",
            "body": "No.", "commit": head, "at": at(2)}},
        {"what": "check", "head": head, "check": {"name": "ci", "state": "failed", "summary": "2 failed", "url": null, "at": at(3)}},
    ]))
}

fn base() -> BaseView {
    from(
        json!({"repo": "app", "branch": "main", "commit": "d".repeat(40), "before": "c".repeat(40), "rewritten": false}),
    )
}

fn push() -> Push {
    Push {
        id: PushId::from_random([6; 8]),
        repo: "app".parse().unwrap(),
        task_id: Some(from(json!(42))),
        sandbox_id: Some(sandbox_id()),
        key: key_id(2),
        refs: from(json!([{"name": "refs/heads/main", "old": null, "new": "b".repeat(40), "moved": false}])),
        refusal: Some("This sandbox works on task 42.".into()),
        at: at(4),
    }
}

fn exec() -> Exec {
    Exec {
        id: ExecId::from_random([5; 8]),
        sandbox: sandbox_id(),
        command: "make test".into(),
        user: Some("user".into()),
        cwd: Some("/work".into()),
        background: false,
        terminal: false,
        pid: Some(42),
        status: ExecStatus::Running,
        exit_code: None,
        timed_out: false,
        note: None,
        created_by: key_id(1),
        node: NodeId::from_random([1; 8]),
        started_at: at(1),
        ended_at: None,
    }
}

fn key(authority: Authority) -> Key {
    Key {
        id: key_id(2),
        name: "the key".into(),
        authority,
        prefix: "crl_abcdef".into(),
        created_at: at(0),
        created_by: None,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        revision: 1,
    }
}

fn provider(breaker: &Breaker) -> ProviderView {
    ProviderView {
        name: "fake".parse().unwrap(),
        isolation: vec![Isolation::None, Isolation::Namespace, Isolation::Gvisor, Isolation::Microvm, Isolation::E2b],
        templates: vec!["host".parse().unwrap()],
        abilities: vec!["pause".into()],
        reach: "node".into(),
        missing: vec!["Nothing runs in a fake sandbox.".into()],
        breaker: BreakerView::from(breaker),
    }
}

/// Breakers that are closed, closed after a failure, open and half open.
fn breakers() -> [Breaker; 4] {
    let rules = Rules { failures: 2, rest: SignedDuration::from_secs(15) };
    let closed = Breaker::default();
    let mut shaken = closed.clone();
    shaken.failed("no answer".into(), rules, at(0));
    let mut open = shaken.clone();
    open.failed("still no answer".into(), rules, at(1));
    let mut half_open = open.clone();
    half_open.admit(rules, at(60));
    [closed, shaken, open, half_open]
}

fn problem() -> Problem {
    Problem {
        kind: "/problems/invalid".into(),
        title: "Invalid value".into(),
        status: 422,
        detail: "`limits.cpus`: expected a number from 0.1 to 64.".into(),
        hint: Some("Ask for less.".into()),
        errors: vec![FieldProblem { field: "limits.cpus".into(), detail: "expected a number from 0.1 to 64".into() }],
        request_id: Some("req_000000000001".into()),
    }
}

/// What was written is read back as the same thing.
fn survives<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(published: &T) {
    let text = serde_json::to_string(published).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), published);
}

#[test]
fn a_sandbox_reads_the_same_in_every_phase() {
    for phase in Phase::ALL {
        let view = SandboxView::from(&sandbox(phase));
        survives(&view);
        assert!(!serde_json::to_string(&view).unwrap().contains("hunter2"));
        assert_json_snapshot!(format!("sandbox_{}", phase.word()), view);
    }
}

#[test]
fn a_sandbox_that_ended_by_its_lifetime_says_so() {
    let mut gone = sandbox(Phase::Gone);
    gone.want = Want::Ready;
    gone.ended = Some(Ended { by: "lifetime".into(), why: "Its lifetime of 3600 s had passed.".into(), at: at(3600) });
    assert_json_snapshot!("sandbox_gone_by_lifetime", SandboxView::from(&gone));
}

#[test]
fn a_key_reads_the_same_in_every_role() {
    let authorities =
        [Authority::Admin, Authority::Member, Authority::Agent(scout()), Authority::Sandbox(sandbox_id())];
    for authority in authorities {
        let view = KeyView::from(&key(authority));
        survives(&view);
        assert_json_snapshot!(format!("key_{}", view.role.word()), view);
    }
    let mut ended = key(Authority::Member);
    ended.created_by = Some(key_id(1));
    ended.last_used_at = Some(at(30));
    ended.expires_at = Some(at(3600));
    ended.revoked_at = Some(at(60));
    ended.revision = 2;
    assert_json_snapshot!("key_revoked", KeyView::from(&ended));
}

#[test]
fn a_minted_key_shows_its_secret_and_a_repeated_one_does_not() {
    let view = KeyView::from(&key(Authority::Member));
    let secret = Some("crl_abcdef0123456789abcdef0123456789abcdef01".to_owned());
    let (minted, repeated) = (Minted { key: view.clone(), secret }, Minted { key: view, secret: None });
    survives(&minted);
    assert_json_snapshot!("minted", minted);
    assert_json_snapshot!("minted_repeated", repeated);
}

#[test]
fn a_secret_is_shown_without_its_value() {
    let secret = Secret {
        name: "github-token".parse().unwrap(),
        repo: Some("hello".parse().unwrap()),
        created_at: at(0),
        updated_at: at(5),
        updated_by: key_id(1),
        revision: 2,
    };
    let view = SecretView::from(&secret);
    survives(&view);
    assert_json_snapshot!("secret", view);
    assert_json_snapshot!("secret_of_the_house", SecretView { repo: None, ..view });
}

#[test]
fn a_provider_reads_the_same_however_its_breaker_stands() {
    for (name, breaker) in ["closed", "shaken", "open", "half_open"].iter().zip(breakers()) {
        let view = provider(&breaker);
        survives(&view);
        assert_json_snapshot!(format!("provider_{name}"), view);
    }
}

fn budget() -> BudgetView {
    BudgetView {
        task_id: Some(TaskId::try_from(42).unwrap()),
        state: BudgetState::Warning,
        spent_usd: "4.2".parse().unwrap(),
        budget_usd: "5".parse().unwrap(),
        note: "Task 42 has spent $4.20 of $5.00.".into(),
        since: None,
    }
}

fn session() -> Session {
    Session {
        id: "ses_0000000000000042".parse().unwrap(),
        agent: "scout".parse().unwrap(),
        repo: Some("hello".parse().unwrap()),
        task_id: Some(TaskId::try_from(42).unwrap()),
        title: "Say hello".into(),
        phase: SessionPhase::Open,
        sandbox_id: None,
        idle: Lifetime::new(300),
        network: Default::default(),
        meta: serde_json::Map::from_iter([("ticket".to_owned(), "X-1".into())]),
        fork_of: Some("ses_0000000000000041".parse().unwrap()),
        base_commit: None,
        conversation: Some("never shown".into()),
        turn: None,
        unwanted: None,
        turns: 2,
        last_seq: 9,
        delivered: 7,
        asked: 7,
        spent_micros: 1_250_000,
        counted: false,
        saved: None,
        laid: None,
        unsaved: Vec::new(),
        left: None,
        closing: false,
        note: None,
        created_by: KeyId::from_random([1; 8]),
        created_at: at(0),
        updated_at: at(1),
        revision: 3,
    }
}

fn task() -> Task {
    Task {
        id: TaskId::try_from(42).unwrap(),
        repo: "hello".parse().unwrap(),
        title: "Say hello".into(),
        prompt: "Say hello to everybody.".into(),
        agent: "scout".parse().unwrap(),
        base: "main".parse().unwrap(),
        base_commit: Some("a".repeat(40).parse().unwrap()),
        branch: "task-42".parse().unwrap(),
        priority: 5,
        due: None,
        claims: Vec::new(),
        labels: vec!["small".into()],
        depends_on: vec![Dependency { task_id: TaskId::try_from(41).unwrap(), until: Until::Merged }],
        isolation: None,
        provider: None,
        network: Default::default(),
        budget_micros: Some(5_000_000),
        want: TaskWant::Review,
        phase: TaskPhase::NeedsYou,
        session_id: session().id,
        sandbox_id: None,
        head: Some("b".repeat(40).parse().unwrap()),
        ahead: 1,
        behind: 2,
        pull: Some(TaskPull {
            number: 7,
            url: "/app/pulls/hello/7".into(),
            phase: PullPhase::Conflicted,
            checks: Some(CheckState::Failed),
        }),
        conflicts: vec![Conflict { task_id: Some(TaskId::try_from(40).unwrap()), paths: vec!["README.md".into()] }],
        shares: vec![],
        needs: Some(Needs { reason: NeedsReason::Conflict, detail: "It conflicts with `main`.".into() }),
        spent_micros: 1_250_000,
        counted: false,
        doing: None,
        nudges: 1,
        failures: 0,
        rebases: 3,
        told: Default::default(),
        fork_of: None,
        from_session: None,
        score: None,
        created_by: KeyId::from_random([1; 8]),
        created_at: at(0),
        updated_at: at(1),
        started_at: Some(at(0)),
        ended_at: None,
        attempts: 0,
        next_attempt_at: None,
        revision: 12,
    }
}

fn moment() -> Moment {
    Moment {
        unfinished: false,
        seq: 9,
        at: at(1),
        turn: 2,
        kind: MomentKind::Tool,
        role: Voice::Agent,
        text: "make test".into(),
        tool: Some(ToolUse {
            id: "use-1".into(),
            name: "bash".into(),
            title: "make test".into(),
            input: serde_json::json!({"command": "make test"}),
            output: Some("ok".into()),
            ok: Some(true),
        }),
        commit: None,
        files: Vec::new(),
        cost_usd: None,
        desk: None,
    }
}

fn agent() -> AgentView {
    let agent = Agent {
        name: "scout".parse().unwrap(),
        dialect: "shell".parse().unwrap(),
        command: Some("make it so".into()),
        env: [("TOKEN".to_owned().try_into().unwrap(), "never shown".to_owned().try_into().unwrap())].into(),
        model: None,
        template: None,
        at_once: None,
        phrases: None,
        mcp: false,
        commands: Default::default(),
        network: Default::default(),
        built_in: false,
        created_at: at(0),
        updated_at: at(0),
        revision: 1,
    };
    AgentView::of(&agent, "Runs a command.".into(), true, None)
}

#[test]
fn an_entry_of_each_kind_carries_its_subject() {
    let happenings = [
        Happening::Sandbox { sandbox: Box::new(SandboxView::from(&sandbox(Phase::Ready))) },
        Happening::Key { key: KeyView::from(&key(Authority::Admin)) },
        Happening::Provider { provider: provider(&breakers()[2]) },
        Happening::Template { template: TemplateView::from(&template()) },
        Happening::Repo { repo: Box::new(RepoView::from(&repo())) },
        Happening::Push { push: PushView::from(&push()) },
        Happening::Pull { pull: Box::new(pull()), news: news() },
        Happening::Base { base: base() },
        Happening::Budget { budget: budget() },
        Happening::Task { task: Box::new(TaskView::from(&task())) },
        Happening::Session { session: Box::new(SessionView::from(&session())) },
        Happening::Moment {
            session_id: session().id,
            agent: "scout".parse().unwrap(),
            task_id: Some(TaskId::try_from(42).unwrap()),
            moment: Box::new(moment()),
        },
        Happening::Agent { agent: Box::new(agent()) },
    ];
    for happening in happenings {
        // A new kind of entry stops the build here: pin it, too.
        let word = match happening.kind() {
            Kind::Sandbox => "sandbox",
            Kind::Key => "key",
            Kind::Provider => "provider",
            Kind::Template => "template",
            Kind::Repo => "repo",
            Kind::Push => "push",
            Kind::Pull => "pull",
            Kind::Base => "base",
            Kind::Budget => "budget",
            Kind::Task => "task",
            Kind::Session => "session",
            Kind::Moment => "moment",
            Kind::Agent => "agent",
        };
        assert_eq!(word, happening.kind().word());
        let entry = Entry { cursor: Cursor(17), at: at(5), happening };
        survives(&entry);
        // A source of a template has no order of its own: it is shown in one, however the JSON library was built.
        let mut settings = insta::Settings::clone_current();
        settings.set_sort_maps(word == "template");
        let _shown = settings.bind_to_scope();
        assert_json_snapshot!(format!("entry_{word}"), entry);
    }
}

#[test]
fn a_sandbox_that_sleeps_and_wakes_by_itself_says_how() {
    let mut paused = sandbox(Phase::Paused);
    paused.manners = Manners { auto_resume: true, idle: Lifetime::new(300) };
    paused.idle_at = Some(at(300));
    paused.depth = Depth::Stored;
    paused.sleep = Some(Sleep { asked: Depth::Stored, reached: Depth::Frozen });
    let view = SandboxView::from(&paused);
    survives(&view);
    assert_json_snapshot!("sandbox_asleep", view);
    let detail = SandboxDetail { sandbox: view.into(), fitness: vec!["Its disk is not limited.".into()] };
    survives(&detail);
    assert_json_snapshot!("sandbox_detail", detail);
}

#[test]
fn an_exec_reads_the_same_however_it_stands() {
    let (running, mut ended, mut timed_out, mut lost) = (exec(), exec(), exec(), exec());
    ended.end(2, "exit status 2".into(), at(3));
    timed_out.time_out(at(301));
    lost.lose("its sandbox ended".into(), at(3));
    for (name, exec) in [("running", running), ("ended", ended), ("timed_out", timed_out), ("lost", lost)] {
        let view = ExecView::from(&exec);
        survives(&view);
        assert_json_snapshot!(format!("exec_{name}"), view);
    }
    let executed = Executed {
        exec_id: exec().id,
        exit_code: Some(0),
        stdout: "out\n".into(),
        stderr: String::new(),
        duration_ms: 12,
        timed_out: false,
        truncated: true,
        status: ExecStatus::Ended,
        note: Some("exit status 0".into()),
    };
    survives(&executed);
    assert_json_snapshot!("executed", executed);
}

#[test]
fn stats_files_and_logs() {
    let stats = StatsView {
        sandbox_id: sandbox_id(),
        at: at(1),
        usage: Usage { cpu_us: Some(5), memory_bytes: Some(6), pids: Some(2), ..Usage::default() },
        limits: plain_spec().limits,
        activity: Activity { last_active_at: Some(at(0)), execs: 1, terminals: 0, ports: 2 },
    };
    survives(&stats);
    assert_json_snapshot!("stats", stats);
    let file = FileEntry {
        name: "a".into(),
        path: "/work/a".into(),
        kind: FileKind::File,
        size: 5,
        mode: "0644".into(),
        owner: "user".into(),
        group: "user".into(),
        modified_at: Some(at(0)),
        symlink_target: None,
    };
    survives(&file);
    assert_json_snapshot!("file", file);
    let line = LogLine { at: at(0), text: "$ make".into(), exec_id: Some(exec().id) };
    survives(&line);
    assert_json_snapshot!("log_line", line);
}

#[test]
fn readers_are_told_to_start_over_and_to_come_back() {
    let (reset, drain) = (Reset { oldest: Cursor(12), head: Cursor(99) }, Drain { retry_ms: 500 });
    survives(&reset);
    survives(&drain);
    assert_json_snapshot!("reset", reset);
    assert_json_snapshot!("drain", drain);
}

#[test]
fn a_problem_says_what_why_and_what_to_do() {
    survives(&problem());
    assert_json_snapshot!("problem", problem());
    assert_json_snapshot!("problem_bare", Problem { hint: None, errors: Vec::new(), request_id: None, ..problem() });
}

#[test]
fn a_line_of_the_audit_says_who_what_from_where_and_how_it_ended() {
    let grant = Grant {
        key: key_id(2),
        name: "the key".into(),
        authority: Authority::Agent(scout()),
        origin: Some("::1".into()),
    };
    let subject = Some(sandbox_id().to_string());
    let done = AuditLine::by(&grant, "sandbox.create", subject.clone(), Outcome::Done, at(0));
    let denied = AuditLine::by(&grant, "sandbox.destroy", subject, Outcome::Denied, at(1)).with_detail("It may not.");
    let nobody = AuditLine { key: None, name: "nobody".into(), role: None, subject: None, ..denied.clone() };
    for (id, name, line) in [(1, "done", done), (2, "denied", denied), (3, "nobody", nobody)] {
        let view = AuditView::new(id, line);
        survives(&view);
        assert_json_snapshot!(format!("audit_{name}"), view);
    }
}

#[test]
fn pages_bearers_and_readiness() {
    let grant = Grant { key: key_id(2), name: "the key".into(), authority: Authority::Member, origin: None };
    let bearer = Bearer::from(&grant);
    assert_json_snapshot!("signed_in", SignedIn { bearer });
    let items = vec![SandboxView::from(&sandbox(Phase::Ready))];
    assert_json_snapshot!("page_of_sandboxes", SandboxPage { items, next: Some("1.x".into()), as_of: Cursor(3) });
    assert_json_snapshot!("page_of_keys", Page { items: vec![KeyView::from(&key(Authority::Admin))], next: None });
    for status in [Readiness::Ready, Readiness::Degraded, Readiness::Draining, Readiness::Unavailable] {
        let word = serde_json::to_value(status).unwrap();
        let view = ReadinessView { status, database: "ok".into(), providers: Vec::new() };
        survives(&view);
        assert_json_snapshot!(format!("readiness_{}", word.as_str().unwrap()), view);
    }
}

#[test]
fn what_may_be_asked_for_is_read_and_written_the_same_way() {
    let all = json!({
        "template": "base", "provider": "fake", "isolation": "none", "agent_id": "scout", "task_id": 7,
        "env": {"TOKEN": "hunter2"}, "metadata": {"colour": "red"}, "timeout_s": 600, "auto_pause": true,
        "auto_resume": true, "idle_s": 300,
        "limits": {"cpus": 0.5, "memory_mb": 64, "disk_mb": 128, "pids": 16},
        "network": {"mode": "allow", "allow": ["example.org"]},
    });
    assert_eq!(serde_json::to_value(from::<NewSandbox>(all.clone())).unwrap(), all);
    assert_eq!(serde_json::to_value(NewSandbox::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(from::<NewTimeout>(json!({"timeout_s": 60}))).unwrap(), json!({"timeout_s": 60}));
    let key = json!({"name": "x", "role": "agent", "agent_id": "scout", "expires_in_s": 60});
    assert_eq!(serde_json::to_value(from::<NewKey>(key.clone())).unwrap(), key);
    assert_eq!(from::<NewKey>(json!({"name": "x", "role": "admin"})).role, Role::Admin);
    for sign_in in [json!({"code": "abc"}), json!({"key": "crl_abc"})] {
        assert_eq!(serde_json::to_value(from::<SignIn>(sign_in.clone())).unwrap(), sign_in);
    }
}
