-- What tenants may still spend, in millionths of a dollar; who has no row has no limit. It is written
-- with the events that say what was spent, so that a log and its balance never differ.
CREATE TABLE credits (
    tenant  TEXT    PRIMARY KEY,
    -- Below zero where a request cost more than was thought.
    balance INTEGER NOT NULL,
    spent   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What running turns may yet spend: void when the process that runs them is dead.
CREATE TABLE credit_reservations (
    tenant TEXT    NOT NULL,
    thread TEXT    NOT NULL,
    turn   TEXT    NOT NULL,
    owner  TEXT    NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (tenant, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX credit_reservations_by_thread ON credit_reservations (thread);
