-- The servers that share this database.
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

CREATE INDEX sandboxes_at_home ON sandboxes (home) WHERE home IS NOT NULL;
