CREATE FUNCTION SCHEMA.audit_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$;
CREATE TABLE SCHEMA._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
CREATE TABLE SCHEMA.agents (
    name text NOT NULL,
    body text NOT NULL
);
CREATE TABLE SCHEMA.audit (
    id bigint NOT NULL,
    at bigint NOT NULL,
    key_id text,
    name text NOT NULL,
    role text,
    action text NOT NULL,
    subject text,
    origin text,
    outcome text NOT NULL,
    detail text
);
ALTER TABLE SCHEMA.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME SCHEMA.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE SCHEMA.bases (
    repo text NOT NULL,
    branch text NOT NULL,
    commit_id text
);
CREATE TABLE SCHEMA.bells (
    id text NOT NULL,
    key_id text NOT NULL,
    endpoint text NOT NULL,
    p256dh text NOT NULL,
    auth text NOT NULL,
    failures bigint NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE SCHEMA.budget_words (
    budget text NOT NULL,
    height bigint NOT NULL,
    state text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE SCHEMA.checks (
    repo text NOT NULL,
    commit_id text NOT NULL,
    name text NOT NULL,
    body text NOT NULL
);
CREATE TABLE SCHEMA.execs (
    id text NOT NULL,
    sandbox_id text NOT NULL,
    command text NOT NULL,
    username text,
    cwd text,
    background bigint NOT NULL,
    terminal bigint NOT NULL,
    pid bigint,
    status text NOT NULL,
    exit_code bigint,
    timed_out bigint NOT NULL,
    note text,
    created_by text NOT NULL,
    node text NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint
);
CREATE TABLE SCHEMA.forge_readings (
    repo text NOT NULL,
    body text NOT NULL
);
CREATE TABLE SCHEMA.hands (
    task_id bigint NOT NULL,
    at bigint NOT NULL,
    rung bigint NOT NULL
);
CREATE TABLE SCHEMA.heard_words (
    repo text NOT NULL,
    number bigint NOT NULL,
    word text NOT NULL,
    version text NOT NULL
);
CREATE TABLE SCHEMA.hooks (
    id text NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE SCHEMA.idempotency (
    bearer text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    subject text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE SCHEMA.journal (
    cursor bigint NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE SCHEMA.keys (
    id text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    agent_id text,
    sandbox_id text,
    hash text NOT NULL,
    prefix text NOT NULL,
    created_at bigint NOT NULL,
    created_by text,
    last_used_at bigint,
    expires_at bigint,
    revoked_at bigint,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.lanes (
    name text NOT NULL,
    owner text,
    until bigint NOT NULL,
    token bigint NOT NULL,
    sandbox_id text
);
CREATE TABLE SCHEMA.ledger (
    only_row bigint NOT NULL,
    head bigint NOT NULL,
    oldest bigint NOT NULL,
    CONSTRAINT ledger_only_row_check CHECK ((only_row = 1))
);
CREATE TABLE SCHEMA.mark (
    only_row bigint NOT NULL,
    text text NOT NULL,
    CONSTRAINT mark_only_row_check CHECK ((only_row = 1))
);
CREATE TABLE SCHEMA.moments (
    session_id text NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    role text NOT NULL,
    text text NOT NULL,
    body text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE SCHEMA.outbound_secrets (
    id text NOT NULL,
    name text NOT NULL,
    metadata text NOT NULL,
    sealed_by text NOT NULL,
    sealed bytea NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    updated_by text NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE SCHEMA.pull_numbers (
    repo text NOT NULL,
    pulls bigint NOT NULL,
    words bigint NOT NULL
);
CREATE TABLE SCHEMA.pull_words (
    repo text NOT NULL,
    id bigint NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    stamp text,
    body text NOT NULL
);
CREATE TABLE SCHEMA.pulls (
    repo text NOT NULL,
    number bigint NOT NULL,
    head text NOT NULL,
    base text NOT NULL,
    is_open bigint NOT NULL,
    body text NOT NULL,
    updated_at bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.pushes (
    id text NOT NULL,
    repo text NOT NULL,
    task_id bigint,
    sandbox_id text,
    key_id text NOT NULL,
    refs text NOT NULL,
    refusal text,
    at bigint NOT NULL
);
CREATE TABLE SCHEMA.repos (
    name text NOT NULL,
    source text,
    phase text NOT NULL,
    default_branch text,
    head text,
    rules text NOT NULL,
    note text,
    synced_at bigint,
    created_by text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.sandboxes (
    id text NOT NULL,
    spec text NOT NULL,
    provider text NOT NULL,
    template text NOT NULL,
    agent_id text,
    task_id bigint,
    want text NOT NULL,
    phase text NOT NULL,
    note text,
    home text,
    created_by text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ready_at bigint,
    expires_at bigint NOT NULL,
    ended_by text,
    ended_why text,
    ended_at bigint,
    attempts bigint NOT NULL,
    next_attempt_at bigint,
    revision bigint NOT NULL,
    due_at bigint,
    lease_owner text,
    lease_until bigint,
    lease_token bigint NOT NULL,
    auto_resume bigint DEFAULT 0 NOT NULL,
    idle_s bigint,
    idle_at bigint,
    depth text DEFAULT 'frozen'::text NOT NULL,
    sleep_asked text,
    sleep_depth text
);
CREATE TABLE SCHEMA.secrets (
    repo text NOT NULL,
    name text NOT NULL,
    sealed_by text NOT NULL,
    sealed bytea NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    updated_by text NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.seen_pulls (
    repo text NOT NULL,
    number bigint NOT NULL,
    head text NOT NULL,
    base text NOT NULL,
    phase text NOT NULL,
    is_over bigint NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.sessions (
    id text NOT NULL,
    phase text NOT NULL,
    agent text NOT NULL,
    repo text,
    task_id bigint,
    sandbox_id text,
    is_asked bigint NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.sign_ins (
    hash text NOT NULL,
    key_id text NOT NULL,
    kind text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE SCHEMA.spent_secrets (
    hash text NOT NULL,
    key_id text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE SCHEMA.task_numbers (
    only_row bigint NOT NULL,
    last bigint NOT NULL
);
CREATE TABLE SCHEMA.tasks (
    id bigint NOT NULL,
    repo text NOT NULL,
    agent text NOT NULL,
    phase text NOT NULL,
    want text NOT NULL,
    priority bigint NOT NULL,
    branch text NOT NULL,
    session_id text NOT NULL,
    sandbox_id text,
    body text NOT NULL,
    due_at bigint,
    lease_owner text,
    lease_until bigint,
    lease_token bigint NOT NULL,
    updated_at bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.templates (
    name text NOT NULL,
    provider text NOT NULL,
    phase text NOT NULL,
    source text NOT NULL,
    origin text,
    bytes bigint,
    layers bigint,
    memory bigint NOT NULL,
    note text,
    log text NOT NULL,
    created_by text NOT NULL,
    node text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ready_at bigint,
    revision bigint NOT NULL
);
CREATE TABLE SCHEMA.transcript_chunks (
    exec_id text NOT NULL,
    start bigint NOT NULL,
    stream text NOT NULL,
    bytes bytea NOT NULL
);
CREATE TABLE SCHEMA.transcripts (
    exec_id text NOT NULL,
    length bigint NOT NULL,
    room bigint NOT NULL,
    dropped bigint NOT NULL,
    created_at bigint NOT NULL,
    closed_at bigint
);
CREATE TABLE SCHEMA.usage (
    id bigint NOT NULL,
    at bigint NOT NULL,
    task_id bigint,
    session_id text,
    sandbox_id text,
    agent text,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write bigint NOT NULL,
    cost bigint,
    is_estimated bigint NOT NULL,
    status bigint NOT NULL,
    took_ms bigint NOT NULL
);
ALTER TABLE SCHEMA.usage ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME SCHEMA.usage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE SCHEMA.volumes (
    id text NOT NULL,
    name text NOT NULL,
    provider text NOT NULL,
    home text NOT NULL,
    sealed_by text NOT NULL,
    sealed bytea NOT NULL,
    removed bigint NOT NULL,
    created_by text NOT NULL,
    created_at bigint NOT NULL
);
INSERT INTO SCHEMA._sqlx_migrations VALUES (1, 'the house', '2026-11-16 16:18:26.645869+00', true, '\x3681eca3c657954c6ce5e34fb0193ac6a2721f36485d9680e144d97f6b1eb44df1db149b6a763fbc6e5a30f92a185ee2', 247841839);
INSERT INTO SCHEMA._sqlx_migrations VALUES (2, 'inside', '2026-11-16 16:18:26.897669+00', true, '\x88965066c8a4ab5186918b23e2f175a1c04db69ca6f72b2cd0e93c4cfe18f0528caaf95a1493ee30f4a8a1f5e0ae8d05', 73527926);
INSERT INTO SCHEMA._sqlx_migrations VALUES (3, 'git', '2026-11-16 16:18:26.973661+00', true, '\xcd528800be607178de992145e8c9bb76fc94ef066d6b57766d566a60f61bc02864a616ce7131430509dc714c0710864b', 44021767);
INSERT INTO SCHEMA._sqlx_migrations VALUES (4, 'secrets and pulls', '2026-11-16 16:18:27.023377+00', true, '\x20020f2527ec3319e3c889ff744dd3b2ad541aab5398037d125d7240b4ed18c90f5d865671237b9a0afe44849845d992', 142705573);
INSERT INTO SCHEMA._sqlx_migrations VALUES (5, 'a mark', '2026-11-16 16:18:27.172213+00', true, '\x79c299170610ee759161155e9fca4195629c83d8ec4808d292c93fb48c0ed9b1324d44c1b5ed254a27c3b5b0e17a8a2b', 17445691);
INSERT INTO SCHEMA._sqlx_migrations VALUES (6, 'work', '2026-11-16 16:18:27.190338+00', true, '\x69843192fdbe1a6a502d11adf52c7b9edd309732d4f3caa5dcb455451d1c9d08ecc9fb718d0539251ab8e967c7ddd3c3', 99503771);
INSERT INTO SCHEMA._sqlx_migrations VALUES (7, 'usage', '2026-11-16 16:18:27.301722+00', true, '\x254ee1d01c347d9a03777139f36b780467a77b5027e8fc7972014a2a22daf8c152214ddadb52c509dcc7626af0b68944', 88428013);
INSERT INTO SCHEMA._sqlx_migrations VALUES (8, 'pulls', '2026-11-16 16:18:27.392019+00', true, '\xc9692924a0f08306890a2161eea95e11b977b10d41a2dab6db473d9c5922b35a965091bb0e19f3b751eccd5bb0716077', 205774745);
INSERT INTO SCHEMA._sqlx_migrations VALUES (9, 'volumes', '2026-11-16 16:18:27.605484+00', true, '\x137e7a1abe3e1184de662111fc991eaf28d5d85a0a42c323ae6193e98302c8e5c90ee5c5e100f675bef7391614608747', 96433200);
INSERT INTO SCHEMA._sqlx_migrations VALUES (11, 'work more', '2026-11-16 16:18:27.700323+00', true, '\xc2e3f6002df1012378a45b76640bc150cfe4d7f67910eb67d462e5b4430ee8e8a96991d00e9458c479416722f85e7c67', 20695718);
INSERT INTO SCHEMA._sqlx_migrations VALUES (12, 'board', '2026-11-16 16:18:27.723489+00', true, '\xb9cd8810fb71d13020d97a7ff72ee0024e9f4ae32413765f94a0abbb2ad65c502a52852632a6187f853ef8e8d8c9383e', 15830827);
INSERT INTO SCHEMA.agents VALUES ('slow', '{"name":"slow","dialect":"shell","command":"echo hi","env":{},"model":null,"template":null,"at_once":null,"mcp":false,"built_in":false,"created_at":"2026-11-16T16:18:28.802175Z","updated_at":"2026-11-16T16:18:28.802175Z","revision":1}');
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (1, 1794845908090270, NULL, 'carrel', NULL, 'key.create', 'key_b59c2e3f54f43e50', NULL, 'done', 'The admin key of this data directory.');
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (2, 1794845908105897, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'sign_in.link', 'key_b59c2e3f54f43e50', NULL, 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (3, 1794845908545522, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'repo.add', 'own', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (4, 1794845908728083, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'key.create', 'key_86dd575c357b24b9', '127.0.0.1', 'done', 'Ada (member)');
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (5, 1794845908809229, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'agent.add', 'slow', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (6, 1794845908970125, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'secret.set', 'github-token', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (7, 1794845909016105, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'sandbox.create', 'io8844ym7tdsluea3ebo', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (8, 1794845909178543, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'sandbox.create', 'ixm4ajcxz9mnje2q0ape', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (9, 1794845909410580, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'sandbox.destroy', 'ixm4ajcxz9mnje2q0ape', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (10, 1794845909841849, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'task.create', '1', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (11, 1794845909998677, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'task.create', '2', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (12, 1794845910177568, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'session.create', 'ses_b026cf343e125a38', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (13, 1794845910293505, 'key_b59c2e3f54f43e50', 'carrel', 'admin', 'sandbox.create', 'i41pwz6oxhbot5mg6gsr', NULL, 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (14, 1794845910452018, 'key_b59c2e3f54f43e50', 'admin', 'admin', 'hook.write', 'hook_c5b64de0f2e37fb7', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.bases VALUES ('own', 'main', '491efbdd46619ad6e6233581a28b578333db26b2');
INSERT INTO SCHEMA.hooks VALUES ('hook_c5b64de0f2e37fb7', '{"id":"hook_c5b64de0f2e37fb7","url":"https://example.org/hook","events":["task","pull"],"cursor":21,"failures":0,"next_attempt_at":null,"stopped":null,"last":null,"delivered":0,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:30.451612Z","revision":1}', 1794845910451612);
INSERT INTO SCHEMA.journal VALUES (1, 1794845908090270, '{"kind":"key","key":{"id":"key_b59c2e3f54f43e50","name":"admin","role":"admin","agent_id":null,"sandbox_id":null,"prefix":"crl_317f11","created_at":"2026-11-16T16:18:28.077422Z","created_by":null,"last_used_at":null,"expires_at":null,"revoked_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (2, 1794845908545522, '{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":null,"head":null,"merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:28.545522Z","updated_at":"2026-11-16T16:18:28.545522Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (3, 1794845908633035, '{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":"main","head":null,"merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":"2026-11-16T16:18:28.621634Z","created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:28.545522Z","updated_at":"2026-11-16T16:18:28.633035Z","revision":2}}');
INSERT INTO SCHEMA.journal VALUES (4, 1794845908728083, '{"kind":"key","key":{"id":"key_86dd575c357b24b9","name":"Ada","role":"member","agent_id":null,"sandbox_id":null,"prefix":"crl_a766d3","created_at":"2026-11-16T16:18:28.716488Z","created_by":"key_b59c2e3f54f43e50","last_used_at":null,"expires_at":null,"revoked_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (5, 1794845908809229, '{"kind":"agent","agent":{"name":"slow","dialect":"shell","about":"Runs a command with the prompt on its standard input and in CARREL_PROMPT.","command":"echo hi","env_names":[],"model":null,"template":null,"at_once":null,"built_in":false,"found":true}}');
INSERT INTO SCHEMA.journal VALUES (6, 1794845909016105, '{"kind":"sandbox","sandbox":{"id":"io8844ym7tdsluea3ebo","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.016105Z","updated_at":"2026-11-16T16:18:29.016105Z","ready_at":null,"expires_at":"2026-11-16T17:18:29.016105Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (7, 1794845909053691, '{"kind":"sandbox","sandbox":{"id":"io8844ym7tdsluea3ebo","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.016105Z","updated_at":"2026-11-16T16:18:29.053691Z","ready_at":"2026-11-16T16:18:29.053691Z","expires_at":"2026-11-16T17:18:29.016105Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
INSERT INTO SCHEMA.journal VALUES (8, 1794845909178543, '{"kind":"sandbox","sandbox":{"id":"ixm4ajcxz9mnje2q0ape","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.178543Z","updated_at":"2026-11-16T16:18:29.178543Z","ready_at":null,"expires_at":"2026-11-16T17:18:29.178543Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (9, 1794845909226097, '{"kind":"sandbox","sandbox":{"id":"ixm4ajcxz9mnje2q0ape","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.178543Z","updated_at":"2026-11-16T16:18:29.226097Z","ready_at":"2026-11-16T16:18:29.226097Z","expires_at":"2026-11-16T17:18:29.178543Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
INSERT INTO SCHEMA.journal VALUES (10, 1794845909410580, '{"kind":"sandbox","sandbox":{"id":"ixm4ajcxz9mnje2q0ape","phase":"ready","want":"gone","status":"running","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.178543Z","updated_at":"2026-11-16T16:18:29.41058Z","ready_at":"2026-11-16T16:18:29.226097Z","expires_at":"2026-11-16T17:18:29.178543Z","ended":{"by":"key_b59c2e3f54f43e50","why":"It was destroyed with the key `admin`.","at":"2026-11-16T16:18:29.41058Z"},"attempts":0,"next_attempt_at":null,"revision":3}}');
INSERT INTO SCHEMA.journal VALUES (11, 1794845909511639, '{"kind":"sandbox","sandbox":{"id":"ixm4ajcxz9mnje2q0ape","phase":"gone","want":"gone","status":"stopped","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.178543Z","updated_at":"2026-11-16T16:18:29.511639Z","ready_at":"2026-11-16T16:18:29.226097Z","expires_at":null,"ended":{"by":"key_b59c2e3f54f43e50","why":"It was destroyed with the key `admin`.","at":"2026-11-16T16:18:29.41058Z"},"attempts":0,"next_attempt_at":null,"revision":4}}');
INSERT INTO SCHEMA.journal VALUES (12, 1794845909807281, '{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":"main","head":"491efbdd46619ad6e6233581a28b578333db26b2","merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":"2026-11-16T16:18:29.779432Z","created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:28.545522Z","updated_at":"2026-11-16T16:18:29.807281Z","revision":3}}');
INSERT INTO SCHEMA.journal VALUES (13, 1794845909841849, '{"kind":"moment","session_id":"ses_6b7f201188869cd0","agent":"slow","task_id":1,"moment":{"seq":1,"at":"2026-11-16T16:18:29.841849Z","turn":0,"kind":"message","role":"user","text":"First card"}}');
INSERT INTO SCHEMA.journal VALUES (14, 1794845909841849, '{"kind":"session","session":{"id":"ses_6b7f201188869cd0","agent":"slow","repo":"own","task_id":1,"title":"First card","phase":"open","sandbox_id":null,"idle_s":null,"meta":{},"busy":true,"turns":0,"last_seq":1,"cost_usd":0.0,"note":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.841849Z","updated_at":"2026-11-16T16:18:29.841849Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (15, 1794845909841849, '{"kind":"task","task":{"id":1,"repo":"own","title":"First card","prompt":"First card","agent":"slow","base":"main","base_commit":null,"branch":"task-1","priority":3,"labels":["one"],"depends_on":[],"isolation":null,"network":{"mode":"none","allow":[]},"budget_usd":null,"want":"rest","phase":"backlog","session_id":"ses_6b7f201188869cd0","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"cost_usd":0.0,"doing":null,"fork_of":null,"score":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.841849Z","updated_at":"2026-11-16T16:18:29.841849Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (16, 1794845909998677, '{"kind":"moment","session_id":"ses_82ead1b415dc5ff3","agent":"demo","task_id":2,"moment":{"seq":1,"at":"2026-11-16T16:18:29.998677Z","turn":0,"kind":"message","role":"user","text":"Second card"}}');
INSERT INTO SCHEMA.journal VALUES (17, 1794845909998677, '{"kind":"session","session":{"id":"ses_82ead1b415dc5ff3","agent":"demo","repo":"own","task_id":2,"title":"Second card","phase":"open","sandbox_id":null,"idle_s":null,"meta":{},"busy":true,"turns":0,"last_seq":1,"cost_usd":0.0,"note":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.998677Z","updated_at":"2026-11-16T16:18:29.998677Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (18, 1794845909998677, '{"kind":"task","task":{"id":2,"repo":"own","title":"Second card","prompt":"Second card","agent":"demo","base":"main","base_commit":null,"branch":"task-2","priority":0,"labels":[],"depends_on":[{"task_id":1,"until":"merged"}],"isolation":null,"network":{"mode":"none","allow":[]},"budget_usd":null,"want":"rest","phase":"backlog","session_id":"ses_82ead1b415dc5ff3","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"cost_usd":0.0,"doing":null,"fork_of":null,"score":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.998677Z","updated_at":"2026-11-16T16:18:29.998677Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (19, 1794845910177568, '{"kind":"session","session":{"id":"ses_b026cf343e125a38","agent":"slow","repo":null,"task_id":null,"title":"Untitled","phase":"open","sandbox_id":"i41pwz6oxhbot5mg6gsr","idle_s":300,"meta":{},"busy":false,"turns":0,"last_seq":0,"cost_usd":0.0,"note":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:30.165927Z","updated_at":"2026-11-16T16:18:30.177568Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (20, 1794845910293505, '{"kind":"sandbox","sandbox":{"id":"i41pwz6oxhbot5mg6gsr","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":"slow","task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":2592000,"auto_pause":true,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:30.293505Z","updated_at":"2026-11-16T16:18:30.293505Z","ready_at":null,"expires_at":"2026-12-16T16:18:30.293505Z","auto_resume":true,"idle_s":300,"ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (21, 1794845910317033, '{"kind":"sandbox","sandbox":{"id":"i41pwz6oxhbot5mg6gsr","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","isolation":"none","agent_id":"slow","task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":2592000,"auto_pause":true,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:30.293505Z","updated_at":"2026-11-16T16:18:30.317033Z","ready_at":"2026-11-16T16:18:30.317033Z","expires_at":"2026-12-16T16:18:30.293505Z","auto_resume":true,"idle_s":300,"idle_at":"2026-11-16T16:23:30.317033Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
INSERT INTO SCHEMA.keys VALUES ('key_86dd575c357b24b9', 'Ada', 'member', NULL, NULL, '0ce998b6289bc8822ca5b3446f5a0630856bd82a954857e60628c340cd342298', 'crl_a766d3', 1794845908716488, 'key_b59c2e3f54f43e50', NULL, NULL, NULL, 1);
INSERT INTO SCHEMA.keys VALUES ('key_b59c2e3f54f43e50', 'admin', 'admin', NULL, NULL, '96024aa36f58448ccfd910d6d64b1f8ec7c9f07e2f3f652e8fe053c35698b9dc', 'crl_317f11', 1794845908077422, NULL, 1794845910448448, NULL, NULL, 1);
INSERT INTO SCHEMA.lanes VALUES ('hook hook_c5b64de0f2e37fb7', NULL, 1794845925464297, 1, NULL);
INSERT INTO SCHEMA.ledger VALUES (1, 21, 1);
INSERT INTO SCHEMA.mark VALUES (1, 'd9c1fdc6fc614045');
INSERT INTO SCHEMA.moments VALUES ('ses_6b7f201188869cd0', 1, 'message', 'user', 'First card', '{"seq":1,"at":"2026-11-16T16:18:29.841849Z","turn":0,"kind":"message","role":"user","text":"First card"}', 1794845909841849);
INSERT INTO SCHEMA.moments VALUES ('ses_82ead1b415dc5ff3', 1, 'message', 'user', 'Second card', '{"seq":1,"at":"2026-11-16T16:18:29.998677Z","turn":0,"kind":"message","role":"user","text":"Second card"}', 1794845909998677);
INSERT INTO SCHEMA.repos VALUES ('own', NULL, 'ready', 'main', '491efbdd46619ad6e6233581a28b578333db26b2', '{"merge":"squash","keep_branches":false,"allow_secrets":false}', NULL, 1794845909779432, 'key_b59c2e3f54f43e50', 1794845908545522, 1794845909807281, 3);
INSERT INTO SCHEMA.sandboxes VALUES ('io8844ym7tdsluea3ebo', '{"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env":{},"metadata":{},"lifetime":3600,"at_end":"destroy","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}', 'fake', 'host', NULL, NULL, 'ready', 'ready', NULL, 'node_90ff73aebff7a449', 'key_b59c2e3f54f43e50', 1794845909016105, 1794845909053691, 1794845909053691, 1794849509016105, NULL, NULL, NULL, 0, NULL, 2, 1794849509016105, NULL, NULL, 1, 0, NULL, NULL, 'frozen', NULL, NULL);
INSERT INTO SCHEMA.sandboxes VALUES ('ixm4ajcxz9mnje2q0ape', '{"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env":{},"metadata":{},"lifetime":3600,"at_end":"destroy","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}', 'fake', 'host', NULL, NULL, 'gone', 'gone', NULL, 'node_90ff73aebff7a449', 'key_b59c2e3f54f43e50', 1794845909178543, 1794845909511639, 1794845909226097, 1794849509178543, 'key_b59c2e3f54f43e50', 'It was destroyed with the key `admin`.', 1794845909410580, 0, NULL, 4, NULL, NULL, NULL, 2, 0, NULL, NULL, 'frozen', NULL, NULL);
INSERT INTO SCHEMA.sandboxes VALUES ('i41pwz6oxhbot5mg6gsr', '{"template":"host","provider":"fake","isolation":"none","agent_id":"slow","task_id":null,"env":{},"metadata":{},"lifetime":2592000,"at_end":"pause","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}', 'fake', 'host', 'slow', NULL, 'ready', 'ready', NULL, 'node_90ff73aebff7a449', 'key_b59c2e3f54f43e50', 1794845910293505, 1794845910317033, 1794845910317033, 1797437910293505, NULL, NULL, NULL, 0, NULL, 2, 1794846210317033, NULL, NULL, 1, 1, 300, 1794846210317033, 'frozen', NULL, NULL);
INSERT INTO SCHEMA.secrets VALUES ('', 'github-token', 'dc8a719a269104cf', '\x01b2ec9f20f100119edef6f9b6e2b8f3fc7acb1bf5f0c86b032d1c6f107fa3a33f3e9cca979f44810ba5852c95f5b3822307981ff69eb4fe0ff8497253035fabf5', 1794845908970125, 1794845908970125, 'key_b59c2e3f54f43e50', 1);
INSERT INTO SCHEMA.secrets VALUES ('', 'hook-c5b64de0f2e37fb7', 'dc8a719a269104cf', '\x01588e7fa3dbe6b84a9e7c32295ff41dc02b334ba3a05f0e5521ad80e805fda68456e91357c2fda4254c1ec348e5e126dfb0af9e4994cbbf4e3e02b996e7f9aa81884043c952987d880084e64d72bac7118f74132078399bc964343d3b4c3995130880', 1794845910452018, 1794845910452018, 'key_b59c2e3f54f43e50', 1);
INSERT INTO SCHEMA.sessions VALUES ('ses_6b7f201188869cd0', 'open', 'slow', 'own', 1, NULL, 1, '{"id":"ses_6b7f201188869cd0","agent":"slow","repo":"own","task_id":1,"title":"First card","phase":"open","sandbox_id":null,"idle":null,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":1,"delivered":0,"asked":1,"spent_micros":0,"counted":false,"saved":null,"laid":null,"closing":false,"note":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.841849Z","updated_at":"2026-11-16T16:18:29.841849Z","revision":1}', 1794845909841849, 1);
INSERT INTO SCHEMA.sessions VALUES ('ses_82ead1b415dc5ff3', 'open', 'demo', 'own', 2, NULL, 1, '{"id":"ses_82ead1b415dc5ff3","agent":"demo","repo":"own","task_id":2,"title":"Second card","phase":"open","sandbox_id":null,"idle":null,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":1,"delivered":0,"asked":1,"spent_micros":0,"counted":false,"saved":null,"laid":null,"closing":false,"note":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.998677Z","updated_at":"2026-11-16T16:18:29.998677Z","revision":1}', 1794845909998677, 1);
INSERT INTO SCHEMA.sessions VALUES ('ses_b026cf343e125a38', 'open', 'slow', NULL, NULL, 'i41pwz6oxhbot5mg6gsr', 0, '{"id":"ses_b026cf343e125a38","agent":"slow","repo":null,"task_id":null,"title":"Untitled","phase":"open","sandbox_id":"i41pwz6oxhbot5mg6gsr","idle":300,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":0,"delivered":0,"asked":0,"spent_micros":0,"counted":false,"saved":null,"laid":"i41pwz6oxhbot5mg6gsr","closing":false,"note":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:30.165927Z","updated_at":"2026-11-16T16:18:30.177568Z","revision":1}', 1794845910165927, 1);
INSERT INTO SCHEMA.sign_ins VALUES ('294546389b25b670ab54e57f4d523f8a87e8fe05b3ea749f71a327120ef27bfa', 'key_b59c2e3f54f43e50', 'link', 1794845908105897, 1794849508105211);
INSERT INTO SCHEMA.task_numbers VALUES (1, 2);
INSERT INTO SCHEMA.tasks VALUES (1, 'own', 'slow', 'backlog', 'rest', 3, 'task-1', 'ses_6b7f201188869cd0', NULL, '{"id":1,"repo":"own","title":"First card","prompt":"First card","agent":"slow","base":"main","base_commit":null,"branch":"task-1","priority":3,"claims":[],"labels":["one"],"depends_on":[],"isolation":null,"network":{"mode":"none","allow":[]},"budget_micros":null,"want":"rest","phase":"backlog","session_id":"ses_6b7f201188869cd0","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"spent_micros":0,"counted":false,"doing":null,"nudges":0,"rebases":0,"told":{},"fork_of":null,"score":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.841849Z","updated_at":"2026-11-16T16:18:29.841849Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}', NULL, NULL, NULL, 0, 1794845909841849, 1);
INSERT INTO SCHEMA.tasks VALUES (2, 'own', 'demo', 'backlog', 'rest', 0, 'task-2', 'ses_82ead1b415dc5ff3', NULL, '{"id":2,"repo":"own","title":"Second card","prompt":"Second card","agent":"demo","base":"main","base_commit":null,"branch":"task-2","priority":0,"claims":[],"labels":[],"depends_on":[{"task_id":1,"until":"merged"}],"isolation":null,"network":{"mode":"none","allow":[]},"budget_micros":null,"want":"rest","phase":"backlog","session_id":"ses_82ead1b415dc5ff3","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"spent_micros":0,"counted":false,"doing":null,"nudges":0,"rebases":0,"told":{},"fork_of":null,"score":null,"created_by":"key_b59c2e3f54f43e50","created_at":"2026-11-16T16:18:29.998677Z","updated_at":"2026-11-16T16:18:29.998677Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}', NULL, NULL, NULL, 0, 1794845909998677, 1);
SELECT pg_catalog.setval('SCHEMA.audit_id_seq', 14, true);
SELECT pg_catalog.setval('SCHEMA.usage_id_seq', 1, false);
ALTER TABLE ONLY SCHEMA._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY SCHEMA.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (name);
ALTER TABLE ONLY SCHEMA.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.bases
    ADD CONSTRAINT bases_pkey PRIMARY KEY (repo, branch);
ALTER TABLE ONLY SCHEMA.bells
    ADD CONSTRAINT bells_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.budget_words
    ADD CONSTRAINT budget_words_pkey PRIMARY KEY (budget, height, state);
ALTER TABLE ONLY SCHEMA.checks
    ADD CONSTRAINT checks_pkey PRIMARY KEY (repo, commit_id, name);
ALTER TABLE ONLY SCHEMA.execs
    ADD CONSTRAINT execs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.forge_readings
    ADD CONSTRAINT forge_readings_pkey PRIMARY KEY (repo);
ALTER TABLE ONLY SCHEMA.hands
    ADD CONSTRAINT hands_pkey PRIMARY KEY (task_id);
ALTER TABLE ONLY SCHEMA.heard_words
    ADD CONSTRAINT heard_words_pkey PRIMARY KEY (repo, number, word);
ALTER TABLE ONLY SCHEMA.hooks
    ADD CONSTRAINT hooks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (bearer, key);
ALTER TABLE ONLY SCHEMA.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (cursor);
ALTER TABLE ONLY SCHEMA.keys
    ADD CONSTRAINT keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY SCHEMA.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (name);
ALTER TABLE ONLY SCHEMA.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY SCHEMA.mark
    ADD CONSTRAINT mark_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY SCHEMA.moments
    ADD CONSTRAINT moments_pkey PRIMARY KEY (session_id, seq);
ALTER TABLE ONLY SCHEMA.outbound_secrets
    ADD CONSTRAINT outbound_secrets_name_key UNIQUE (name);
ALTER TABLE ONLY SCHEMA.outbound_secrets
    ADD CONSTRAINT outbound_secrets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.pull_numbers
    ADD CONSTRAINT pull_numbers_pkey PRIMARY KEY (repo);
ALTER TABLE ONLY SCHEMA.pull_words
    ADD CONSTRAINT pull_words_pkey PRIMARY KEY (repo, id);
ALTER TABLE ONLY SCHEMA.pulls
    ADD CONSTRAINT pulls_pkey PRIMARY KEY (repo, number);
ALTER TABLE ONLY SCHEMA.pushes
    ADD CONSTRAINT pushes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.repos
    ADD CONSTRAINT repos_pkey PRIMARY KEY (name);
ALTER TABLE ONLY SCHEMA.sandboxes
    ADD CONSTRAINT sandboxes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (repo, name);
ALTER TABLE ONLY SCHEMA.seen_pulls
    ADD CONSTRAINT seen_pulls_pkey PRIMARY KEY (repo, number);
ALTER TABLE ONLY SCHEMA.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.sign_ins
    ADD CONSTRAINT sign_ins_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY SCHEMA.spent_secrets
    ADD CONSTRAINT spent_secrets_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY SCHEMA.task_numbers
    ADD CONSTRAINT task_numbers_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY SCHEMA.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.templates
    ADD CONSTRAINT templates_pkey PRIMARY KEY (name);
ALTER TABLE ONLY SCHEMA.transcript_chunks
    ADD CONSTRAINT transcript_chunks_pkey PRIMARY KEY (exec_id, start);
ALTER TABLE ONLY SCHEMA.transcripts
    ADD CONSTRAINT transcripts_pkey PRIMARY KEY (exec_id);
ALTER TABLE ONLY SCHEMA.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (id);
ALTER TABLE ONLY SCHEMA.volumes
    ADD CONSTRAINT volumes_name_key UNIQUE (name);
ALTER TABLE ONLY SCHEMA.volumes
    ADD CONSTRAINT volumes_pkey PRIMARY KEY (id);
CREATE INDEX audit_of_a_subject ON SCHEMA.audit USING btree (subject, id);
CREATE INDEX bells_of_a_key ON SCHEMA.bells USING btree (key_id);
CREATE INDEX execs_of_a_sandbox ON SCHEMA.execs USING btree (sandbox_id, started_at, id);
CREATE INDEX execs_running ON SCHEMA.execs USING btree (node) WHERE (status = 'running'::text);
CREATE INDEX idempotency_age ON SCHEMA.idempotency USING btree (created_at);
CREATE INDEX pull_words_of_a_pull ON SCHEMA.pull_words USING btree (repo, number, kind, id);
CREATE INDEX pulls_by_change ON SCHEMA.pulls USING btree (repo, updated_at);
CREATE INDEX pulls_by_head ON SCHEMA.pulls USING btree (repo, head);
CREATE INDEX pulls_open ON SCHEMA.pulls USING btree (repo) WHERE (is_open = 1);
CREATE INDEX pushes_of_a_repo ON SCHEMA.pushes USING btree (repo, at, id);
CREATE INDEX pushes_of_a_task ON SCHEMA.pushes USING btree (task_id, at, id) WHERE (task_id IS NOT NULL);
CREATE INDEX sandboxes_due ON SCHEMA.sandboxes USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX sandboxes_gone ON SCHEMA.sandboxes USING btree (created_at, id) WHERE (phase = 'gone'::text);
CREATE INDEX sandboxes_living ON SCHEMA.sandboxes USING btree (created_at, id) WHERE (phase <> 'gone'::text);
CREATE INDEX seen_pulls_by_base ON SCHEMA.seen_pulls USING btree (repo, base) WHERE (is_over = 0);
CREATE INDEX seen_pulls_by_head ON SCHEMA.seen_pulls USING btree (repo, head);
CREATE INDEX seen_pulls_by_time ON SCHEMA.seen_pulls USING btree (created_at, repo, number);
CREATE INDEX sessions_asked ON SCHEMA.sessions USING btree (id) WHERE (is_asked = 1);
CREATE INDEX sessions_by_age ON SCHEMA.sessions USING btree (created_at, id);
CREATE INDEX sessions_by_sandbox ON SCHEMA.sessions USING btree (sandbox_id) WHERE (sandbox_id IS NOT NULL);
CREATE INDEX sign_ins_expire ON SCHEMA.sign_ins USING btree (expires_at);
CREATE INDEX tasks_by_branch ON SCHEMA.tasks USING btree (repo, branch);
CREATE INDEX tasks_by_phase ON SCHEMA.tasks USING btree (phase, priority, id);
CREATE INDEX tasks_by_session ON SCHEMA.tasks USING btree (session_id);
CREATE INDEX tasks_due ON SCHEMA.tasks USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX transcripts_closed ON SCHEMA.transcripts USING btree (closed_at) WHERE (closed_at IS NOT NULL);
CREATE INDEX usage_by_time ON SCHEMA.usage USING btree (at);
CREATE INDEX usage_of_a_session ON SCHEMA.usage USING btree (session_id) WHERE (session_id IS NOT NULL);
CREATE INDEX usage_of_a_task ON SCHEMA.usage USING btree (task_id, cost) WHERE (task_id IS NOT NULL);
CREATE TRIGGER audit_keeps_its_lines BEFORE DELETE OR UPDATE OR TRUNCATE ON SCHEMA.audit FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.audit_is_append_only();
ALTER TABLE ONLY SCHEMA.sign_ins
    ADD CONSTRAINT sign_ins_key_id_fkey FOREIGN KEY (key_id) REFERENCES SCHEMA.keys(id);
ALTER TABLE ONLY SCHEMA.transcript_chunks
    ADD CONSTRAINT transcript_chunks_exec_id_fkey FOREIGN KEY (exec_id) REFERENCES SCHEMA.transcripts(exec_id) ON DELETE CASCADE;
