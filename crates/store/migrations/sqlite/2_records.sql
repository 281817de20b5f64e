-- What a tenant's library keeps beside its threads: few, small, and read a kind at a time.
CREATE TABLE records (
    tenant TEXT NOT NULL,
    kind   TEXT NOT NULL,
    id     TEXT NOT NULL,
    value  BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, id)
) STRICT, WITHOUT ROWID;

-- Grows by one with every batch of records: who writes from an older picture is refused.
CREATE TABLE libraries (
    tenant   TEXT    PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
