-- When a card is due: of two that are equally urgent, the one that is due sooner begins first.
ALTER TABLE tasks ADD COLUMN deadline BIGINT;
