//! The index of a thread's turns.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};
use vocabulary::{EndedTurn, IndexedTurn, Seq, ThreadId, Timestamp, TurnId, TurnSelection};

use super::queries::unsigned;
use super::{bound, signed};
use crate::{Batch, Result, StoreError};

const BACKWARDS: &str = "
    SELECT number, turn, first_seq, first_ordinal, started_at,
        last_seq, last_ordinal, ended_at, outcome FROM turns
    WHERE thread = (SELECT number FROM threads WHERE id = ?1) AND first_ordinal >= ?2
        AND number < ?3 AND (?4 IS NULL OR turn = ?4)
    ORDER BY number DESC LIMIT ?5";

const ONWARDS: &str = "
    SELECT number, turn, first_seq, first_ordinal, started_at,
        last_seq, last_ordinal, ended_at, outcome FROM turns
    WHERE thread = (SELECT number FROM threads WHERE id = ?1) AND first_ordinal >= ?2
        AND number > ?3 AND (?4 IS NULL OR turn = ?4)
    ORDER BY number LIMIT ?5";

pub(super) fn write(db: &Connection, thread: i64, batch: &Batch) -> Result<()> {
    let mut write = db.prepare_cached(
        "INSERT INTO turns (thread, number, turn, first_seq, first_ordinal, started_at,
             last_seq, last_ordinal, ended_at, outcome)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (thread, number) DO UPDATE SET turn = excluded.turn,
             first_seq = excluded.first_seq, first_ordinal = excluded.first_ordinal,
             started_at = excluded.started_at, last_seq = excluded.last_seq,
             last_ordinal = excluded.last_ordinal, ended_at = excluded.ended_at,
             outcome = excluded.outcome",
    )?;
    for row in &batch.turns {
        let ended = row.ended.as_ref();
        let outcome = ended.map(|ended| serde_json::to_string(&ended.outcome));
        let outcome = outcome
            .transpose()
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        write.execute(params![
            thread,
            signed(row.number)?,
            row.turn.as_str(),
            signed(row.first_seq.0)?,
            signed(row.first_ordinal)?,
            row.started_at.millis(),
            ended.map(|ended| signed(ended.last_seq.0)).transpose()?,
            ended.map(|ended| signed(ended.last_ordinal)).transpose()?,
            ended.map(|ended| ended.at.millis()),
            outcome,
        ])?;
    }
    Ok(())
}

pub(super) fn read(
    db: &Connection,
    thread: ThreadId,
    from: u64,
    selection: &TurnSelection,
    limit: u32,
) -> Result<Vec<IndexedTurn>> {
    let (sql, place, id, limit) = match selection {
        TurnSelection::Newest => (BACKWARDS, u64::MAX, None, limit),
        TurnSelection::Before(number) => (BACKWARDS, *number, None, limit),
        TurnSelection::Oldest => (ONWARDS, 0, None, limit),
        TurnSelection::After(number) => (ONWARDS, *number, None, limit),
        TurnSelection::One(turn) => (BACKWARDS, u64::MAX, Some(turn.as_str()), limit.min(1)),
    };
    let mut turns = db.prepare_cached(sql)?;
    let found = turns.query_map(
        params![thread.to_string(), bound(from), bound(place), id, limit],
        turn,
    )?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn turn(row: &Row<'_>) -> rusqlite::Result<IndexedTurn> {
    Ok(IndexedTurn {
        number: unsigned(row, 0)?,
        turn: TurnId::new(row.get_ref(1)?.as_str()?),
        first_seq: Seq(unsigned(row, 2)?),
        first_ordinal: unsigned(row, 3)?,
        started_at: Timestamp(row.get(4)?),
        ended: ended(row)?,
    })
}

fn ended(row: &Row<'_>) -> rusqlite::Result<Option<EndedTurn>> {
    let Some(outcome) = row.get_ref(8)?.as_str_or_null()? else {
        return Ok(None);
    };
    let outcome = serde_json::from_str(outcome).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(8, Type::Text, Box::new(error))
    })?;
    Ok(Some(EndedTurn {
        last_seq: Seq(unsigned(row, 5)?),
        last_ordinal: unsigned(row, 6)?,
        at: Timestamp(row.get(7)?),
        outcome,
    }))
}
