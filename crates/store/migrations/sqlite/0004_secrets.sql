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
