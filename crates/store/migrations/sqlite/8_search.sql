-- The words of what was said, without the texts: those are in the log. A row's number says whose text it is,
-- which event of its log has it, and of which kind it is. The words come folded and parted by blanks.
CREATE VIRTUAL TABLE search USING fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii');

-- How far the index has come, in rows of the log. What was there before it (up to `old_upto`) is indexed in
-- the background, what came later as soon as it is searched, or nobody writes.
CREATE TABLE search_marks (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    old_after INTEGER NOT NULL,
    old_upto  INTEGER NOT NULL,
    new_after INTEGER NOT NULL,
    -- Whether words of deleted texts may still be in the index.
    purge     INTEGER NOT NULL
) STRICT;
INSERT INTO search_marks (one, old_after, old_upto, new_after, purge)
SELECT 1, 0, coalesce(max(rowid), 0), coalesce(max(rowid), 0), 0 FROM events;
