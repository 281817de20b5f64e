//! The index of words: FTS5 without the texts, which are in the log.
//!
//! Measured with half a million texts: FTS5's own ranking reads every match of every word, which takes a tenth
//! of a second where words are common. Walking along the newest matches takes a millisecond at most, so that
//! is what is done here; the engine ranks what was found.

use rusqlite::{Connection, OptionalExtension, params};
use vocabulary::{ArchivedThreads, IndexingProgress, TenantId, Thread, ThreadId, Timestamp};

use super::{bound, listing, queries};
use crate::search::{FREQUENCY_MAX, TextPlace, TextVerdict, WindowRule};
use crate::words::{Phrase, SearchTerms, TextWords};
use crate::{
    IndexPart, IndexPiece, IndexSearch, IndexSpan, IndexStanding, MatchedText, Result, SearchMatch,
    SearchSpan, SearchWindow, StoreError, UnindexedEvents,
};

/// A page of unindexed events ends here, too: some have pictures.
const PAGE_BYTES_MAX: usize = 2 << 20;
/// How many pages of the index are written at a time to get rid of what was deleted.
const PURGE_PAGES: i64 = 400;
/// With more than this to catch up with, a search would wait too long: it becomes part of what is done in the
/// background.
const CATCH_UP_MAX: i64 = 20_000;

struct SearchMarks {
    old_after: i64,
    old_upto: i64,
    new_after: i64,
    purge: bool,
}

fn marks(db: &Connection) -> Result<SearchMarks> {
    let mut marks =
        db.prepare_cached("SELECT old_after, old_upto, new_after, purge FROM search_marks")?;
    Ok(marks.query_row((), |row| {
        Ok(SearchMarks {
            old_after: row.get(0)?,
            old_upto: row.get(1)?,
            new_after: row.get(2)?,
            purge: row.get(3)?,
        })
    })?)
}

fn newest_row(db: &Connection) -> Result<i64> {
    let mut newest = db.prepare_cached("SELECT coalesce(max(rowid), 0) FROM events")?;
    Ok(newest.query_row((), |row| row.get(0))?)
}

/// To be called when a database is opened: whatever was written while nobody indexed is indexed in the
/// background.
pub(super) fn settle(db: &Connection) -> Result<()> {
    follow_deletion(db)?;
    let (marks, newest) = (marks(db)?, newest_row(db)?);
    if marks.old_after == marks.old_upto && newest - marks.new_after > CATCH_UP_MAX {
        db.execute(
            "UPDATE search_marks SET old_after = new_after, old_upto = ?1, new_after = ?1",
            [newest],
        )?;
    }
    Ok(())
}

pub(super) fn standing(db: &Connection) -> Result<IndexStanding> {
    let marks = marks(db)?;
    let progress = IndexingProgress {
        done: marks.old_after.cast_unsigned(),
        total: marks.old_upto.cast_unsigned(),
    };
    Ok(IndexStanding {
        indexing: (progress.done < progress.total).then_some(progress),
        purge: marks.purge,
    })
}

pub(super) fn unindexed(db: &Connection, part: IndexPart, limit: u32) -> Result<UnindexedEvents> {
    let marks = marks(db)?;
    let (after, end) = match part {
        IndexPart::Old => (marks.old_after, marks.old_upto),
        IndexPart::New => (marks.new_after, newest_row(db)?),
    };
    let mut read = db.prepare_cached(
        "SELECT seq, at, payload, events.rowid, id FROM events JOIN threads ON number = thread
         WHERE events.rowid > ?1 AND events.rowid <= ?2 ORDER BY events.rowid LIMIT ?3",
    )?;
    let mut rows = read.query(params![after, end, limit])?;
    let (mut events, mut upto, mut bytes) = (Vec::new(), end, 0);
    while let Some(row) = rows.next()? {
        let event = queries::event(row, 0)?;
        bytes += event.payload.len();
        let number = row.get(3)?;
        events.push((queries::thread_id(row, 4)?, event));
        if events.len() == limit as usize || bytes > PAGE_BYTES_MAX {
            upto = number;
            break;
        }
    }
    Ok(UnindexedEvents {
        events,
        span: IndexSpan {
            part,
            after: after.cast_unsigned(),
            upto: upto.cast_unsigned(),
        },
        end: end.cast_unsigned(),
    })
}

/// `false`: another one has indexed this stretch, or some of it was deleted meanwhile.
pub(super) fn index(db: &Connection, piece: &IndexPiece, words: &[TextWords]) -> Result<bool> {
    let column = match piece.span.part {
        IndexPart::Old => "old_after",
        IndexPart::New => "new_after",
    };
    let advance = format!("UPDATE search_marks SET {column} = ?2 WHERE {column} = ?1");
    let (after, upto) = (bound(piece.span.after), bound(piece.span.upto));
    if after == upto {
        return Ok(true);
    }
    if db.prepare_cached(&advance)?.execute([after, upto])? == 0 {
        return Ok(false);
    }
    for hidden in &piece.hidden {
        if let Some(thread) = number(db, hidden.thread)? {
            let (from, upto) = TextPlace::between(thread, hidden.from, hidden.upto);
            remove(db, from, upto)?;
        }
    }
    let mut rows = Vec::with_capacity(words.len());
    for (text, words) in piece.texts.iter().zip(words) {
        let thread = number(db, text.thread)?;
        let place = thread.and_then(|thread| TextPlace::of(thread, text.seq, text.kind));
        rows.extend(place.map(|place| (place.number(), words.folded())));
    }
    // In their order: FTS5 would begin a new segment for each that is not.
    rows.sort_by_key(|(row, _)| *row);
    let mut there = db.prepare_cached("SELECT 1 FROM search WHERE rowid = ?1")?;
    let mut insert = db.prepare_cached("INSERT INTO search (rowid, words) VALUES (?1, ?2)")?;
    for (row, words) in rows {
        if there.exists([row])? {
            remove(db, row, row)?;
        }
        if !words.is_empty() {
            insert.execute(params![row, words])?;
        }
    }
    Ok(true)
}

/// How many texts it were.
fn remove(db: &Connection, from: i64, upto: i64) -> Result<usize> {
    let mut remove = db.prepare_cached("DELETE FROM search WHERE rowid BETWEEN ?1 AND ?2")?;
    Ok(remove.execute([from, upto])?)
}

fn number(db: &Connection, thread: ThreadId) -> Result<Option<i64>> {
    let mut number = db.prepare_cached("SELECT number FROM threads WHERE id = ?1")?;
    let found = number.query_row([thread.to_string()], |row| row.get(0));
    Ok(found.optional()?)
}

/// To be called before a thread is deleted. Its words are not found then, and wiped out in the background.
pub(super) fn forget(db: &Connection, thread: ThreadId) -> Result<()> {
    let Some(thread) = number(db, thread)? else {
        return Ok(());
    };
    let (from, upto) = (TextPlace::first_of(thread), TextPlace::last_of(thread));
    if remove(db, from, upto)? > 0 {
        db.prepare_cached("UPDATE search_marks SET purge = 1 WHERE purge = 0")?
            .execute(())?;
    }
    Ok(())
}

/// To be called after a thread was deleted: the numbers of the newest rows are given again.
pub(super) fn follow_deletion(db: &Connection) -> Result<()> {
    let newest = newest_row(db)?;
    db.prepare_cached(
        "UPDATE search_marks SET old_after = min(old_after, ?1), old_upto = min(old_upto, ?1),
             new_after = min(new_after, ?1)
         WHERE new_after > ?1",
    )?
    .execute([newest])?;
    Ok(())
}

/// Rewrites a part of the index without what was deleted; whether there may be more.
pub(super) fn purge(db: &Connection) -> Result<bool> {
    if !marks(db)?.purge {
        return Ok(false);
    }
    let before = db.total_changes();
    db.execute(
        "INSERT INTO search (search, rank) VALUES ('merge', ?1)",
        [-PURGE_PAGES],
    )?;
    // As FTS5 has it: so few changes mean that there was nothing to do.
    if db.total_changes() - before >= 2 {
        return Ok(true);
    }
    db.execute("UPDATE search_marks SET purge = 0", ())?;
    Ok(false)
}

pub(super) fn search(
    db: &Connection,
    tenant: &TenantId,
    search: &IndexSearch<'_>,
) -> Result<SearchWindow> {
    if search.terms.is_empty() {
        return Ok(SearchWindow::default());
    }
    let Some((from, upto)) = rows_of(db, tenant, search)? else {
        return Err(StoreError::BadCursor);
    };
    let mut rule = WindowRule::new(search.span);
    let mut window = SearchWindow::default();
    let mut searched = None;
    let mut walk = db.prepare_cached(
        "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid BETWEEN ?2 AND ?3
         ORDER BY rowid DESC",
    )?;
    let mut rows = walk.query(params![expression(search.terms), from, upto])?;
    while let Some(row) = rows.next()? {
        let Some(place) = TextPlace::read(row.get(0)?) else {
            continue;
        };
        let kinds = &search.query.kinds;
        let is_searched = |number| {
            searched = searched_thread(db, tenant, search, number)?;
            Ok::<_, StoreError>(searched.is_some())
        };
        match rule.judge(place, kinds, is_searched)? {
            TextVerdict::Take => {}
            TextVerdict::Pass => continue,
            TextVerdict::Full => {
                window.more = true;
                break;
            }
        }
        let Some(thread) = &searched else { continue };
        let text = match place.seq {
            0 => Some(MatchedText::Title(title(db, place.thread)?)),
            seq => event(db, place.thread, seq)?.map(MatchedText::Event),
        };
        window.matches.extend(text.map(|text| SearchMatch {
            thread: thread.0,
            updated_at: thread.1,
            kind: place.kind,
            text,
        }));
    }
    for phrase in &search.terms.phrases {
        window.frequencies.push(frequency(db, phrase)?);
    }
    Ok(window)
}

/// The rows to be looked through; nothing where a thread that bounds them is not the tenant's.
fn rows_of(
    db: &Connection,
    tenant: &TenantId,
    search: &IndexSearch<'_>,
) -> Result<Option<(i64, i64)>> {
    let own = |thread: ThreadId| -> Result<Option<i64>> {
        let mut own =
            db.prepare_cached("SELECT number FROM threads WHERE id = ?1 AND tenant = ?2")?;
        let found = own.query_row([thread.to_string().as_str(), tenant.as_str()], |row| {
            row.get(0)
        });
        Ok(found.optional()?)
    };
    if let Some(thread) = search.query.thread {
        // Of one that is not there nothing is found.
        let rows = own(thread)?.map(|it| (TextPlace::first_of(it), TextPlace::last_of(it)));
        return Ok(Some(rows.unwrap_or((0, -1))));
    }
    Ok(match search.span {
        SearchSpan::Newest => Some((0, i64::MAX)),
        SearchSpan::Below(thread) => own(thread)?.map(|it| (0, TextPlace::first_of(it) - 1)),
        SearchSpan::Between { first, last } => match (own(first)?, own(last)?) {
            (Some(first), Some(last)) => {
                Some((TextPlace::first_of(last), TextPlace::last_of(first)))
            }
            _ => None,
        },
    })
}

/// A thread that is searched, and when it changed.
fn searched_thread(
    db: &Connection,
    tenant: &TenantId,
    search: &IndexSearch<'_>,
    number: i64,
) -> Result<Option<(ThreadId, Timestamp)>> {
    let query = search.query;
    let archived = match query.archived {
        ArchivedThreads::LeftOut => Some(false),
        ArchivedThreads::Only => Some(true),
        ArchivedThreads::Included => None,
    };
    let mut read = db.prepare_cached(
        "SELECT id, updated_at, summary FROM threads
         WHERE number = ?1 AND tenant = ?2 AND (?3 IS NULL OR archived = ?3)
             AND (?4 IS NULL OR workspace = ?4) AND updated_at BETWEEN ?5 AND ?6",
    )?;
    let since = query.updated_since.map_or(i64::MIN, Timestamp::millis);
    let until = query.updated_until.map_or(i64::MAX, Timestamp::millis);
    let workspace = query.workspace.as_ref().map(|id| id.as_str());
    let mut rows = read.query(params![
        number,
        tenant.as_str(),
        archived,
        workspace,
        since,
        until
    ])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let found = (queries::thread_id(row, 0)?, Timestamp(row.get(1)?));
    // What has a column was looked at; only for the rest the whole row is read.
    let has_columns_only = query.directories.is_empty()
        && query.agent.is_none()
        && query.model.is_none()
        && query.unlabelled.is_empty();
    if has_columns_only {
        return Ok(Some(found));
    }
    let thread: Thread = listing::summary(row, 2)?;
    Ok(query.matches(&thread).then_some(found))
}

fn title(db: &Connection, thread: i64) -> Result<String> {
    let mut title = db.prepare_cached(
        "SELECT json_extract(summary, '$.title.text') FROM threads WHERE number = ?1",
    )?;
    let found: Option<Option<String>> = title.query_row([thread], |row| row.get(0)).optional()?;
    Ok(found.flatten().unwrap_or_default())
}

fn event(db: &Connection, thread: i64, seq: i64) -> Result<Option<crate::StoredEvent>> {
    let mut event =
        db.prepare_cached("SELECT seq, at, payload FROM events WHERE thread = ?1 AND seq = ?2")?;
    let found = event.query_row([thread, seq], |row| queries::event(row, 0));
    Ok(found.optional()?)
}

fn frequency(db: &Connection, phrase: &Phrase) -> Result<u32> {
    // As a whole word: how often something begins so would take too long to count.
    let phrase = Phrase {
        words: phrase.words.clone(),
        is_prefix: false,
    };
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT ?2)",
    )?;
    let expression = expression(&SearchTerms {
        phrases: vec![phrase],
    });
    Ok(count.query_row(params![expression, FREQUENCY_MAX], |row| row.get(0))?)
}

/// In FTS5's language. Words have letters and digits only, so that nothing in them means something there.
fn expression(terms: &SearchTerms) -> String {
    let phrase = |phrase: &Phrase| {
        let prefix = if phrase.is_prefix { " *" } else { "" };
        format!("\"{}\"{prefix}", phrase.words.join(" "))
    };
    let phrases: Vec<String> = terms.phrases.iter().map(phrase).collect();
    phrases.join(" AND ")
}

/// All threads of a tenant that have the words in something that was said.
pub(super) fn threads_with(
    db: &Connection,
    tenant: &TenantId,
    terms: &SearchTerms,
) -> Result<Vec<ThreadId>> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let mut walk = db.prepare_cached("SELECT rowid FROM search WHERE search MATCH ?1")?;
    let mut own = db.prepare_cached("SELECT id FROM threads WHERE number = ?1 AND tenant = ?2")?;
    let mut rows = walk.query([expression(terms)])?;
    let (mut found, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let place = TextPlace::read(row.get(0)?);
        let Some(thread) = place.map(|place| place.thread) else {
            continue;
        };
        if last.replace(thread) == Some(thread) {
            continue;
        }
        let id = own.query_row(params![thread, tenant.as_str()], |row| {
            queries::thread_id(row, 0)
        });
        found.extend(id.optional()?);
    }
    Ok(found)
}
