//! The tool `glob`: finds files by their names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::DirEntry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use vocabulary::{Effects, Subject, ToolOutput};

use crate::input::{self, Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::walk::{self, Walker};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, spill};

const RESULTS_DEFAULT: u64 = 2000;
const RESULTS_MAX: u64 = 10_000;
const PATTERN_CHARS_MAX: usize = 1000;
/// The rest of a longer answer goes to a file.
const ANSWER_CHARS_MAX: usize = 100_000;
const NOTHING: &str = "No files found.";

pub(crate) struct GlobTool;

#[async_trait]
impl Tool for GlobTool {
    fn name(&self) -> &'static str {
        "glob"
    }

    fn description(&self) -> &'static str {
        "Finds files by name.\n\
         The pattern is matched against paths below cwd: * and ? stay within one name, ** crosses \
         directories, {a,b} and [ab] are choices; \"**/*.rs\" finds at any depth. Names that begin \
         with a dot are found only if the pattern writes the dot. Answers with paths, the newest \
         file first."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Such as \"src/**/*.{ts,tsx}\"."},
                "cwd": {"type": "string", "description": "Where to start; the workspace if absent."},
                "maxResults": {"type": "integer", "minimum": 1, "maximum": RESULTS_MAX, "default": RESULTS_DEFAULT},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::READS
    }

    fn subject(&self, input: &Value) -> Subject {
        input::file_subject(input, "cwd")
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, cancel) = (cx.scope.clone(), cx.cancel.clone());
        blocking(self.name(), move || glob(&scope, &cancel, &input)).await
    }
}

fn glob(scope: &Scope, cancel: &CancellationToken, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("glob", input)?;
    let pattern = fields.filled_text("pattern", PATTERN_CHARS_MAX)?;
    let cwd = fields.optional_text("cwd", PATH_CHARS_MAX)?;
    let most = fields
        .optional_whole("maxResults", 1..=RESULTS_MAX)?
        .unwrap_or(RESULTS_DEFAULT);
    let (base, rest) = split(pattern);
    let start = path::resolve(
        "glob",
        scope,
        cwd.filter(|cwd| !cwd.is_empty()).unwrap_or("."),
    )?;
    if cwd.is_some() && !start.is_dir() {
        return Err(error(format!(
            "\"cwd\" {} is not a directory",
            cwd.unwrap_or_default()
        )));
    }
    let root = match base {
        "" => start,
        base => path::resolve_from("glob", scope, &start, base)?,
    };
    let matcher = compile(rest)?;
    let found = find(
        scope,
        cancel,
        &root,
        matcher,
        Dotted::of(rest),
        most as usize,
    );
    if cancel.is_cancelled() {
        return Err(walk::cancelled());
    }
    let text = tell(scope, found);
    Ok(ToolOutput::Text(spill::cut(
        scope,
        "glob",
        text,
        ANSWER_CHARS_MAX,
    )))
}

/// The directory that the pattern begins with, and the pattern below it.
fn split(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', '{', '\\']);
    let literal = &pattern[..special.unwrap_or(pattern.len())];
    match literal.rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(end) => (&pattern[..end], &pattern[end + 1..]),
        None => ("", pattern),
    }
}

/// A set of the one pattern, as sets know short ways for the usual forms, such as an ending.
fn compile(pattern: &str) -> Result<GlobSet, Failure> {
    let wrong = |problem: globset::Error| {
        error(format!(
            "\"pattern\" is not a glob: {}; write \\ before a bracket that is part of a name",
            problem.kind()
        ))
    };
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let mut set = GlobSetBuilder::new();
    set.add(glob.map_err(wrong)?);
    set.build().map_err(wrong)
}

/// The names with a dot in front that a pattern asks for.
#[derive(Clone)]
struct Dotted(Vec<GlobSet>);

impl Dotted {
    fn of(pattern: &str) -> Dotted {
        let asks =
            |part: &&str| part.starts_with('.') || part.contains("{.") || part.contains(",.");
        let parts = pattern.split('/').filter(asks);
        Dotted(parts.filter_map(|part| compile(part).ok()).collect())
    }

    fn allows(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        entry.depth() == 0
            || !name.as_encoded_bytes().starts_with(b".")
            || self.0.iter().any(|matcher| matcher.is_match(name))
    }
}

/// The newest files, at most so many, and how many there were.
#[derive(Default)]
struct NewestFiles {
    newest: BinaryHeap<Reverse<(SystemTime, Reverse<PathBuf>)>>,
    count: usize,
}

fn find(
    scope: &Scope,
    cancel: &CancellationToken,
    root: &Path,
    matcher: GlobSet,
    dotted: Dotted,
    most: usize,
) -> NewestFiles {
    let mut builder = walk::below(scope, root, move |entry| dotted.allows(entry));
    builder.standard_filters(false);
    let all = Mutex::new(NewestFiles::default());
    walk::run(&builder, cancel, || Finder {
        root,
        matcher: &matcher,
        most,
        found: NewestFiles::default(),
        all: &all,
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl NewestFiles {
    fn add(&mut self, file: Reverse<(SystemTime, Reverse<PathBuf>)>, most: usize) {
        self.newest.push(file);
        if self.newest.len() > most {
            self.newest.pop();
        }
    }
}

/// One thread of a search, with what it found itself.
struct Finder<'a> {
    root: &'a Path,
    matcher: &'a GlobSet,
    most: usize,
    found: NewestFiles,
    all: &'a Mutex<NewestFiles>,
}

impl Walker for Finder<'_> {
    fn file(&mut self, entry: &DirEntry) -> bool {
        let Ok(inner) = entry.path().strip_prefix(self.root) else {
            return true;
        };
        if !self.matcher.is_match(inner) {
            return true;
        }
        // A file that is gone by now was not found.
        let Ok(modified) = entry.metadata().map(|metadata| metadata.modified()) else {
            return true;
        };
        let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
        let file = Reverse((modified, Reverse(entry.path().to_owned())));
        self.found.count += 1;
        self.found.add(file, self.most);
        true
    }
}

impl Drop for Finder<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.count += self.found.count;
        for file in self.found.newest.drain() {
            all.add(file, self.most);
        }
    }
}

fn tell(scope: &Scope, found: NewestFiles) -> String {
    let more = found.count - found.newest.len();
    let show = path::PathDisplay::of(scope);
    // Sorted ascending by what is reversed: the newest first, then by name.
    let mut lines: Vec<String> = found
        .newest
        .into_sorted_vec()
        .into_iter()
        .map(|Reverse((_, Reverse(path)))| show.path(&path))
        .collect();
    if lines.is_empty() {
        return NOTHING.to_owned();
    }
    if more > 0 {
        lines.push(format!(
            "[{more} older files were found too; narrow the pattern or raise maxResults]"
        ));
    }
    lines.join("\n")
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("glob: {message}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::time::Duration;

    use super::*;
    use crate::scratch::Scratch;

    /// Makes files, each newer than the one before.
    fn tree(names: &[&str]) -> Scratch {
        let scratch = Scratch::new();
        for (age, name) in names.iter().enumerate() {
            let path = scratch.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + age as u64);
            File::create(path).unwrap().set_modified(time).unwrap();
        }
        scratch
    }

    async fn found(scratch: &Scratch, input: Value) -> String {
        match scratch.run(&GlobTool, input).await {
            Ok(ToolOutput::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn patterns_find_what_they_say_newest_first() {
        let scratch = tree(&[
            "a.rs",
            "src/b.rs",
            "src/deep/c.rs",
            "src/d.txt",
            ".env",
            ".github/ci.yml",
            "src/.hidden.rs",
            "node_modules/x.rs",
            "we[ird].rs",
        ]);
        std::fs::write(scratch.path(".gitignore"), "node_modules\n").unwrap();
        std::os::unix::fs::symlink("/etc", scratch.path("src/etc")).unwrap();
        let table = [
            ("*.rs", "we[ird].rs\na.rs"),
            (
                "**/*.rs",
                "we[ird].rs\nnode_modules/x.rs\nsrc/deep/c.rs\nsrc/b.rs\na.rs",
            ),
            ("src/**/*.{rs,txt}", "src/d.txt\nsrc/deep/c.rs\nsrc/b.rs"),
            ("./src/*.rs", "src/b.rs"),
            ("src/b.rs", "src/b.rs"),
            ("**/.hidden*", "src/.hidden.rs"),
            (".github/**", ".github/ci.yml"),
            ("{.github,src}/*.{yml,txt}", ".github/ci.yml\nsrc/d.txt"),
            (".env", ".env"),
            ("we\\[ird\\].rs", "we[ird].rs"),
            ("*.py", NOTHING),
            ("none/*.py", NOTHING),
            ("src/etc/*", NOTHING),
        ];
        for (pattern, expected) in table {
            if pattern == "src/etc/*" {
                let message = scratch
                    .refusal(&GlobTool, json!({"pattern": pattern}))
                    .await;
                assert!(
                    message.contains("glob blocked: canonical target"),
                    "{message}"
                );
                continue;
            }
            let answer = found(&scratch, json!({"pattern": pattern})).await;
            assert_eq!(answer, expected, "{pattern}");
        }
        let answer = found(&scratch, json!({"pattern": "**/*.rs", "cwd": "src"})).await;
        assert_eq!(answer, "src/deep/c.rs\nsrc/b.rs");
        let absolute = scratch.path("src/*.rs");
        let answer = found(&scratch, json!({"pattern": absolute.to_str().unwrap()})).await;
        assert_eq!(answer, "src/b.rs");
    }

    #[tokio::test]
    async fn too_many_are_cut_to_the_newest() {
        let scratch = tree(&["1", "2", "3"]);
        let answer = found(&scratch, json!({"pattern": "*", "maxResults": 2})).await;
        assert_eq!(
            answer,
            "3\n2\n[1 older files were found too; narrow the pattern or raise maxResults]"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_searched_is_refused() {
        let scratch = tree(&["a"]);
        let table = [
            (
                json!({"pattern": "a[b"}),
                "glob: \"pattern\" is not a glob: unclosed character class",
            ),
            (
                json!({"pattern": ""}),
                "glob: \"pattern\" must be a text that is not empty",
            ),
            (
                json!({"pattern": "*", "maxResults": 10001}),
                "from 1 to 10000, got 10001",
            ),
            (
                json!({"pattern": "*", "cwd": "a"}),
                "glob: \"cwd\" a is not a directory",
            ),
            (
                json!({"pattern": "*", "cwd": "/etc"}),
                "glob blocked: path is outside",
            ),
            (
                json!({"pattern": "/etc/*"}),
                "glob blocked: path is outside",
            ),
            (json!({"pattern": "../*"}), "glob blocked: path is outside"),
        ];
        for (input, expected) in table {
            let message = scratch.refusal(&GlobTool, input).await;
            assert!(message.contains(expected), "{message}");
        }
    }

    #[tokio::test]
    async fn private_directories_are_not_walked_and_cancelling_stops() {
        let scratch = tree(&["home/token", "a"]);
        let mut cx = scratch.cx(&std::sync::Arc::default());
        cx.scope.private.push(scratch.path("home"));
        let input = json!({"pattern": "**"});
        let answer = GlobTool.run(&cx, input.clone()).await.unwrap();
        assert_eq!(answer, ToolOutput::Text("a".to_owned()));
        cx.cancel.cancel();
        let outcome = GlobTool.run(&cx, input).await;
        assert!(matches!(outcome, Err(Failure::Cancelled(_))), "{outcome:?}");
    }
}
