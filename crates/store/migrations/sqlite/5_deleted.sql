-- Threads that were deleted, so that whoever still has the id of one is not given it again.
CREATE TABLE deleted (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
