//! Gives the database its shape, step by step, from whatever shape it has.
//!
//! `user_version` in the file's header says how many steps were taken. A step is never changed: homes
//! have taken it.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::{Result, StoreError};

const STEPS: [&str; 8] = [
    include_str!("../../migrations/sqlite/1_first.sql"),
    include_str!("../../migrations/sqlite/2_records.sql"),
    include_str!("../../migrations/sqlite/3_turns.sql"),
    include_str!("../../migrations/sqlite/4_changes.sql"),
    include_str!("../../migrations/sqlite/5_deleted.sql"),
    include_str!("../../migrations/sqlite/6_credits.sql"),
    include_str!("../../migrations/sqlite/7_orders.sql"),
    include_str!("../../migrations/sqlite/8_search.sql"),
];

/// How many steps there are.
pub(super) fn count() -> u32 {
    STEPS.len() as u32
}

/// Takes the steps that are missing: all of them, or none.
pub(super) fn run(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken = taken(&transaction)?;
    let Some(missing) = STEPS.get(taken..) else {
        let known = STEPS.len();
        return Err(StoreError::Failed(format!(
            "the database was written by a newer version of this program (its shape is {taken}, \
             this one knows {known}); start that one, or use another home"
        )));
    };
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", STEPS.len())?;
    Ok(transaction.commit()?)
}

fn taken(transaction: &Transaction) -> Result<usize> {
    let version = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 => Ok(taken_before_they_were_counted(transaction)?.unwrap_or(0)),
        version => Ok(version),
    }
}

/// Homes of the first versions have a table of the steps instead.
fn taken_before_they_were_counted(transaction: &Transaction) -> rusqlite::Result<Option<usize>> {
    let there = "SELECT 1 FROM sqlite_master WHERE name = 'refinery_schema_history'";
    if transaction
        .query_row(there, (), |_| Ok(()))
        .optional()?
        .is_none()
    {
        return Ok(None);
    }
    let newest = "SELECT max(version) FROM refinery_schema_history";
    transaction.query_row(newest, (), |row| row.get(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shape(connection: &Connection) -> Vec<String> {
        let mut found = connection
            .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'refinery%' ORDER BY name")
            .unwrap();
        let rows = found.query_map((), |row| row.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    fn migrated() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection).unwrap();
        connection
    }

    #[test]
    fn a_second_run_changes_nothing() {
        let mut connection = migrated();
        let before = shape(&connection);
        run(&mut connection).unwrap();
        assert_eq!(shape(&connection), before);
        assert!(before.iter().any(|sql| sql.contains("records")));
    }

    #[test]
    fn homes_of_the_first_versions_go_on_from_where_they_are() {
        for taken in 1..=STEPS.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            for step in &STEPS[..taken] {
                connection.execute_batch(step).unwrap();
            }
            // As the crate made it that did this then.
            let history = "CREATE TABLE refinery_schema_history(version INT4 PRIMARY KEY, \
                           name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255));";
            connection.execute_batch(history).unwrap();
            for version in 1..=taken {
                let row = "INSERT INTO refinery_schema_history VALUES (?1, 'a', 'b', 'c')";
                connection.execute(row, [version]).unwrap();
            }
            run(&mut connection).unwrap();
            assert_eq!(shape(&connection), shape(&migrated()), "{taken}");
        }
    }

    #[test]
    fn a_newer_database_is_left_as_it_is() {
        let mut connection = migrated();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let refused = run(&mut connection).unwrap_err().to_string();
        assert!(refused.contains("newer version"), "{refused}");
        let version: usize = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(version, 99);
    }
}
