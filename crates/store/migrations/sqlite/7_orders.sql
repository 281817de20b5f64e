-- Lists of threads in other orders than by the last change, and of one directory. Which directory a
-- thread has, and when it was made, never changes; the rest is written with the row.
ALTER TABLE threads ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN active_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN directory TEXT NOT NULL DEFAULT '';
UPDATE threads SET
    created_at = json_extract(summary, '$.card.created_at'),
    active_at = coalesce(json_extract(summary, '$.active_at'),
        json_extract(summary, '$.card.created_at')),
    directory = json_extract(summary, '$.card.directory');

-- The workspace and the directory stand last so that a list of one is filtered within the index.
DROP INDEX threads_listed;
CREATE INDEX threads_by_update ON threads
    (tenant, archived, updated_at DESC, id, workspace, directory);
CREATE INDEX threads_by_creation ON threads
    (tenant, archived, created_at DESC, id, workspace, directory);
CREATE INDEX threads_by_activity ON threads
    (tenant, archived, active_at DESC, id, workspace, directory);
