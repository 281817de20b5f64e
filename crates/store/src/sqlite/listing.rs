//! The thread list: pages by index, whatever the number of threads.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use vocabulary::{
    ArchivedThreads, ListDirection, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery,
    ThreadSort, TreeThread, WorkspaceId,
};

use super::queries;
use crate::Result;
use crate::cursor::Cursor;

/// The rows of one kind, archived or not, in the wanted order. `archived` is the second column of every
/// index, so each kind is one walk along an index.
fn walk(query: &ThreadQuery, archived: &str, included: bool) -> String {
    let time = match query.sort {
        ThreadSort::Updated => "updated_at",
        ThreadSort::Created => "created_at",
        ThreadSort::Active => "active_at",
    };
    let (earlier, behind) = match query.direction {
        ListDirection::NewestFirst => ("<", ">"),
        ListDirection::OldestFirst => (">", "<"),
    };
    let or_same = if included { "=" } else { "" };
    format!(
        "SELECT {time} AS time, id, summary FROM threads
         WHERE tenant = ?1 AND archived = {archived}
             AND {time} {earlier}= ?2 AND ({time} {earlier} ?2 OR id {behind}{or_same} ?3)
             AND (?4 IS NULL OR workspace = ?4) AND (?5 IS NULL OR directory = ?5)
             AND (?6 IS NULL OR summary LIKE ?6 ESCAPE '\\')"
    )
}

fn sql(query: &ThreadQuery, included: bool) -> String {
    let order = match query.direction {
        ListDirection::NewestFirst => "ORDER BY time DESC, id",
        ListDirection::OldestFirst => "ORDER BY time, id DESC",
    };
    match query.archived {
        ArchivedThreads::LeftOut => format!("{} {order}", walk(query, "0", included)),
        ArchivedThreads::Only => format!("{} {order}", walk(query, "1", included)),
        // Two walks, merged; neither is sorted.
        ArchivedThreads::Included => {
            let (some, others) = (walk(query, "0", included), walk(query, "1", included));
            format!("{some} UNION ALL {others} {order}")
        }
    }
}

pub(super) fn threads(
    db: &Connection,
    tenant: &TenantId,
    query: &ThreadQuery,
) -> Result<ThreadPage> {
    let after = Cursor::asked(query)?;
    if query.limit == Some(0) {
        return Ok(ThreadPage::default());
    }
    if let Some(only) = &query.only {
        return Ok(page(query, named(db, tenant, only, query, after)?));
    }
    let (time, id) = match (after, query.direction) {
        (Some(after), _) => (after.at.millis(), after.id.to_string()),
        (None, ListDirection::NewestFirst) => (i64::MAX, String::new()),
        // Behind every id.
        (None, ListDirection::OldestFirst) => (i64::MIN, "~".to_owned()),
    };
    let workspace = query.workspace.as_ref().map(|id| id.as_str());
    // Of several directories each row is looked at.
    let directory = match query.directories.as_slice() {
        [one] => one.to_str(),
        _ => None,
    };
    let mut list = db.prepare_cached(&sql(query, after.is_some_and(|after| after.included)))?;
    let words = query.text.as_deref().and_then(pattern);
    let mut rows = list.query(params![
        tenant.as_str(),
        time,
        id,
        workspace,
        directory,
        words
    ])?;
    let wanted = query.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut threads: Vec<Thread> = Vec::new();
    // One more than wanted tells whether there is a next page. What a row has no column for is
    // looked for in it, so that a page is full whatever is left out.
    while threads.len() <= wanted
        && let Some(row) = rows.next()?
    {
        let thread = summary(row, 2)?;
        if query.matches(&thread) {
            threads.push(thread);
        }
    }
    Ok(page(query, threads))
}

/// What every row matches that has these words, so that most others need not be read; those that do match
/// are looked at all the same. `None` for words that a row may spell otherwise.
fn pattern(words: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_graphic() || letter == ' ';
    if !words
        .chars()
        .all(|letter| is_plain(letter) && !matches!(letter, '"' | '\\'))
    {
        return None;
    }
    let escape = |letter| match letter {
        '%' | '_' => format!("\\{letter}"),
        letter => letter.to_string(),
    };
    let escaped: String = words.chars().map(escape).collect();
    Some(format!("%{escaped}%"))
}

/// Those of these ids that the list is about, in its order.
fn named(
    db: &Connection,
    tenant: &TenantId,
    only: &[ThreadId],
    query: &ThreadQuery,
    after: Option<Cursor>,
) -> Result<Vec<Thread>> {
    let mut found = Vec::new();
    for id in only {
        let kept = thread(db, *id)?.filter(|thread| thread.card.tenant == *tenant);
        found.extend(kept.filter(|thread| query.matches(thread)));
    }
    let place = |thread: &Thread| Cursor::of(query.sort, thread);
    found.retain(|thread| after.is_none_or(|it| it.lets_in(place(thread), query.direction)));
    found.sort_by(|a, b| place(a).order(place(b), query.direction));
    found.dedup_by_key(|thread| thread.card.id);
    Ok(found)
}

/// A page of rows that are in order, of which one more may be there than is wanted.
pub(crate) fn page(query: &ThreadQuery, mut threads: Vec<Thread>) -> ThreadPage {
    let wanted = query.limit.map_or(usize::MAX, |limit| limit as usize);
    let more = threads.len() > wanted;
    threads.truncate(wanted);
    let place = |thread: &Thread| Cursor::of(query.sort, thread);
    let last = threads.last().filter(|_| more);
    ThreadPage {
        next: last.map(|thread| place(thread).text()),
        back: threads
            .first()
            .map(|thread| place(thread).including().text()),
        threads,
    }
}

fn summary(row: &Row<'_>, column: usize) -> rusqlite::Result<Thread> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| unreadable(column, error))
}

/// All threads of a workspace, of each only what a tree shows: reading them whole takes most of its time.
pub(super) fn tree(
    db: &Connection,
    tenant: &TenantId,
    workspace: &WorkspaceId,
) -> Result<Vec<TreeThread>> {
    let mut list =
        db.prepare_cached("SELECT summary FROM threads WHERE tenant = ?1 AND workspace = ?2")?;
    let mut rows = list.query([tenant.as_str(), workspace.as_str()])?;
    let mut threads = Vec::new();
    while let Some(row) = rows.next()? {
        let read = TreeThread::of_written(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
        threads.extend(read.map_err(|error| unreadable(0, error))?);
    }
    threads.sort_unstable_by(|a, b| b.updated_at.cmp(&a.updated_at).then(a.id.cmp(&b.id)));
    Ok(threads)
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

pub(super) fn thread(db: &Connection, id: ThreadId) -> Result<Option<Thread>> {
    let mut thread = db.prepare_cached("SELECT summary FROM threads WHERE id = ?1")?;
    let found = thread.query_row([id.to_string()], |row| summary(row, 0));
    Ok(found.optional()?)
}

pub(super) fn by_client_id(
    db: &Connection,
    tenant: &TenantId,
    client_id: &str,
) -> Result<Option<ThreadId>> {
    let mut thread =
        db.prepare_cached("SELECT id FROM threads WHERE tenant = ?1 AND client_id = ?2")?;
    let found = thread.query_row([tenant.as_str(), client_id], |row| {
        queries::thread_id(row, 0)
    });
    Ok(found.optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order is one walk along an index for each kind: nothing is sorted, whatever the number of
    /// threads.
    #[test]
    fn every_order_is_read_along_an_index() {
        let mut db = Connection::open_in_memory().expect("it can be done");
        super::super::migrations::run(&mut db).expect("it can be done");
        for (sort, index) in [
            (ThreadSort::Updated, "threads_by_update"),
            (ThreadSort::Created, "threads_by_creation"),
            (ThreadSort::Active, "threads_by_activity"),
        ] {
            for direction in [ListDirection::NewestFirst, ListDirection::OldestFirst] {
                for archived in [
                    ArchivedThreads::LeftOut,
                    ArchivedThreads::Only,
                    ArchivedThreads::Included,
                ] {
                    for included in [true, false] {
                        let query = ThreadQuery {
                            archived,
                            sort,
                            direction,
                            ..ThreadQuery::default()
                        };
                        let plan = plan_of(&db, &sql(&query, included));
                        assert!(plan.contains(index), "{query:?}: {plan}");
                        assert!(!plan.contains("TEMP B-TREE"), "{query:?}: {plan}");
                        assert!(!plan.contains("SCAN threads"), "{query:?}: {plan}");
                    }
                }
            }
        }
    }

    fn plan_of(db: &Connection, sql: &str) -> String {
        let mut plan = db
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .expect("it can be done");
        let given = params!["t", 0, "", None::<String>, None::<String>, None::<String>];
        let lines = plan.query_map(given, |row| row.get::<_, String>(3));
        let lines: Vec<String> = lines
            .expect("it can be done")
            .map(|line| line.expect("it can be done"))
            .collect();
        lines.join("; ")
    }
}
