-- Browsers that want to be told when a card needs somebody.
CREATE TABLE bells (
    id         TEXT   PRIMARY KEY, -- a print of the address
    key_id     TEXT   NOT NULL,    -- whose browser it is
    endpoint   TEXT   NOT NULL,
    p256dh     TEXT   NOT NULL,
    auth       TEXT   NOT NULL,
    failures   BIGINT NOT NULL,    -- in a row
    created_at BIGINT NOT NULL
);
CREATE INDEX bells_of_a_key ON bells (key_id);

-- Hands that are up: the cards that somebody was told of, so that nobody is told twice.
CREATE TABLE hands (
    task_id BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    rung    BIGINT NOT NULL -- 1 when everybody was told
);
