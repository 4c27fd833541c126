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
CREATE TABLE SCHEMA.nodes (
    id text NOT NULL,
    card text NOT NULL,
    up bigint NOT NULL,
    draining bigint NOT NULL,
    taken_over bigint NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    until bigint NOT NULL
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
INSERT INTO SCHEMA._sqlx_migrations VALUES (1, 'the house', '2026-11-17 23:11:58.954277+00', true, '\x3681eca3c657954c6ce5e34fb0193ac6a2721f36485d9680e144d97f6b1eb44df1db149b6a763fbc6e5a30f92a185ee2', 255392216);
INSERT INTO SCHEMA._sqlx_migrations VALUES (2, 'inside', '2026-11-17 23:11:59.2132+00', true, '\x88965066c8a4ab5186918b23e2f175a1c04db69ca6f72b2cd0e93c4cfe18f0528caaf95a1493ee30f4a8a1f5e0ae8d05', 75958552);
INSERT INTO SCHEMA._sqlx_migrations VALUES (3, 'git', '2026-11-17 23:11:59.293254+00', true, '\xcd528800be607178de992145e8c9bb76fc94ef066d6b57766d566a60f61bc02864a616ce7131430509dc714c0710864b', 54987493);
INSERT INTO SCHEMA._sqlx_migrations VALUES (4, 'secrets and pulls', '2026-11-17 23:11:59.35312+00', true, '\x20020f2527ec3319e3c889ff744dd3b2ad541aab5398037d125d7240b4ed18c90f5d865671237b9a0afe44849845d992', 130581815);
INSERT INTO SCHEMA._sqlx_migrations VALUES (5, 'a mark', '2026-11-17 23:11:59.489271+00', true, '\x79c299170610ee759161155e9fca4195629c83d8ec4808d292c93fb48c0ed9b1324d44c1b5ed254a27c3b5b0e17a8a2b', 27841823);
INSERT INTO SCHEMA._sqlx_migrations VALUES (6, 'work', '2026-11-17 23:11:59.521052+00', true, '\x69843192fdbe1a6a502d11adf52c7b9edd309732d4f3caa5dcb455451d1c9d08ecc9fb718d0539251ab8e967c7ddd3c3', 164199687);
INSERT INTO SCHEMA._sqlx_migrations VALUES (7, 'usage', '2026-11-17 23:11:59.686636+00', true, '\x254ee1d01c347d9a03777139f36b780467a77b5027e8fc7972014a2a22daf8c152214ddadb52c509dcc7626af0b68944', 136186138);
INSERT INTO SCHEMA._sqlx_migrations VALUES (8, 'pulls', '2026-11-17 23:11:59.836914+00', true, '\xc9692924a0f08306890a2161eea95e11b977b10d41a2dab6db473d9c5922b35a965091bb0e19f3b751eccd5bb0716077', 163999710);
INSERT INTO SCHEMA._sqlx_migrations VALUES (9, 'volumes', '2026-11-17 23:12:00.00225+00', true, '\x137e7a1abe3e1184de662111fc991eaf28d5d85a0a42c323ae6193e98302c8e5c90ee5c5e100f675bef7391614608747', 62923030);
INSERT INTO SCHEMA._sqlx_migrations VALUES (11, 'work more', '2026-11-17 23:12:00.067053+00', true, '\xc2e3f6002df1012378a45b76640bc150cfe4d7f67910eb67d462e5b4430ee8e8a96991d00e9458c479416722f85e7c67', 22035240);
INSERT INTO SCHEMA._sqlx_migrations VALUES (12, 'board', '2026-11-17 23:12:00.097131+00', true, '\xb9cd8810fb71d13020d97a7ff72ee0024e9f4ae32413765f94a0abbb2ad65c502a52852632a6187f853ef8e8d8c9383e', 36032279);
INSERT INTO SCHEMA._sqlx_migrations VALUES (16, 'nodes', '2026-11-17 23:12:00.137068+00', true, '\x87d64ee2dcdc96450c1edeabea87edc8ff3bf2a6604610c1d326f4f40663b9b730e1cd14595480844df9642bb101b8ad', 24140816);
INSERT INTO SCHEMA.agents VALUES ('slow', '{"name":"slow","dialect":"shell","command":"sleep 1","env":{},"model":null,"template":null,"at_once":null,"mcp":false,"built_in":false,"created_at":"2026-11-17T23:12:01.658224Z","updated_at":"2026-11-17T23:12:01.658224Z","revision":1}');
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (1, 1794957120482946, NULL, 'carrel', NULL, 'key.create', 'key_26a7fb9619508b52', NULL, 'done', 'The admin key of this data directory.');
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (2, 1794957120507897, 'key_26a7fb9619508b52', 'admin', 'admin', 'sign_in.link', 'key_26a7fb9619508b52', NULL, 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (3, 1794957121308020, 'key_26a7fb9619508b52', 'admin', 'admin', 'key.create', 'key_0f5b17ae98d8b77a', '127.0.0.1', 'done', 'Ada (member)');
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (4, 1794957121459028, 'key_26a7fb9619508b52', 'admin', 'admin', 'repo.add', 'own', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (5, 1794957121658959, 'key_26a7fb9619508b52', 'admin', 'admin', 'agent.add', 'slow', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (6, 1794957121990871, 'key_26a7fb9619508b52', 'admin', 'admin', 'task.create', '1', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (7, 1794957122132039, 'key_26a7fb9619508b52', 'admin', 'admin', 'task.create', '2', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (8, 1794957122187267, 'key_26a7fb9619508b52', 'admin', 'admin', 'session.create', 'ses_516beac846219558', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (9, 1794957122189790, 'key_26a7fb9619508b52', 'carrel', 'admin', 'sandbox.create', 'ity90y82obxwtxlj1vkq', NULL, 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (10, 1794957122233176, 'key_26a7fb9619508b52', 'admin', 'admin', 'sandbox.create', 'ihe9vprzmhc7qzvi35nq', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.audit OVERRIDING SYSTEM VALUE VALUES (11, 1794957122346999, 'key_26a7fb9619508b52', 'admin', 'admin', 'hook.write', 'hook_6d1df927799b97a1', '127.0.0.1', 'done', NULL);
INSERT INTO SCHEMA.bases VALUES ('own', 'main', 'b74ecf3b75a1f4f4e1da8fb157469450e4329547');
INSERT INTO SCHEMA.hooks VALUES ('hook_6d1df927799b97a1', '{"id":"hook_6d1df927799b97a1","url":"https://hooks.example.org/","events":["task","pull"],"cursor":17,"failures":0,"next_attempt_at":null,"stopped":null,"last":null,"delivered":0,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.338585Z","revision":1}', 1794957122338585);
INSERT INTO SCHEMA.journal VALUES (1, 1794957120482946, '{"kind":"key","key":{"id":"key_26a7fb9619508b52","name":"admin","role":"admin","agent_id":null,"sandbox_id":null,"prefix":"crl_07bc4d","created_at":"2026-11-17T23:12:00.478626Z","created_by":null,"last_used_at":null,"expires_at":null,"revoked_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (2, 1794957121308020, '{"kind":"key","key":{"id":"key_0f5b17ae98d8b77a","name":"Ada","role":"member","agent_id":null,"sandbox_id":null,"prefix":"crl_e5f903","created_at":"2026-11-17T23:12:01.290679Z","created_by":"key_26a7fb9619508b52","last_used_at":null,"expires_at":null,"revoked_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (3, 1794957121459028, '{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":null,"head":null,"merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.459028Z","updated_at":"2026-11-17T23:12:01.459028Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (4, 1794957121602962, '{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":"main","head":null,"merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":"2026-11-17T23:12:01.592433Z","created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.459028Z","updated_at":"2026-11-17T23:12:01.602962Z","revision":2}}');
INSERT INTO SCHEMA.journal VALUES (5, 1794957121658959, '{"kind":"agent","agent":{"name":"slow","dialect":"shell","about":"Runs a command with the prompt on its standard input and in CARREL_PROMPT.","command":"sleep 1","env_names":[],"model":null,"template":null,"at_once":null,"built_in":false,"found":true}}');
INSERT INTO SCHEMA.journal VALUES (6, 1794957121942984, '{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":"main","head":"b74ecf3b75a1f4f4e1da8fb157469450e4329547","merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":"2026-11-17T23:12:01.939228Z","created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.459028Z","updated_at":"2026-11-17T23:12:01.942984Z","revision":3}}');
INSERT INTO SCHEMA.journal VALUES (7, 1794957121990871, '{"kind":"moment","session_id":"ses_d9255d8117dae877","agent":"slow","task_id":1,"moment":{"seq":1,"at":"2026-11-17T23:12:01.990871Z","turn":0,"kind":"message","role":"user","text":"First card"}}');
INSERT INTO SCHEMA.journal VALUES (8, 1794957121990871, '{"kind":"session","session":{"id":"ses_d9255d8117dae877","agent":"slow","repo":"own","task_id":1,"title":"First card","phase":"open","sandbox_id":null,"idle_s":null,"meta":{},"busy":true,"turns":0,"last_seq":1,"cost_usd":0.0,"note":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.990871Z","updated_at":"2026-11-17T23:12:01.990871Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (9, 1794957121990871, '{"kind":"task","task":{"id":1,"repo":"own","title":"First card","prompt":"First card","agent":"slow","base":"main","base_commit":null,"branch":"task-1","priority":3,"labels":["one"],"depends_on":[],"isolation":null,"network":{"mode":"none","allow":[]},"budget_usd":null,"want":"rest","phase":"backlog","session_id":"ses_d9255d8117dae877","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"cost_usd":0.0,"doing":null,"fork_of":null,"score":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.990871Z","updated_at":"2026-11-17T23:12:01.990871Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (10, 1794957122132039, '{"kind":"moment","session_id":"ses_f8acbe8b253169d5","agent":"slow","task_id":2,"moment":{"seq":1,"at":"2026-11-17T23:12:02.132039Z","turn":0,"kind":"message","role":"user","text":"Second card"}}');
INSERT INTO SCHEMA.journal VALUES (11, 1794957122132039, '{"kind":"session","session":{"id":"ses_f8acbe8b253169d5","agent":"slow","repo":"own","task_id":2,"title":"Second card","phase":"open","sandbox_id":null,"idle_s":null,"meta":{},"busy":true,"turns":0,"last_seq":1,"cost_usd":0.0,"note":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.132039Z","updated_at":"2026-11-17T23:12:02.132039Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (12, 1794957122132039, '{"kind":"task","task":{"id":2,"repo":"own","title":"Second card","prompt":"Second card","agent":"slow","base":"main","base_commit":null,"branch":"task-2","priority":0,"labels":[],"depends_on":[{"task_id":1,"until":"merged"}],"isolation":null,"network":{"mode":"none","allow":[]},"budget_usd":null,"want":"rest","phase":"backlog","session_id":"ses_f8acbe8b253169d5","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"cost_usd":0.0,"doing":null,"fork_of":null,"score":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.132039Z","updated_at":"2026-11-17T23:12:02.132039Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (13, 1794957122187267, '{"kind":"session","session":{"id":"ses_516beac846219558","agent":"slow","repo":null,"task_id":null,"title":"A talk","phase":"open","sandbox_id":"ity90y82obxwtxlj1vkq","idle_s":300,"meta":{},"busy":false,"turns":0,"last_seq":0,"cost_usd":0.0,"note":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.186963Z","updated_at":"2026-11-17T23:12:02.187267Z","revision":1}}');
INSERT INTO SCHEMA.journal VALUES (14, 1794957122189790, '{"kind":"sandbox","sandbox":{"id":"ity90y82obxwtxlj1vkq","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","node":"node_49a0d1d160a48cad","isolation":"none","agent_id":"slow","task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":2592000,"auto_pause":true,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.18979Z","updated_at":"2026-11-17T23:12:02.18979Z","ready_at":null,"expires_at":"2026-12-17T23:12:02.18979Z","auto_resume":true,"idle_s":300,"ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (15, 1794957122223427, '{"kind":"sandbox","sandbox":{"id":"ity90y82obxwtxlj1vkq","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","node":"node_49a0d1d160a48cad","isolation":"none","agent_id":"slow","task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":2592000,"auto_pause":true,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.18979Z","updated_at":"2026-11-17T23:12:02.223427Z","ready_at":"2026-11-17T23:12:02.223427Z","expires_at":"2026-12-17T23:12:02.18979Z","auto_resume":true,"idle_s":300,"idle_at":"2026-11-17T23:17:02.223427Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
INSERT INTO SCHEMA.journal VALUES (16, 1794957122233176, '{"kind":"sandbox","sandbox":{"id":"ihe9vprzmhc7qzvi35nq","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","node":"node_49a0d1d160a48cad","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.233176Z","updated_at":"2026-11-17T23:12:02.233176Z","ready_at":null,"expires_at":"2026-11-18T00:12:02.233176Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO SCHEMA.journal VALUES (17, 1794957122251946, '{"kind":"sandbox","sandbox":{"id":"ihe9vprzmhc7qzvi35nq","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","node":"node_49a0d1d160a48cad","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.233176Z","updated_at":"2026-11-17T23:12:02.251946Z","ready_at":"2026-11-17T23:12:02.251946Z","expires_at":"2026-11-18T00:12:02.233176Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
INSERT INTO SCHEMA.keys VALUES ('key_0f5b17ae98d8b77a', 'Ada', 'member', NULL, NULL, 'd15c9bbb77519fa4d37f8ab2540fc5d64b5dac877c5deacfd99257224d34eee4', 'crl_e5f903', 1794957121290679, 'key_26a7fb9619508b52', NULL, NULL, NULL, 1);
INSERT INTO SCHEMA.keys VALUES ('key_26a7fb9619508b52', 'admin', 'admin', NULL, NULL, '7dd465b66da912ae3a7e0989afbd9902b153fbb9adfb051dcc5c8b342fe44276', 'crl_07bc4d', 1794957120478626, NULL, 1794957122325259, NULL, NULL, 1);
INSERT INTO SCHEMA.lanes VALUES ('walk repos', NULL, 1794957135364903, 1, NULL);
INSERT INTO SCHEMA.lanes VALUES ('walk pulls', NULL, 1794957135365015, 1, NULL);
INSERT INTO SCHEMA.lanes VALUES ('hook hook_6d1df927799b97a1', NULL, 1794957137378523, 1, NULL);
INSERT INTO SCHEMA.ledger VALUES (1, 17, 1);
INSERT INTO SCHEMA.mark VALUES (1, '222b667df3f74740');
INSERT INTO SCHEMA.moments VALUES ('ses_d9255d8117dae877', 1, 'message', 'user', 'First card', '{"seq":1,"at":"2026-11-17T23:12:01.990871Z","turn":0,"kind":"message","role":"user","text":"First card"}', 1794957121990871);
INSERT INTO SCHEMA.moments VALUES ('ses_f8acbe8b253169d5', 1, 'message', 'user', 'Second card', '{"seq":1,"at":"2026-11-17T23:12:02.132039Z","turn":0,"kind":"message","role":"user","text":"Second card"}', 1794957122132039);
INSERT INTO SCHEMA.nodes VALUES ('node_49a0d1d160a48cad', '{"address":"http://127.0.0.1:36009","version":"0.1.0","seal":"d9e0909859f9723e","redis":false,"library":"13fd4bd2ce32","cpus":2,"memory_mb":24105,"free_mb":20183}', 0, 0, 0, 1794957120332065, 1794957120425179, 1794957135365363);
INSERT INTO SCHEMA.repos VALUES ('own', NULL, 'ready', 'main', 'b74ecf3b75a1f4f4e1da8fb157469450e4329547', '{"merge":"squash","keep_branches":false,"allow_secrets":false}', NULL, 1794957121939228, 'key_26a7fb9619508b52', 1794957121459028, 1794957121942984, 3);
INSERT INTO SCHEMA.sandboxes VALUES ('ity90y82obxwtxlj1vkq', '{"template":"host","provider":"fake","isolation":"none","agent_id":"slow","task_id":null,"env":{},"metadata":{},"lifetime":2592000,"at_end":"pause","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}', 'fake', 'host', 'slow', NULL, 'ready', 'ready', NULL, 'node_49a0d1d160a48cad', 'key_26a7fb9619508b52', 1794957122189790, 1794957122223427, 1794957122223427, 1797549122189790, NULL, NULL, NULL, 0, NULL, 2, 1794957422223427, NULL, NULL, 1, 1, 300, 1794957422223427, 'frozen', NULL, NULL);
INSERT INTO SCHEMA.sandboxes VALUES ('ihe9vprzmhc7qzvi35nq', '{"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env":{},"metadata":{},"lifetime":3600,"at_end":"destroy","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}', 'fake', 'host', NULL, NULL, 'ready', 'ready', NULL, 'node_49a0d1d160a48cad', 'key_26a7fb9619508b52', 1794957122233176, 1794957122251946, 1794957122251946, 1794960722233176, NULL, NULL, NULL, 0, NULL, 2, 1794960722233176, NULL, NULL, 1, 0, NULL, NULL, 'frozen', NULL, NULL);
INSERT INTO SCHEMA.secrets VALUES ('', 'hook-6d1df927799b97a1', 'd9e0909859f9723e', '\x012ffb604728135a4a5b9969ee00dcace587c510bcb3fc077c043e1eed655feedc85e33150d86efa1131779df136389352934b63e56e740cfd79022007847d9e894b5b78a6aeb265dc4bfb6fa33a02c52a2b2078b9b1a6efb6702cca55aca781cdbbdc', 1794957122346999, 1794957122346999, 'key_26a7fb9619508b52', 1);
INSERT INTO SCHEMA.sessions VALUES ('ses_d9255d8117dae877', 'open', 'slow', 'own', 1, NULL, 1, '{"id":"ses_d9255d8117dae877","agent":"slow","repo":"own","task_id":1,"title":"First card","phase":"open","sandbox_id":null,"idle":null,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":1,"delivered":0,"asked":1,"spent_micros":0,"counted":false,"saved":null,"laid":null,"closing":false,"note":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.990871Z","updated_at":"2026-11-17T23:12:01.990871Z","revision":1}', 1794957121990871, 1);
INSERT INTO SCHEMA.sessions VALUES ('ses_f8acbe8b253169d5', 'open', 'slow', 'own', 2, NULL, 1, '{"id":"ses_f8acbe8b253169d5","agent":"slow","repo":"own","task_id":2,"title":"Second card","phase":"open","sandbox_id":null,"idle":null,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":1,"delivered":0,"asked":1,"spent_micros":0,"counted":false,"saved":null,"laid":null,"closing":false,"note":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.132039Z","updated_at":"2026-11-17T23:12:02.132039Z","revision":1}', 1794957122132039, 1);
INSERT INTO SCHEMA.sessions VALUES ('ses_516beac846219558', 'open', 'slow', NULL, NULL, 'ity90y82obxwtxlj1vkq', 0, '{"id":"ses_516beac846219558","agent":"slow","repo":null,"task_id":null,"title":"A talk","phase":"open","sandbox_id":"ity90y82obxwtxlj1vkq","idle":300,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":0,"delivered":0,"asked":0,"spent_micros":0,"counted":false,"saved":null,"laid":"ity90y82obxwtxlj1vkq","closing":false,"note":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.186963Z","updated_at":"2026-11-17T23:12:02.187267Z","revision":1}', 1794957122186963, 1);
INSERT INTO SCHEMA.sign_ins VALUES ('8e00b83ea92c203dd4283d72c55b3a3fe840339e1bf321b05a7c1080a7c49b53', 'key_26a7fb9619508b52', 'link', 1794957120507897, 1794960720495435);
INSERT INTO SCHEMA.task_numbers VALUES (1, 2);
INSERT INTO SCHEMA.tasks VALUES (1, 'own', 'slow', 'backlog', 'rest', 3, 'task-1', 'ses_d9255d8117dae877', NULL, '{"id":1,"repo":"own","title":"First card","prompt":"First card","agent":"slow","base":"main","base_commit":null,"branch":"task-1","priority":3,"claims":[],"labels":["one"],"depends_on":[],"isolation":null,"provider":null,"network":{"mode":"none","allow":[]},"budget_micros":null,"want":"rest","phase":"backlog","session_id":"ses_d9255d8117dae877","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"spent_micros":0,"counted":false,"doing":null,"nudges":0,"rebases":0,"told":{},"fork_of":null,"score":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:01.990871Z","updated_at":"2026-11-17T23:12:01.990871Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}', NULL, NULL, NULL, 0, 1794957121990871, 1);
INSERT INTO SCHEMA.tasks VALUES (2, 'own', 'slow', 'backlog', 'rest', 0, 'task-2', 'ses_f8acbe8b253169d5', NULL, '{"id":2,"repo":"own","title":"Second card","prompt":"Second card","agent":"slow","base":"main","base_commit":null,"branch":"task-2","priority":0,"claims":[],"labels":[],"depends_on":[{"task_id":1,"until":"merged"}],"isolation":null,"provider":null,"network":{"mode":"none","allow":[]},"budget_micros":null,"want":"rest","phase":"backlog","session_id":"ses_f8acbe8b253169d5","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"spent_micros":0,"counted":false,"doing":null,"nudges":0,"rebases":0,"told":{},"fork_of":null,"score":null,"created_by":"key_26a7fb9619508b52","created_at":"2026-11-17T23:12:02.132039Z","updated_at":"2026-11-17T23:12:02.132039Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}', NULL, NULL, NULL, 0, 1794957122132039, 1);
SELECT pg_catalog.setval('SCHEMA.audit_id_seq', 11, true);
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
ALTER TABLE ONLY SCHEMA.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
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
CREATE INDEX sandboxes_at_home ON SCHEMA.sandboxes USING btree (home) WHERE (home IS NOT NULL);
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
