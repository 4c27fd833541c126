-- Requests to models, one row each, with what they took and cost.
CREATE TABLE usage (
    id               INTEGER PRIMARY KEY,
    at               BIGINT NOT NULL,
    task_id          BIGINT,
    session_id       TEXT,
    sandbox_id       TEXT,
    agent            TEXT,
    provider         TEXT   NOT NULL,
    model            TEXT   NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cache_read       BIGINT NOT NULL,
    cache_write      BIGINT NOT NULL,
    cost             BIGINT,          -- in millionths of a dollar; unknown when the model has no known price
    is_estimated     BIGINT NOT NULL, -- 1 when the tokens were guessed
    status           BIGINT NOT NULL,
    took_ms          BIGINT NOT NULL
);
CREATE INDEX usage_by_time ON usage (at);
CREATE INDEX usage_of_a_task ON usage (task_id, cost) WHERE task_id IS NOT NULL;
CREATE INDEX usage_of_a_session ON usage (session_id) WHERE session_id IS NOT NULL;

-- What was told about budgets, so that it is told once: for each budget, its height and how it stood.
CREATE TABLE budget_words (
    budget TEXT   NOT NULL, -- `task 42`, `day 2026-11-16`
    height BIGINT NOT NULL,
    state  TEXT   NOT NULL, -- warning or spent
    at     BIGINT NOT NULL,
    PRIMARY KEY (budget, height, state)
);
