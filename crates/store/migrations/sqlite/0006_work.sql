-- The work: agents, conversations, and cards. Each row is a body that its own type reads, with the columns that are
-- asked for beside it.

CREATE TABLE agents (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
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
CREATE INDEX sessions_by_age ON sessions (created_at, id);
CREATE INDEX sessions_asked ON sessions (id) WHERE is_asked = 1;
CREATE INDEX sessions_by_sandbox ON sessions (sandbox_id) WHERE sandbox_id IS NOT NULL;

-- What was said and done at a desk, in order.
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
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_by_phase ON tasks (phase, priority, id);
CREATE INDEX tasks_by_branch ON tasks (repo, branch);
CREATE INDEX tasks_by_session ON tasks (session_id);

-- The last number that was given to a card. Whoever gives the next one holds this row meanwhile.
CREATE TABLE task_numbers (
    only_row BIGINT PRIMARY KEY,
    last     BIGINT NOT NULL
);
INSERT INTO task_numbers (only_row, last) VALUES (1, 0);
