-- Volumes: folders that outlive sandboxes. The token that reads and writes one is sealed, as secrets are.
CREATE TABLE volumes (
    id         TEXT   PRIMARY KEY,
    name       TEXT   NOT NULL UNIQUE,
    provider   TEXT   NOT NULL,
    home       TEXT   NOT NULL, -- the node it lies on
    sealed_by  TEXT   NOT NULL,
    sealed     BYTEA  NOT NULL,
    removed    BIGINT NOT NULL, -- on its way out: its folder goes first, then this row
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- Secrets that are put into headers of requests on their way out of sandboxes, sealed.
CREATE TABLE outbound_secrets (
    id         TEXT   PRIMARY KEY,
    name       TEXT   NOT NULL UNIQUE,
    metadata   TEXT   NOT NULL,
    sealed_by  TEXT   NOT NULL,
    sealed     BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT   NOT NULL,
    version    BIGINT NOT NULL
);
