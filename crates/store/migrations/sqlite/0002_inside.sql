-- What goes on inside sandboxes: execs. What sandboxes start from: templates. How they sleep and wake.

ALTER TABLE sandboxes ADD COLUMN auto_resume BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN idle_s BIGINT;
ALTER TABLE sandboxes ADD COLUMN idle_at BIGINT;
ALTER TABLE sandboxes ADD COLUMN depth TEXT NOT NULL DEFAULT 'frozen'; -- how deep people want it to sleep
ALTER TABLE sandboxes ADD COLUMN sleep_asked TEXT;                     -- how deep its provider was asked to let it sleep
ALTER TABLE sandboxes ADD COLUMN sleep_depth TEXT;                     -- how deep it sleeps

-- What an exec prints is in the transcript of the same id, which is also the tag of its process.
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
CREATE INDEX execs_of_a_sandbox ON execs (sandbox_id, started_at, id);
CREATE INDEX execs_running ON execs (node) WHERE status = 'running';

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

-- What was done to one thing: its log.
CREATE INDEX audit_of_a_subject ON audit (subject, id);
