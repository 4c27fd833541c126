-- Pull requests as they were last seen, at whatever forge they are.
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
CREATE INDEX seen_pulls_by_head ON seen_pulls (repo, head);
CREATE INDEX seen_pulls_by_base ON seen_pulls (repo, base) WHERE is_over = 0;
CREATE INDEX seen_pulls_by_time ON seen_pulls (created_at, repo, number);

-- What was heard at a pull and told of: a comment, a review, a check, each in the version that was told.
CREATE TABLE heard_words (
    repo    TEXT   NOT NULL,
    number  BIGINT NOT NULL,
    word    TEXT   NOT NULL,
    version TEXT   NOT NULL,
    PRIMARY KEY (repo, number, word)
);

-- How far a forge that sends nothing was read.
CREATE TABLE forge_readings (
    repo TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

-- Where the branches are that others are merged into, as far as it was told.
CREATE TABLE bases (
    repo      TEXT NOT NULL,
    branch    TEXT NOT NULL,
    commit_id TEXT,
    PRIMARY KEY (repo, branch)
);

-- Merge lanes: who merges into a base. The token counts the holders, so that one who comes back late is recognised.
CREATE TABLE lanes (
    name       TEXT   PRIMARY KEY,
    owner      TEXT,
    until      BIGINT NOT NULL,
    token      BIGINT NOT NULL,
    sandbox_id TEXT            -- where the holder runs its check
);
