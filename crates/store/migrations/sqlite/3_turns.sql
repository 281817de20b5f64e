-- Where the turns of a thread lie in its log and its transcript: a row comes with a turn's start and
-- is filled in at its end. What is missing in threads of older versions their engine writes.
--
-- No index by id: who looks for a turn by its id mostly means one of the newest, so the rows are
-- walked from the end.
CREATE TABLE turns (
    thread        INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
    number        INTEGER NOT NULL,
    turn          TEXT    NOT NULL,
    first_seq     INTEGER NOT NULL,
    first_ordinal INTEGER NOT NULL,
    started_at    INTEGER NOT NULL,
    last_seq      INTEGER,
    last_ordinal  INTEGER,
    ended_at      INTEGER,
    outcome       TEXT,
    PRIMARY KEY (thread, number)
) STRICT, WITHOUT ROWID;
