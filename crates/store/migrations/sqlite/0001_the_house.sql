-- The house: rows, ledger, audit, keys, transcripts.
-- Times are microseconds since 1970, UTC. Words are those of the model. The same tables stand in both dialects.

CREATE TABLE ledger (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    head     BIGINT NOT NULL, -- cursor of the newest entry
    oldest   BIGINT NOT NULL  -- cursor of the oldest entry that is kept
);
INSERT INTO ledger (only_row, head, oldest) VALUES (1, 0, 1);

CREATE TABLE journal (
    cursor BIGINT PRIMARY KEY,
    at     BIGINT NOT NULL,
    body   TEXT   NOT NULL
);
CREATE TRIGGER journal_moves_the_head AFTER INSERT ON journal
BEGIN UPDATE ledger SET head = NEW.cursor WHERE only_row = 1; END;

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
);
CREATE INDEX sandboxes_due ON sandboxes (due_at) WHERE due_at IS NOT NULL;
-- A row is in one of these two: every index is a page to write.
CREATE INDEX sandboxes_living ON sandboxes (created_at, id) WHERE phase <> 'gone';
CREATE INDEX sandboxes_gone ON sandboxes (created_at, id) WHERE phase = 'gone';

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

-- Secrets that were rotated away: a copy that somebody kept must not come back as a new key.
CREATE TABLE spent_secrets (
    hash   TEXT   PRIMARY KEY,
    key_id TEXT   NOT NULL,
    at     BIGINT NOT NULL
);

-- One-time links, and the visits of browsers that used one.
CREATE TABLE sign_ins (
    hash       TEXT   PRIMARY KEY,
    key_id     TEXT   NOT NULL REFERENCES keys (id),
    kind       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sign_ins_expire ON sign_ins (expires_at);

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

-- What a request with an Idempotency-Key made, so that the same request makes it once.
CREATE TABLE idempotency (
    bearer      TEXT   NOT NULL,
    key         TEXT   NOT NULL,
    fingerprint TEXT   NOT NULL,
    subject     TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (bearer, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE transcripts (
    exec_id    TEXT   PRIMARY KEY,
    length     BIGINT NOT NULL, -- bytes that can be read, the marker included
    room       BIGINT NOT NULL, -- bytes that still fit
    dropped    BIGINT NOT NULL, -- bytes that came after the cut
    created_at BIGINT NOT NULL,
    closed_at  BIGINT
);
CREATE INDEX transcripts_closed ON transcripts (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE transcript_chunks (
    exec_id TEXT   NOT NULL REFERENCES transcripts (exec_id) ON DELETE CASCADE,
    start   BIGINT NOT NULL,
    stream  TEXT   NOT NULL,
    bytes   BLOB  NOT NULL,
    PRIMARY KEY (exec_id, start)
);

CREATE TRIGGER audit_keeps_its_lines BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_loses_no_lines BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
