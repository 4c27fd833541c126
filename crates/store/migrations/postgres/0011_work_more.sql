-- Webhooks out: each reads the journal from a place of its own, which is in its body.
CREATE TABLE hooks (
    id         TEXT   PRIMARY KEY,
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
