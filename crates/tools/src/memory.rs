//! The tool `memory`: notes that outlast a conversation, kept with the workspace.
//!
//! Our notes lie in `.cowork`; what other agents keep in `.agent` is read where we have no own.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, Subject, ToolOutput};

use crate::change::PendingChange;
use crate::folders::{OTHER_AGENTS, OWN};
use crate::held::Place;
use crate::input::{Fields, blocking};
use crate::path::{self, Private};
use crate::seen::{SeenExtent, SeenFiles};
use crate::{Failure, Jobs, Judgement, Risk, Scope, Tool, ToolCx, protected, spill, text};

const NAME: &str = "memory";
/// The note that is always at hand.
const HOT: &str = "AGENT";
const KEY_CHARS_MAX: usize = 100;
const QUERY_CHARS_MAX: usize = 1000;
/// The longest note that is written.
const CONTENT_CHARS_MAX: usize = 100_000;
/// Of a longer note only the beginning is read.
const NOTE_BYTES_MAX: u64 = 1024 * 1024;
/// How many notes are looked into.
const NOTES_MAX: usize = 1000;
/// How many lines a search shows, and how much of each.
const LINES_MAX: usize = 200;
const LINE_CHARS_MAX: usize = 300;
/// The rest of a longer answer goes to a file.
const ANSWER_CHARS_MAX: usize = 30_000;

pub(crate) struct MemoryTool;

#[async_trait]
impl Tool for MemoryTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "Keeps notes about this workspace for later conversations.\n\
         read and write take a key, such as \"build-commands\"; without a key they take the main \
         note. write replaces the whole note. search finds lines that contain the query in all \
         notes. Worth keeping: commands that work here, conventions, decisions and their reasons; \
         not what the files or git tell anyway."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["read", "write", "search"]},
                "key": {"type": "string", "maxLength": KEY_CHARS_MAX, "description": "Letters, digits, '-', '_' and '.'; the main note if absent."},
                "content": {"type": "string", "maxLength": CONTENT_CHARS_MAX, "description": "To write: the whole note, as Markdown."},
                "query": {"type": "string", "description": "To search: a text; upper and lower case are the same."},
            },
            "required": ["action"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::WRITES
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Other
    }

    fn looks(&self) -> bool {
        true
    }

    fn changes(&self, _jobs: &Jobs, input: &Value) -> bool {
        writes(input)
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        if !writes(input) || !scope.read_only {
            return Judgement::Allow;
        }
        let key = input.get("key").and_then(Value::as_str).unwrap_or(HOT);
        Judgement::Ask {
            command: format!("{NAME} write {key}"),
            dangerous: false,
            risk: Risk::OutsideScope,
            why: protected::READ_ONLY.to_owned(),
        }
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        blocking(self.name(), move || act(&scope, &seen, &input)).await
    }
}

fn writes(input: &Value) -> bool {
    input.get("action").and_then(Value::as_str) == Some("write")
}

fn act(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of(NAME, input)?;
    let text = match fields.filled_text("action", KEY_CHARS_MAX)? {
        "read" => read(scope, seen, key(&fields)?)?,
        "write" => {
            let content = fields.text("content", CONTENT_CHARS_MAX)?;
            write(scope, seen, key(&fields)?, content)?
        }
        "search" => search(scope, fields.filled_text("query", QUERY_CHARS_MAX)?),
        _ => return Err(fields.refuse("action", "\"read\", \"write\" or \"search\"")),
    };
    let text = spill::cut(scope, NAME, text, ANSWER_CHARS_MAX);
    Ok(ToolOutput::Text(text))
}

/// The key that was given, without the ending that a file has.
fn key<'a>(fields: &Fields<'a>) -> Result<&'a str, Failure> {
    let given = fields.optional_text("key", KEY_CHARS_MAX)?;
    let Some(given) = given.map(str::trim).filter(|key| !key.is_empty()) else {
        return Ok(HOT);
    };
    let key = given.strip_suffix(".md").unwrap_or(given);
    match is_key(key) {
        true => Ok(key),
        false => Err(fields.refuse(
            "key",
            "letters, digits, '-', '_' and '.', with a letter or digit first",
        )),
    }
}

fn is_key(key: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    key.starts_with(char::is_alphanumeric) && key.chars().all(plain)
}

/// Where a note lies below one of the two directories.
fn inner(directory: &str, key: &str) -> String {
    match key {
        HOT => format!("{directory}/{HOT}.md"),
        key => format!("{directory}/memory/{key}.md"),
    }
}

fn read(scope: &Scope, seen: &SeenFiles, key: &str) -> Result<String, Failure> {
    for directory in [OWN, OTHER_AGENTS] {
        if let Some(note) = load(scope, Some(seen), &inner(directory, key))? {
            return Ok(match note.is_empty() {
                true => format!("[the note {key} is empty]"),
                false => note,
            });
        }
    }
    let keys = keys(scope);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    Err(error(match keys.is_empty() {
        true => format!("there is no note {key}, nor any other yet"),
        false => format!("there is no note {key}; there are: {}", keys.join(", ")),
    }))
}

/// The note that every agent is told.
pub(crate) fn main_note(scope: &Scope) -> Option<(String, String)> {
    let mut files = [OWN, OTHER_AGENTS]
        .map(|directory| inner(directory, HOT))
        .into_iter();
    files.find_map(|file| Some((file.clone(), text_in(scope, &file)?)))
}

/// The names of all notes but the main one.
pub(crate) fn other_notes(scope: &Scope) -> Vec<String> {
    let keys = [OWN, OTHER_AGENTS].map(|directory| keys_in(scope, directory));
    let mut keys: BTreeSet<String> = keys.into_iter().flatten().collect();
    keys.remove(HOT);
    keys.into_iter().collect()
}

/// The text of a file of the workspace, if there is one with words in it.
fn text_in(scope: &Scope, path: &str) -> Option<String> {
    let text = load(scope, None, path).ok().flatten()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Whether there is anything at all. Looked at before the path guard is asked, which costs a hundred times
/// as much: every turn looks for notes, and most workspaces have none.
fn is_there(scope: &Scope, inner: &str) -> bool {
    std::fs::symlink_metadata(scope.directory.join(inner)).is_ok()
}

/// The text of a note, if there is one.
fn load(scope: &Scope, seen: Option<&SeenFiles>, inner: &str) -> Result<Option<String>, Failure> {
    if !is_there(scope, inner) {
        return Ok(None);
    }
    let target = path::resolve(NAME, scope, inner)?;
    let opened = Place::find(&target).and_then(|place| place.open());
    let (file, stamp) = match opened {
        Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
        outcome => outcome.map_err(|problem| error(format!("cannot read {inner}: {problem}")))?,
    };
    let mut bytes = Vec::new();
    file.take(NOTE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|problem| error(format!("cannot read {inner}: {problem}")))?;
    if let Some(seen) = seen {
        let whole = bytes.len() as u64 == stamp.bytes;
        let content = whole.then_some(&bytes[..]);
        seen.note(&target, stamp, content, SeenExtent::Whole);
    }
    let decoded = text::decode(&bytes);
    Ok(decoded.map(|(text, _)| text.into_owned()))
}

fn write(scope: &Scope, seen: &SeenFiles, key: &str, content: &str) -> Result<String, Failure> {
    let root = std::fs::canonicalize(&scope.directory)
        .map_err(|problem| error(format!("the workspace cannot be reached: {problem}")))?;
    let inner = inner(OWN, key);
    // Not through the path guard, which lets nobody write here; and no link on the way is followed.
    let target: PathBuf = root.join(&inner);
    if Private::of(scope).has(&target) {
        return Err(error(format!(
            "{OWN} of this workspace belongs to the server; no notes can be kept here"
        )));
    }
    let _alone = seen.changing();
    let draft = PendingChange::open(NAME, &inner, target)?;
    draft.known(seen)?;
    draft.save_whole(seen, content.as_bytes())?;
    Ok(format!(
        "Wrote {} chars to {inner}",
        content.chars().count()
    ))
}

/// The keys of all notes, ours and others'.
fn keys(scope: &Scope) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for directory in [OWN, OTHER_AGENTS] {
        if let Ok(Some(_)) = load(scope, None, &inner(directory, HOT)) {
            keys.insert(HOT.to_owned());
        }
        keys.extend(keys_in(scope, directory));
    }
    keys
}

/// The keys of the notes beside the main one.
fn keys_in(scope: &Scope, directory: &str) -> Vec<String> {
    let inner = format!("{directory}/memory");
    if !is_there(scope, &inner) {
        return Vec::new();
    }
    let listed = path::resolve(NAME, scope, &inner);
    let entries = listed.ok().and_then(|path| std::fs::read_dir(path).ok());
    let entries = entries.into_iter().flatten().flatten().take(NOTES_MAX);
    let key = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let key = name.to_str().and_then(|name| name.strip_suffix(".md"));
        key.filter(|key| is_key(key)).map(str::to_owned)
    };
    entries.filter_map(key).collect()
}

fn search(scope: &Scope, query: &str) -> String {
    let wanted = query.to_lowercase();
    let mut lines = Vec::new();
    for key in keys(scope) {
        // Ours stands for another of the same name, as it does for read.
        let note = [OWN, OTHER_AGENTS]
            .iter()
            .find_map(|directory| load(scope, None, &inner(directory, &key)).ok().flatten());
        for (index, line) in note.unwrap_or_default().lines().enumerate() {
            if !line.to_lowercase().contains(&wanted) {
                continue;
            }
            if lines.len() == LINES_MAX {
                lines.push("[there are more; search for something rarer]".to_owned());
                return lines.join("\n");
            }
            let line: String = line.chars().take(LINE_CHARS_MAX).collect();
            lines.push(format!("{key}:{}: {line}", index + 1));
        }
    }
    match lines.is_empty() {
        true => format!("No notes contain {query:?}."),
        false => lines.join("\n"),
    }
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("{NAME}: {message}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    async fn text(scratch: &Scratch, input: Value) -> String {
        match scratch.run(&MemoryTool, input).await {
            Ok(ToolOutput::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    fn foreign(scratch: &Scratch) {
        std::fs::create_dir_all(scratch.path(".agent/memory")).unwrap();
        std::fs::write(scratch.path(".agent/AGENT.md"), "theirs\n").unwrap();
        std::fs::write(scratch.path(".agent/memory/build.md"), "Use make\n").unwrap();
    }

    #[tokio::test]
    async fn notes_are_written_to_our_place_and_shadow_the_others() {
        let scratch = Scratch::new();
        foreign(&scratch);
        assert_eq!(text(&scratch, json!({"action": "read"})).await, "theirs\n");
        let input = json!({"action": "write", "content": "ours"});
        assert_eq!(
            text(&scratch, input).await,
            "Wrote 4 chars to .cowork/AGENT.md"
        );
        assert_eq!(text(&scratch, json!({"action": "read"})).await, "ours");
        let input = json!({"action": "write", "key": "build.md", "content": "Use cargo\nand make"});
        text(&scratch, input).await;
        let build = json!({"action": "read", "key": "build"});
        assert_eq!(text(&scratch, build).await, "Use cargo\nand make");
        let foreign = std::fs::read(scratch.path(".agent/memory/build.md")).unwrap();
        assert_eq!(foreign, b"Use make\n", "what others keep is only read");
        let found = text(&scratch, json!({"action": "search", "query": "MAKE"})).await;
        assert_eq!(found, "build:2: and make");
        let found = text(&scratch, json!({"action": "search", "query": "nowhere"})).await;
        assert_eq!(found, "No notes contain \"nowhere\".");
    }

    #[tokio::test]
    async fn a_note_that_changed_since_it_was_read_is_not_replaced() {
        let scratch = Scratch::new();
        let cx = scratch.cx(&Arc::default());
        let write = json!({"action": "write", "key": "k", "content": "one"});
        MemoryTool.run(&cx, write.clone()).await.unwrap();
        std::fs::write(scratch.path(".cowork/memory/k.md"), "by the user").unwrap();
        let refused = MemoryTool.run(&cx, write.clone()).await;
        let message = "memory: .cowork/memory/k.md changed since you read it; read it again";
        assert_eq!(refused, Err(Failure::Error(message.to_owned())));
        let read = json!({"action": "read", "key": "k"});
        MemoryTool.run(&cx, read).await.unwrap();
        MemoryTool.run(&cx, write).await.unwrap();
    }

    #[tokio::test]
    async fn keys_lead_nowhere_else() {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        for key in ["../x", "a/b", ".hidden", "..", "a\\b", "a b", "/etc/passwd"] {
            for action in ["read", "write"] {
                let input = json!({"action": action, "key": key, "content": ""});
                let message = scratch.refusal(&MemoryTool, input).await;
                assert!(message.contains("\"key\" must be letters"), "{message}");
            }
        }
        std::os::unix::fs::symlink(other.path(""), scratch.path(".cowork")).unwrap();
        let input = json!({"action": "write", "key": "k", "content": "x"});
        assert!(scratch.run(&MemoryTool, input).await.is_err());
        assert_eq!(std::fs::read_dir(other.path("")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_cannot_be_done_is_refused() {
        let scratch = Scratch::new();
        let message = scratch
            .refusal(&MemoryTool, json!({"action": "read", "key": "k"}))
            .await;
        assert_eq!(message, "memory: there is no note k, nor any other yet");
        foreign(&scratch);
        let table = [
            (
                json!({"action": "read", "key": "k"}),
                "there is no note k; there are: AGENT, build",
            ),
            (
                json!({"action": "write"}),
                "\"content\" must be a text, got nothing",
            ),
            (
                json!({"action": "search"}),
                "\"query\" must be a text, got nothing",
            ),
            (
                json!({"action": "forget"}),
                "\"read\", \"write\" or \"search\", got \"forget\"",
            ),
        ];
        for (input, expected) in table {
            let message = scratch.refusal(&MemoryTool, input).await;
            assert!(message.contains(expected), "{message}");
        }
        let mut cx = scratch.cx(&Arc::default());
        cx.scope.private.push(scratch.path(".cowork"));
        let refused = MemoryTool
            .run(&cx, json!({"action": "write", "content": "x"}))
            .await;
        assert!(
            matches!(refused, Err(Failure::Error(message)) if message.contains("belongs to the server"))
        );
    }
}
