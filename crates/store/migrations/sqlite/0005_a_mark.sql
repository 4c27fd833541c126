-- The mark of this house: what it writes on things that it keeps with others, to know them again.
CREATE TABLE mark (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    text     TEXT   NOT NULL
);
INSERT INTO mark (only_row, text) VALUES (1, lower(hex(randomblob(8))));
