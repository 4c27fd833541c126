-- Secrets, sealed. Without the master key, which is not in the database, the bytes are worth nothing.
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

-- Pull requests of repositories that are hosted here: what their forge remembers.
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
CREATE INDEX pulls_by_head ON pulls (repo, head);
CREATE INDEX pulls_open ON pulls (repo) WHERE is_open = 1;
CREATE INDEX pulls_by_change ON pulls (repo, updated_at);

-- Comments and reviews.
CREATE TABLE pull_words (
    repo   TEXT   NOT NULL,
    id     BIGINT NOT NULL,
    number BIGINT NOT NULL,
    kind   TEXT   NOT NULL, -- comment or review
    stamp  TEXT,            -- what a comment of ours is known by, so that it is said once
    body   TEXT   NOT NULL,
    PRIMARY KEY (repo, id)
);
CREATE INDEX pull_words_of_a_pull ON pull_words (repo, number, kind, id);

-- The newest word of each program about a commit.
CREATE TABLE checks (
    repo      TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (repo, commit_id, name)
);

-- The last numbers that were given. Whoever writes something new holds this row meanwhile.
CREATE TABLE pull_numbers (
    repo  TEXT   PRIMARY KEY,
    pulls BIGINT NOT NULL,
    words BIGINT NOT NULL
);
