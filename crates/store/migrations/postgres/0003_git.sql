-- Repositories, and what is pushed to them.

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

-- Append-only: what arrived, and the verdict on it.
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
CREATE INDEX pushes_of_a_repo ON pushes (repo, at, id);
CREATE INDEX pushes_of_a_task ON pushes (task_id, at, id) WHERE task_id IS NOT NULL;
