-- How many bytes a process had said, kept or not: whoever goes on following it asks for what came after them.
ALTER TABLE transcripts ADD COLUMN heard BIGINT NOT NULL DEFAULT 0;
