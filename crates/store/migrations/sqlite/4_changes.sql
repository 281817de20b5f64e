-- What changed in lists while other processes were there, so that they can tell their clients. Few
-- are kept: who was away for longer reads its lists again.
CREATE TABLE changes (
    number INTEGER PRIMARY KEY,
    owner  TEXT    NOT NULL,
    tenant TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    is_new INTEGER NOT NULL
) STRICT;
