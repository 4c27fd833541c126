CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'the house','2026-11-17 23:11:57',1,X'FCD86010A39A0DBF24E5BB3A7A3D65904787CA012B84BFC146A8BFBB9C84FA395E05C7A76A66E52DB31A530359360E73',13828369);
INSERT INTO "_sqlx_migrations" VALUES(2,'inside','2026-11-17 23:11:57',1,X'88965066C8A4AB5186918B23E2F175A1C04DB69CA6F72B2CD0E93C4CFE18F0528CAAF95A1493EE30F4A8A1F5E0AE8D05',2507975);
INSERT INTO "_sqlx_migrations" VALUES(3,'git','2026-11-17 23:11:57',1,X'CD528800BE607178DE992145E8C9BB76FC94EF066D6B57766D566A60F61BC02864A616CE7131430509DC714C0710864B',773409);
INSERT INTO "_sqlx_migrations" VALUES(4,'secrets and pulls','2026-11-17 23:11:57',1,X'74C9561E235FCAF8D2297E33DB5509F177964CC51B3BAE93B395CCB45F3EA02B014BD2E6E446477CD979C640EBCF8446',1104640);
INSERT INTO "_sqlx_migrations" VALUES(5,'a mark','2026-11-17 23:11:57',1,X'3D7E86633F9D1A17698656DDD86C75C6C9CC32750652FE0B82F14546CDAB7F84DE4347FAECB243B55429E2B732F2592F',521014);
INSERT INTO "_sqlx_migrations" VALUES(6,'work','2026-11-17 23:11:57',1,X'69843192FDBE1A6A502D11ADF52C7B9EDD309732D4F3CAA5DCB455451D1C9D08ECC9FB718D0539251AB8E967C7DDD3C3',2713591);
INSERT INTO "_sqlx_migrations" VALUES(7,'usage','2026-11-17 23:11:57',1,X'3B860A0289750E2C40ACB535ED2BB2F90209E235BBA8F91E33822A0EFFE18F815143607D8FB6723683E63F96E3FC086A',1024181);
INSERT INTO "_sqlx_migrations" VALUES(8,'pulls','2026-11-17 23:11:57',1,X'C9692924A0F08306890A2161EEA95E11B977B10D41A2DAB6DB473D9C5922B35A965091BB0E19F3B751ECCD5BB0716077',1336905);
INSERT INTO "_sqlx_migrations" VALUES(9,'volumes','2026-11-17 23:11:57',1,X'184F99E09FC449DCC1F95BF89AE8E6BF2D6D2AD9CC417664FCDA0D5262680D54053252E6E6976879BC748FD2FF2642F4',4166358);
INSERT INTO "_sqlx_migrations" VALUES(11,'work more','2026-11-17 23:11:57',1,X'C2E3F6002DF1012378A45B76640BC150CFE4D7F67910EB67D462E5B4430EE8E8A96991D00E9458C479416722F85E7C67',2950673);
INSERT INTO "_sqlx_migrations" VALUES(12,'board','2026-11-17 23:11:57',1,X'B9CD8810FB71D13020D97A7FF72EE0024E9F4AE32413765F94A0ABBB2AD65C502A52852632A6187F853EF8E8D8C9383E',3845182);
INSERT INTO "_sqlx_migrations" VALUES(16,'nodes','2026-11-17 23:11:57',1,X'87D64EE2DCDC96450C1EDEABEA87EDC8FF3BF2A6604610C1D326F4F40663B9B730E1CD14595480844DF9642BB101B8AD',5827275);
CREATE TABLE agents (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
INSERT INTO "agents" VALUES('slow','{"name":"slow","dialect":"shell","command":"sleep 1","env":{},"model":null,"template":null,"at_once":null,"mcp":false,"built_in":false,"created_at":"2026-11-17T23:11:57.934806Z","updated_at":"2026-11-17T23:11:57.934806Z","revision":1}');
CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      BIGINT NOT NULL,
    key_id  TEXT,
    name    TEXT   NOT NULL,
    role    TEXT,
    action  TEXT   NOT NULL,
    subject TEXT,
    origin  TEXT,
    outcome TEXT   NOT NULL,
    detail  TEXT
);
INSERT INTO "audit" VALUES(1,1794957117369638,NULL,'carrel',NULL,'key.create','key_6df211933773fafe',NULL,'done','The admin key of this data directory.');
INSERT INTO "audit" VALUES(2,1794957117375983,'key_6df211933773fafe','admin','admin','sign_in.link','key_6df211933773fafe',NULL,'done',NULL);
INSERT INTO "audit" VALUES(3,1794957117789091,'key_6df211933773fafe','admin','admin','key.create','key_921b286e871283f4','127.0.0.1','done','Ada (member)');
INSERT INTO "audit" VALUES(4,1794957117821108,'key_6df211933773fafe','admin','admin','repo.add','own','127.0.0.1','done',NULL);
INSERT INTO "audit" VALUES(5,1794957117935141,'key_6df211933773fafe','admin','admin','agent.add','slow','127.0.0.1','done',NULL);
INSERT INTO "audit" VALUES(6,1794957118069026,'key_6df211933773fafe','admin','admin','task.create','1','127.0.0.1','done',NULL);
INSERT INTO "audit" VALUES(7,1794957118082212,'key_6df211933773fafe','admin','admin','task.create','2','127.0.0.1','done',NULL);
INSERT INTO "audit" VALUES(8,1794957118096932,'key_6df211933773fafe','admin','admin','session.create','ses_c6c9759ebfe0b957','127.0.0.1','done',NULL);
INSERT INTO "audit" VALUES(9,1794957118101575,'key_6df211933773fafe','carrel','admin','sandbox.create','iygzo1f1hrqy5hs6wb8u',NULL,'done',NULL);
INSERT INTO "audit" VALUES(10,1794957118113680,'key_6df211933773fafe','admin','admin','sandbox.create','il7zzsel804p9kkh89l5','127.0.0.1','done',NULL);
INSERT INTO "audit" VALUES(11,1794957118126524,'key_6df211933773fafe','admin','admin','hook.write','hook_a3a443a720cc2097','127.0.0.1','done',NULL);
CREATE TABLE bases (
    repo      TEXT NOT NULL,
    branch    TEXT NOT NULL,
    commit_id TEXT,
    PRIMARY KEY (repo, branch)
);
INSERT INTO "bases" VALUES('own','main','3d08e182135071b16337ba8fa7f2503f38bb6e75');
CREATE TABLE bells (
    id         TEXT   PRIMARY KEY, -- a print of the address
    key_id     TEXT   NOT NULL,    -- whose browser it is
    endpoint   TEXT   NOT NULL,
    p256dh     TEXT   NOT NULL,
    auth       TEXT   NOT NULL,
    failures   BIGINT NOT NULL,    -- in a row
    created_at BIGINT NOT NULL
);
CREATE TABLE budget_words (
    budget TEXT   NOT NULL, -- `task 42`, `day 2026-11-16`
    height BIGINT NOT NULL,
    state  TEXT   NOT NULL, -- warning or spent
    at     BIGINT NOT NULL,
    PRIMARY KEY (budget, height, state)
);
CREATE TABLE checks (
    repo      TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (repo, commit_id, name)
);
CREATE TABLE execs (
    id         TEXT   PRIMARY KEY,
    sandbox_id TEXT   NOT NULL,
    command    TEXT   NOT NULL,
    username   TEXT,
    cwd        TEXT,
    background BIGINT NOT NULL,
    terminal   BIGINT NOT NULL,
    pid        BIGINT,
    status     TEXT   NOT NULL,
    exit_code  BIGINT,
    timed_out  BIGINT NOT NULL,
    note       TEXT,
    created_by TEXT   NOT NULL,
    node       TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT
);
CREATE TABLE forge_readings (
    repo TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
CREATE TABLE hands (
    task_id BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    rung    BIGINT NOT NULL -- 1 when everybody was told
);
CREATE TABLE heard_words (
    repo    TEXT   NOT NULL,
    number  BIGINT NOT NULL,
    word    TEXT   NOT NULL,
    version TEXT   NOT NULL,
    PRIMARY KEY (repo, number, word)
);
CREATE TABLE hooks (
    id         TEXT   PRIMARY KEY,
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
INSERT INTO "hooks" VALUES('hook_a3a443a720cc2097','{"id":"hook_a3a443a720cc2097","url":"https://hooks.example.org/","events":["task","pull"],"cursor":17,"failures":0,"next_attempt_at":null,"stopped":null,"last":null,"delivered":0,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.126336Z","revision":1}',1794957118126336);
CREATE TABLE idempotency (
    bearer      TEXT   NOT NULL,
    key         TEXT   NOT NULL,
    fingerprint TEXT   NOT NULL,
    subject     TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (bearer, key)
);
CREATE TABLE journal (
    cursor BIGINT PRIMARY KEY,
    at     BIGINT NOT NULL,
    body   TEXT   NOT NULL
);
INSERT INTO "journal" VALUES(1,1794957117369638,'{"kind":"key","key":{"id":"key_6df211933773fafe","name":"admin","role":"admin","agent_id":null,"sandbox_id":null,"prefix":"crl_e33998","created_at":"2026-11-17T23:11:57.328486Z","created_by":null,"last_used_at":null,"expires_at":null,"revoked_at":null,"revision":1}}');
INSERT INTO "journal" VALUES(2,1794957117789091,'{"kind":"key","key":{"id":"key_921b286e871283f4","name":"Ada","role":"member","agent_id":null,"sandbox_id":null,"prefix":"crl_e5ad66","created_at":"2026-11-17T23:11:57.777848Z","created_by":"key_6df211933773fafe","last_used_at":null,"expires_at":null,"revoked_at":null,"revision":1}}');
INSERT INTO "journal" VALUES(3,1794957117821108,'{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":null,"head":null,"merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:57.821108Z","updated_at":"2026-11-17T23:11:57.821108Z","revision":1}}');
INSERT INTO "journal" VALUES(4,1794957117880406,'{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":"main","head":null,"merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":"2026-11-17T23:11:57.880184Z","created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:57.821108Z","updated_at":"2026-11-17T23:11:57.880406Z","revision":2}}');
INSERT INTO "journal" VALUES(5,1794957117935141,'{"kind":"agent","agent":{"name":"slow","dialect":"shell","about":"Runs a command with the prompt on its standard input and in CARREL_PROMPT.","command":"sleep 1","env_names":[],"model":null,"template":null,"at_once":null,"built_in":false,"found":true}}');
INSERT INTO "journal" VALUES(6,1794957118061580,'{"kind":"repo","repo":{"name":"own","source":null,"phase":"ready","default_branch":"main","head":"3d08e182135071b16337ba8fa7f2503f38bb6e75","merge":"squash","keep_branches":false,"allow_secrets":false,"note":null,"synced_at":"2026-11-17T23:11:58.061395Z","created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:57.821108Z","updated_at":"2026-11-17T23:11:58.06158Z","revision":3}}');
INSERT INTO "journal" VALUES(7,1794957118069026,'{"kind":"moment","session_id":"ses_2c8f98af82a72c7e","agent":"slow","task_id":1,"moment":{"seq":1,"at":"2026-11-17T23:11:58.069026Z","turn":0,"kind":"message","role":"user","text":"First card"}}');
INSERT INTO "journal" VALUES(8,1794957118069026,'{"kind":"session","session":{"id":"ses_2c8f98af82a72c7e","agent":"slow","repo":"own","task_id":1,"title":"First card","phase":"open","sandbox_id":null,"idle_s":null,"meta":{},"busy":true,"turns":0,"last_seq":1,"cost_usd":0.0,"note":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.069026Z","updated_at":"2026-11-17T23:11:58.069026Z","revision":1}}');
INSERT INTO "journal" VALUES(9,1794957118069026,'{"kind":"task","task":{"id":1,"repo":"own","title":"First card","prompt":"First card","agent":"slow","base":"main","base_commit":null,"branch":"task-1","priority":3,"labels":["one"],"depends_on":[],"isolation":null,"network":{"mode":"none","allow":[]},"budget_usd":null,"want":"rest","phase":"backlog","session_id":"ses_2c8f98af82a72c7e","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"cost_usd":0.0,"doing":null,"fork_of":null,"score":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.069026Z","updated_at":"2026-11-17T23:11:58.069026Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO "journal" VALUES(10,1794957118082212,'{"kind":"moment","session_id":"ses_501630c4f168cecf","agent":"slow","task_id":2,"moment":{"seq":1,"at":"2026-11-17T23:11:58.082212Z","turn":0,"kind":"message","role":"user","text":"Second card"}}');
INSERT INTO "journal" VALUES(11,1794957118082212,'{"kind":"session","session":{"id":"ses_501630c4f168cecf","agent":"slow","repo":"own","task_id":2,"title":"Second card","phase":"open","sandbox_id":null,"idle_s":null,"meta":{},"busy":true,"turns":0,"last_seq":1,"cost_usd":0.0,"note":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.082212Z","updated_at":"2026-11-17T23:11:58.082212Z","revision":1}}');
INSERT INTO "journal" VALUES(12,1794957118082212,'{"kind":"task","task":{"id":2,"repo":"own","title":"Second card","prompt":"Second card","agent":"slow","base":"main","base_commit":null,"branch":"task-2","priority":0,"labels":[],"depends_on":[{"task_id":1,"until":"merged"}],"isolation":null,"network":{"mode":"none","allow":[]},"budget_usd":null,"want":"rest","phase":"backlog","session_id":"ses_501630c4f168cecf","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"cost_usd":0.0,"doing":null,"fork_of":null,"score":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.082212Z","updated_at":"2026-11-17T23:11:58.082212Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO "journal" VALUES(13,1794957118096932,'{"kind":"session","session":{"id":"ses_c6c9759ebfe0b957","agent":"slow","repo":null,"task_id":null,"title":"A talk","phase":"open","sandbox_id":"iygzo1f1hrqy5hs6wb8u","idle_s":300,"meta":{},"busy":false,"turns":0,"last_seq":0,"cost_usd":0.0,"note":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.095425Z","updated_at":"2026-11-17T23:11:58.096932Z","revision":1}}');
INSERT INTO "journal" VALUES(14,1794957118101575,'{"kind":"sandbox","sandbox":{"id":"iygzo1f1hrqy5hs6wb8u","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","node":"node_e0cc1d418627829b","isolation":"none","agent_id":"slow","task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":2592000,"auto_pause":true,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.101575Z","updated_at":"2026-11-17T23:11:58.101575Z","ready_at":null,"expires_at":"2026-12-17T23:11:58.101575Z","auto_resume":true,"idle_s":300,"ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO "journal" VALUES(15,1794957118103709,'{"kind":"sandbox","sandbox":{"id":"iygzo1f1hrqy5hs6wb8u","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","node":"node_e0cc1d418627829b","isolation":"none","agent_id":"slow","task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":2592000,"auto_pause":true,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.101575Z","updated_at":"2026-11-17T23:11:58.103709Z","ready_at":"2026-11-17T23:11:58.103709Z","expires_at":"2026-12-17T23:11:58.101575Z","auto_resume":true,"idle_s":300,"idle_at":"2026-11-17T23:16:58.103709Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
INSERT INTO "journal" VALUES(16,1794957118113680,'{"kind":"sandbox","sandbox":{"id":"il7zzsel804p9kkh89l5","phase":"requested","want":"ready","status":"starting","note":null,"template":"host","provider":"fake","node":"node_e0cc1d418627829b","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.11368Z","updated_at":"2026-11-17T23:11:58.11368Z","ready_at":null,"expires_at":"2026-11-18T00:11:58.11368Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":1}}');
INSERT INTO "journal" VALUES(17,1794957118115490,'{"kind":"sandbox","sandbox":{"id":"il7zzsel804p9kkh89l5","phase":"ready","want":"ready","status":"running","note":null,"template":"host","provider":"fake","node":"node_e0cc1d418627829b","isolation":"none","agent_id":null,"task_id":null,"env_names":[],"metadata":{},"limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]},"timeout_s":3600,"auto_pause":false,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.11368Z","updated_at":"2026-11-17T23:11:58.11549Z","ready_at":"2026-11-17T23:11:58.11549Z","expires_at":"2026-11-18T00:11:58.11368Z","ended":null,"attempts":0,"next_attempt_at":null,"revision":2}}');
CREATE TABLE keys (
    id           TEXT   PRIMARY KEY,
    name         TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    agent_id     TEXT,
    sandbox_id   TEXT,
    hash         TEXT   NOT NULL UNIQUE,
    prefix       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    created_by   TEXT,
    last_used_at BIGINT,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    revision     BIGINT NOT NULL
);
INSERT INTO "keys" VALUES('key_6df211933773fafe','admin','admin',NULL,NULL,'1c83d2f6e7e564199cdcb88ac33437a91b05fb1d03b868ad736a6b07e569fb0d','crl_e33998',1794957117328486,NULL,1794957118125571,NULL,NULL,1);
INSERT INTO "keys" VALUES('key_921b286e871283f4','Ada','member',NULL,NULL,'8db35bb9e52e63438f08b47994e5c8ef8e0f18eaad1df4399cba10f719f03bcb','crl_e5ad66',1794957117777848,'key_6df211933773fafe',NULL,NULL,NULL,1);
CREATE TABLE lanes (
    name       TEXT   PRIMARY KEY,
    owner      TEXT,
    until      BIGINT NOT NULL,
    token      BIGINT NOT NULL,
    sandbox_id TEXT            -- where the holder runs its check
);
INSERT INTO "lanes" VALUES('walk repos',NULL,1794957132313119,1,NULL);
INSERT INTO "lanes" VALUES('walk pulls',NULL,1794957132313480,1,NULL);
INSERT INTO "lanes" VALUES('hook hook_a3a443a720cc2097',NULL,1794957133129414,1,NULL);
CREATE TABLE ledger (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    head     BIGINT NOT NULL, -- cursor of the newest entry
    oldest   BIGINT NOT NULL  -- cursor of the oldest entry that is kept
);
INSERT INTO "ledger" VALUES(1,17,1);
CREATE TABLE mark (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    text     TEXT   NOT NULL
);
INSERT INTO "mark" VALUES(1,'974d416d90029018');
CREATE TABLE moments (
    session_id TEXT   NOT NULL,
    seq        BIGINT NOT NULL,
    kind       TEXT   NOT NULL,
    role       TEXT   NOT NULL,
    text       TEXT   NOT NULL,
    body       TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (session_id, seq)
);
INSERT INTO "moments" VALUES('ses_2c8f98af82a72c7e',1,'message','user','First card','{"seq":1,"at":"2026-11-17T23:11:58.069026Z","turn":0,"kind":"message","role":"user","text":"First card"}',1794957118069026);
INSERT INTO "moments" VALUES('ses_501630c4f168cecf',1,'message','user','Second card','{"seq":1,"at":"2026-11-17T23:11:58.082212Z","turn":0,"kind":"message","role":"user","text":"Second card"}',1794957118082212);
CREATE TABLE nodes (
    id         TEXT   PRIMARY KEY,
    card       TEXT   NOT NULL, -- what it says of itself
    up         BIGINT NOT NULL, -- 0 when it was stopped in good order
    draining   BIGINT NOT NULL,
    taken_over BIGINT NOT NULL, -- 1 when what was on it was taken up by others
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    until      BIGINT NOT NULL
);
INSERT INTO "nodes" VALUES('node_e0cc1d418627829b','{"address":"http://127.0.0.1:40299","version":"0.1.0","seal":"8477f3ed2ad61c84","redis":false,"library":"c050f9961b6a","cpus":2,"memory_mb":24105,"free_mb":19775}',0,0,0,1794957117305214,1794957117334734,1794957132317129);
CREATE TABLE outbound_secrets (
    id         TEXT   PRIMARY KEY,
    name       TEXT   NOT NULL UNIQUE,
    metadata   TEXT   NOT NULL,
    sealed_by  TEXT   NOT NULL,
    sealed     BLOB   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT   NOT NULL,
    version    BIGINT NOT NULL
);
CREATE TABLE pull_numbers (
    repo  TEXT   PRIMARY KEY,
    pulls BIGINT NOT NULL,
    words BIGINT NOT NULL
);
CREATE TABLE pull_words (
    repo   TEXT   NOT NULL,
    id     BIGINT NOT NULL,
    number BIGINT NOT NULL,
    kind   TEXT   NOT NULL, -- comment or review
    stamp  TEXT,            -- what a comment of ours is known by, so that it is said once
    body   TEXT   NOT NULL,
    PRIMARY KEY (repo, id)
);
CREATE TABLE pulls (
    repo       TEXT   NOT NULL,
    number     BIGINT NOT NULL,
    head       TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    is_open    BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    PRIMARY KEY (repo, number)
);
CREATE TABLE pushes (
    id         TEXT   PRIMARY KEY,
    repo       TEXT   NOT NULL,
    task_id    BIGINT,
    sandbox_id TEXT,
    key_id     TEXT   NOT NULL,
    refs       TEXT   NOT NULL,
    refusal    TEXT,
    at         BIGINT NOT NULL
);
CREATE TABLE repos (
    name           TEXT   PRIMARY KEY,
    source         TEXT,            -- absent for one that lives here; never a secret
    phase          TEXT   NOT NULL,
    default_branch TEXT,
    head           TEXT,
    rules          TEXT   NOT NULL,
    note           TEXT,
    synced_at      BIGINT,
    created_by     TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    revision       BIGINT NOT NULL
);
INSERT INTO "repos" VALUES('own',NULL,'ready','main','3d08e182135071b16337ba8fa7f2503f38bb6e75','{"merge":"squash","keep_branches":false,"allow_secrets":false}',NULL,1794957118061395,'key_6df211933773fafe',1794957117821108,1794957118061580,3);
CREATE TABLE sandboxes (
    id              TEXT   PRIMARY KEY,
    spec            TEXT   NOT NULL,
    provider        TEXT   NOT NULL,
    template        TEXT   NOT NULL,
    agent_id        TEXT,
    task_id         BIGINT,
    want            TEXT   NOT NULL,
    phase           TEXT   NOT NULL,
    note            TEXT,
    home            TEXT,
    created_by      TEXT   NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    ready_at        BIGINT,
    expires_at      BIGINT NOT NULL,
    ended_by        TEXT,
    ended_why       TEXT,
    ended_at        BIGINT,
    attempts        BIGINT NOT NULL,
    next_attempt_at BIGINT,
    revision        BIGINT NOT NULL,
    -- The lease: one owner at a time, told apart from its former selves by a token that only grows.
    due_at          BIGINT,
    lease_owner     TEXT,
    lease_until     BIGINT,
    lease_token     BIGINT NOT NULL
, auto_resume BIGINT NOT NULL DEFAULT 0, idle_s BIGINT, idle_at BIGINT, depth TEXT NOT NULL DEFAULT 'frozen', sleep_asked TEXT, sleep_depth TEXT);
INSERT INTO "sandboxes" VALUES('iygzo1f1hrqy5hs6wb8u','{"template":"host","provider":"fake","isolation":"none","agent_id":"slow","task_id":null,"env":{},"metadata":{},"lifetime":2592000,"at_end":"pause","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}','fake','host','slow',NULL,'ready','ready',NULL,'node_e0cc1d418627829b','key_6df211933773fafe',1794957118101575,1794957118103709,1794957118103709,1797549118101575,NULL,NULL,NULL,0,NULL,2,1794957418103709,NULL,NULL,1,1,300,1794957418103709,'frozen',NULL,NULL);
INSERT INTO "sandboxes" VALUES('il7zzsel804p9kkh89l5','{"template":"host","provider":"fake","isolation":"none","agent_id":null,"task_id":null,"env":{},"metadata":{},"lifetime":3600,"at_end":"destroy","limits":{"cpus":2.0,"memory_mb":2048,"disk_mb":10240,"pids":1024},"network":{"mode":"none","allow":[]}}','fake','host',NULL,NULL,'ready','ready',NULL,'node_e0cc1d418627829b','key_6df211933773fafe',1794957118113680,1794957118115490,1794957118115490,1794960718113680,NULL,NULL,NULL,0,NULL,2,1794960718113680,NULL,NULL,1,0,NULL,NULL,'frozen',NULL,NULL);
CREATE TABLE secrets (
    repo       TEXT   NOT NULL, -- empty for the whole house
    name       TEXT   NOT NULL,
    sealed_by  TEXT   NOT NULL, -- the print of the master key
    sealed     BLOB   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT   NOT NULL,
    revision   BIGINT NOT NULL,
    PRIMARY KEY (repo, name)
);
INSERT INTO "secrets" VALUES('','hook-a3a443a720cc2097','8477f3ed2ad61c84',X'01D94DA865C9B8A5C66BED2C445AE9174B9B80E3BE8878017AAFDC702A456A9D90D1A5AA340A55D38D60CEA8CD2268D83A8B95F140C729ACA7BF0D99662D40F926B9C07A760EE2F3BCCACEDD53C9797CF8CE6FFDC91DA66A09B0CCCA4CB9C3319FD9F0',1794957118126524,1794957118126524,'key_6df211933773fafe',1);
CREATE TABLE seen_pulls (
    repo       TEXT   NOT NULL,
    number     BIGINT NOT NULL,
    head       TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    phase      TEXT   NOT NULL,
    is_over    BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    PRIMARY KEY (repo, number)
);
CREATE TABLE sessions (
    id         TEXT   PRIMARY KEY,
    phase      TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    repo       TEXT,
    task_id    BIGINT,
    sandbox_id TEXT,
    is_asked   BIGINT NOT NULL, -- the agent has something to answer
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    revision   BIGINT NOT NULL
);
INSERT INTO "sessions" VALUES('ses_2c8f98af82a72c7e','open','slow','own',1,NULL,1,'{"id":"ses_2c8f98af82a72c7e","agent":"slow","repo":"own","task_id":1,"title":"First card","phase":"open","sandbox_id":null,"idle":null,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":1,"delivered":0,"asked":1,"spent_micros":0,"counted":false,"saved":null,"laid":null,"closing":false,"note":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.069026Z","updated_at":"2026-11-17T23:11:58.069026Z","revision":1}',1794957118069026,1);
INSERT INTO "sessions" VALUES('ses_501630c4f168cecf','open','slow','own',2,NULL,1,'{"id":"ses_501630c4f168cecf","agent":"slow","repo":"own","task_id":2,"title":"Second card","phase":"open","sandbox_id":null,"idle":null,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":1,"delivered":0,"asked":1,"spent_micros":0,"counted":false,"saved":null,"laid":null,"closing":false,"note":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.082212Z","updated_at":"2026-11-17T23:11:58.082212Z","revision":1}',1794957118082212,1);
INSERT INTO "sessions" VALUES('ses_c6c9759ebfe0b957','open','slow',NULL,NULL,'iygzo1f1hrqy5hs6wb8u',0,'{"id":"ses_c6c9759ebfe0b957","agent":"slow","repo":null,"task_id":null,"title":"A talk","phase":"open","sandbox_id":"iygzo1f1hrqy5hs6wb8u","idle":300,"network":{"mode":"none","allow":[]},"meta":{},"conversation":null,"turn":null,"turns":0,"last_seq":0,"delivered":0,"asked":0,"spent_micros":0,"counted":false,"saved":null,"laid":"iygzo1f1hrqy5hs6wb8u","closing":false,"note":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.095425Z","updated_at":"2026-11-17T23:11:58.096932Z","revision":1}',1794957118095425,1);
CREATE TABLE sign_ins (
    hash       TEXT   PRIMARY KEY,
    key_id     TEXT   NOT NULL REFERENCES keys (id),
    kind       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
INSERT INTO "sign_ins" VALUES('e1dae4f8faed005cb9ef8319ce7b489c9d2ede64c717ab61178712f20efcebcb','key_6df211933773fafe','link',1794957117375983,1794960717375316);
CREATE TABLE spent_secrets (
    hash   TEXT   PRIMARY KEY,
    key_id TEXT   NOT NULL,
    at     BIGINT NOT NULL
);
CREATE TABLE task_numbers (
    only_row BIGINT PRIMARY KEY,
    last     BIGINT NOT NULL
);
INSERT INTO "task_numbers" VALUES(1,2);
CREATE TABLE tasks (
    id          BIGINT PRIMARY KEY,
    repo        TEXT   NOT NULL,
    agent       TEXT   NOT NULL,
    phase       TEXT   NOT NULL,
    want        TEXT   NOT NULL,
    priority    BIGINT NOT NULL,
    branch      TEXT   NOT NULL,
    session_id  TEXT   NOT NULL,
    sandbox_id  TEXT,
    body        TEXT   NOT NULL,
    due_at      BIGINT,
    lease_owner TEXT,
    lease_until BIGINT,
    lease_token BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    revision    BIGINT NOT NULL
);
INSERT INTO "tasks" VALUES(1,'own','slow','backlog','rest',3,'task-1','ses_2c8f98af82a72c7e',NULL,'{"id":1,"repo":"own","title":"First card","prompt":"First card","agent":"slow","base":"main","base_commit":null,"branch":"task-1","priority":3,"claims":[],"labels":["one"],"depends_on":[],"isolation":null,"provider":null,"network":{"mode":"none","allow":[]},"budget_micros":null,"want":"rest","phase":"backlog","session_id":"ses_2c8f98af82a72c7e","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"spent_micros":0,"counted":false,"doing":null,"nudges":0,"rebases":0,"told":{},"fork_of":null,"score":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.069026Z","updated_at":"2026-11-17T23:11:58.069026Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}',NULL,NULL,NULL,0,1794957118069026,1);
INSERT INTO "tasks" VALUES(2,'own','slow','backlog','rest',0,'task-2','ses_501630c4f168cecf',NULL,'{"id":2,"repo":"own","title":"Second card","prompt":"Second card","agent":"slow","base":"main","base_commit":null,"branch":"task-2","priority":0,"claims":[],"labels":[],"depends_on":[{"task_id":1,"until":"merged"}],"isolation":null,"provider":null,"network":{"mode":"none","allow":[]},"budget_micros":null,"want":"rest","phase":"backlog","session_id":"ses_501630c4f168cecf","sandbox_id":null,"head":null,"ahead":0,"behind":0,"pull":null,"conflicts":[],"needs":null,"spent_micros":0,"counted":false,"doing":null,"nudges":0,"rebases":0,"told":{},"fork_of":null,"score":null,"created_by":"key_6df211933773fafe","created_at":"2026-11-17T23:11:58.082212Z","updated_at":"2026-11-17T23:11:58.082212Z","started_at":null,"ended_at":null,"attempts":0,"next_attempt_at":null,"revision":1}',NULL,NULL,NULL,0,1794957118082212,1);
CREATE TABLE templates (
    name       TEXT   PRIMARY KEY,
    provider   TEXT   NOT NULL,
    phase      TEXT   NOT NULL,
    source     TEXT   NOT NULL, -- never a secret
    origin     TEXT,
    bytes      BIGINT,
    layers     BIGINT,
    memory     BIGINT NOT NULL,
    note       TEXT,
    log        TEXT   NOT NULL, -- the transcript of its making
    created_by TEXT   NOT NULL,
    node       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ready_at   BIGINT,
    revision   BIGINT NOT NULL
);
CREATE TABLE transcript_chunks (
    exec_id TEXT   NOT NULL REFERENCES transcripts (exec_id) ON DELETE CASCADE,
    start   BIGINT NOT NULL,
    stream  TEXT   NOT NULL,
    bytes   BLOB  NOT NULL,
    PRIMARY KEY (exec_id, start)
);
CREATE TABLE transcripts (
    exec_id    TEXT   PRIMARY KEY,
    length     BIGINT NOT NULL, -- bytes that can be read, the marker included
    room       BIGINT NOT NULL, -- bytes that still fit
    dropped    BIGINT NOT NULL, -- bytes that came after the cut
    created_at BIGINT NOT NULL,
    closed_at  BIGINT
);
CREATE TABLE usage (
    id               INTEGER PRIMARY KEY,
    at               BIGINT NOT NULL,
    task_id          BIGINT,
    session_id       TEXT,
    sandbox_id       TEXT,
    agent            TEXT,
    provider         TEXT   NOT NULL,
    model            TEXT   NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cache_read       BIGINT NOT NULL,
    cache_write      BIGINT NOT NULL,
    cost             BIGINT,          -- in millionths of a dollar; unknown when the model has no known price
    is_estimated     BIGINT NOT NULL, -- 1 when the tokens were guessed
    status           BIGINT NOT NULL,
    took_ms          BIGINT NOT NULL
);
CREATE TABLE volumes (
    id         TEXT   PRIMARY KEY,
    name       TEXT   NOT NULL UNIQUE,
    provider   TEXT   NOT NULL,
    home       TEXT   NOT NULL, -- the node it lies on
    sealed_by  TEXT   NOT NULL,
    sealed     BLOB   NOT NULL,
    removed    BIGINT NOT NULL, -- on its way out: its folder goes first, then this row
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TRIGGER journal_moves_the_head AFTER INSERT ON journal
BEGIN UPDATE ledger SET head = NEW.cursor WHERE only_row = 1; END;
CREATE INDEX sandboxes_due ON sandboxes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sandboxes_living ON sandboxes (created_at, id) WHERE phase <> 'gone';
CREATE INDEX sandboxes_gone ON sandboxes (created_at, id) WHERE phase = 'gone';
CREATE INDEX sign_ins_expire ON sign_ins (expires_at);
CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE INDEX transcripts_closed ON transcripts (closed_at) WHERE closed_at IS NOT NULL;
CREATE TRIGGER audit_keeps_its_lines BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_loses_no_lines BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE INDEX execs_of_a_sandbox ON execs (sandbox_id, started_at, id);
CREATE INDEX execs_running ON execs (node) WHERE status = 'running';
CREATE INDEX audit_of_a_subject ON audit (subject, id);
CREATE INDEX pushes_of_a_repo ON pushes (repo, at, id);
CREATE INDEX pushes_of_a_task ON pushes (task_id, at, id) WHERE task_id IS NOT NULL;
CREATE INDEX pulls_by_head ON pulls (repo, head);
CREATE INDEX pulls_open ON pulls (repo) WHERE is_open = 1;
CREATE INDEX pulls_by_change ON pulls (repo, updated_at);
CREATE INDEX pull_words_of_a_pull ON pull_words (repo, number, kind, id);
CREATE INDEX sessions_by_age ON sessions (created_at, id);
CREATE INDEX sessions_asked ON sessions (id) WHERE is_asked = 1;
CREATE INDEX sessions_by_sandbox ON sessions (sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_by_phase ON tasks (phase, priority, id);
CREATE INDEX tasks_by_branch ON tasks (repo, branch);
CREATE INDEX tasks_by_session ON tasks (session_id);
CREATE INDEX usage_by_time ON usage (at);
CREATE INDEX usage_of_a_task ON usage (task_id, cost) WHERE task_id IS NOT NULL;
CREATE INDEX usage_of_a_session ON usage (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX seen_pulls_by_head ON seen_pulls (repo, head);
CREATE INDEX seen_pulls_by_base ON seen_pulls (repo, base) WHERE is_over = 0;
CREATE INDEX seen_pulls_by_time ON seen_pulls (created_at, repo, number);
CREATE INDEX bells_of_a_key ON bells (key_id);
CREATE INDEX sandboxes_at_home ON sandboxes (home) WHERE home IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('audit',11);
