-- The first shape of the store. Events hold the payload bytes, once; everything else points to
-- them or is small. Threads have an integer number because it is repeated in every row and index.

CREATE TABLE threads (
    number     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    tenant     TEXT    NOT NULL,
    workspace  TEXT    NOT NULL,
    client_id  TEXT,
    updated_at INTEGER NOT NULL,
    archived   INTEGER NOT NULL,
    summary    TEXT    NOT NULL
) STRICT;
-- The workspace stands last so that a list of one workspace is filtered within the index.
CREATE INDEX threads_listed ON threads (tenant, archived, updated_at DESC, id, workspace);
CREATE UNIQUE INDEX threads_by_client_id ON threads (tenant, client_id) WHERE client_id IS NOT NULL;

-- A rowid table: appends of all threads go to its end, whatever thread they belong to.
CREATE TABLE events (
    thread  INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    payload BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_seq ON events (thread, seq);

-- Messages have no index of their own: within a transcript they rise with the ordinals, so a
-- message is found by halving.
CREATE TABLE entries (
    thread  INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    message INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (thread, ordinal)
) STRICT, WITHOUT ROWID;

-- Rewritten with every append. The state is padded, so that the row keeps its length and is
-- changed where it stands instead of moving to other pages; `state_bytes` is its true length.
CREATE TABLE thread_state (
    thread      INTEGER PRIMARY KEY REFERENCES threads (number) ON DELETE CASCADE,
    last_seq    INTEGER NOT NULL,
    high_water  INTEGER NOT NULL,
    unfinished  INTEGER NOT NULL,
    state_bytes INTEGER NOT NULL,
    state       BLOB    NOT NULL
) STRICT;
CREATE INDEX threads_unfinished ON thread_state (thread) WHERE unfinished = 1;

CREATE TABLE receipts (
    thread    INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
    kind      TEXT    NOT NULL,
    client_id TEXT    NOT NULL,
    hash      BLOB    NOT NULL,
    answer    TEXT    NOT NULL,
    PRIMARY KEY (thread, kind, client_id)
) STRICT, WITHOUT ROWID;

-- A draft grows by pieces, so that a long answer is not written again with every word.
CREATE TABLE drafts (
    thread INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
    piece  INTEGER NOT NULL,
    item   TEXT    NOT NULL,
    about  TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    PRIMARY KEY (thread, piece)
) STRICT, WITHOUT ROWID;

-- Who has a thread awake. By the thread's id, because a thread is leased before it is stored.
CREATE TABLE leases (
    thread TEXT    PRIMARY KEY,
    owner  TEXT    NOT NULL,
    fence  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Processes that have opened this database; alive while their lock file is held.
CREATE TABLE owners (
    id    TEXT PRIMARY KEY,
    label TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    name TEXT    PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
