//! The tool `grep`: searches the content of files, with the parts that ripgrep is made of.

mod lines;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use vocabulary::{Effects, Subject, ToolOutput};

use crate::input::{self, Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX, PathDisplay};
use crate::walk::{self, Walker};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, held, spill};
use lines::Lines;

const PATTERN_CHARS_MAX: usize = 10_000;
const CONTEXT_MAX: u64 = 50;
/// The rest of a longer answer goes to a file.
const ANSWER_CHARS_MAX: usize = 30_000;
/// With more the search ends; so much fits the file for the rest.
const FOUND_BYTES_MAX: usize = spill::FILE_BYTES_MAX / 2;
/// A file with longer lines than fit here is given up.
const HEAP_BYTES_MAX: usize = 64 * 1024 * 1024;
const NOTHING: &str = "No matches found.";

pub(crate) struct GrepTool;

#[async_trait]
impl Tool for GrepTool {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn description(&self) -> &'static str {
        "Searches the content of files.\n\
         The pattern is a regular expression as ripgrep has it, matched line by line. Answers with \
         path:line:text, lines around a match as path-line-text. Files that git ignores, hidden and \
         binary files are left out."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "A regular expression, such as \"fn \\\\w+_test\"."},
                "path": {"type": "string", "description": "A file or directory; the workspace if absent."},
                "fileGlob": {"type": "string", "description": "Only files of such names, such as \"*.rs\" or \"!*.min.js\"."},
                "contextLines": {"type": "integer", "minimum": 0, "maximum": CONTEXT_MAX, "description": "How many lines to show around each match."},
                "caseSensitive": {"type": "boolean", "default": true},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::READS
    }

    fn subject(&self, input: &Value) -> Subject {
        input::file_subject(input, "path")
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, cancel) = (cx.scope.clone(), cx.cancel.clone());
        blocking(self.name(), move || grep(&scope, &cancel, &input)).await
    }
}

fn grep(scope: &Scope, cancel: &CancellationToken, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("grep", input)?;
    let pattern = fields.text("pattern", PATTERN_CHARS_MAX)?;
    if pattern.is_empty() {
        return Err(fields.refuse("pattern", "a text that is not empty"));
    }
    let given = fields.optional_text("path", PATH_CHARS_MAX)?;
    let given = given.filter(|path| !path.is_empty()).unwrap_or(".");
    let context = fields.optional_whole("contextLines", 0..=CONTEXT_MAX)?;
    let case_sensitive = fields.optional_flag("caseSensitive")?.unwrap_or(true);
    let matcher = compile(pattern, case_sensitive)?;
    let root = path::resolve("grep", scope, given)?;
    let only = overrides(&root, fields.optional_text("fileGlob", PATH_CHARS_MAX)?)?;
    let kind = std::fs::metadata(&root)
        .map_err(|_| error(format!("{given} does not exist; find files with glob")))?;
    let search = Search {
        cancel,
        matcher,
        context: context.unwrap_or(0) as usize,
        shown: PathDisplay::of(scope),
        found: Mutex::default(),
        bytes: AtomicUsize::new(0),
        binary: AtomicBool::new(false),
    };
    if kind.is_dir() {
        walk::run(&tree(scope, &root, only), cancel, || search.thread());
    } else if kind.is_file() {
        search.thread().search(&root);
    } else {
        return Err(error(format!("{given} is not a plain file or directory")));
    }
    if cancel.is_cancelled() {
        return Err(walk::cancelled());
    }
    let text = search.tell(given, kind.is_file());
    Ok(ToolOutput::Text(spill::cut(
        scope,
        "grep",
        text,
        ANSWER_CHARS_MAX,
    )))
}

fn compile(pattern: &str, case_sensitive: bool) -> Result<RegexMatcher, Failure> {
    RegexMatcherBuilder::new()
        .case_insensitive(!case_sensitive)
        .multi_line(true)
        .unicode(true)
        // `$` stands before either kind of line end.
        .crlf(true)
        .build(pattern)
        .map_err(|problem| match pattern.contains("\\n") || pattern.contains('\n') {
            true => error("\"pattern\" has a line break, but is matched line by line; search for a part"),
            false => error(format!(
                "\"pattern\" is not a regular expression; write \\ before ( ) [ ] {{ }} . * + ? ^ $ | \
                 that are meant as they are. {problem}"
            )),
        })
}

fn overrides(root: &Path, glob: Option<&str>) -> Result<Override, Failure> {
    let mut builder = OverrideBuilder::new(root);
    let wrong = |problem: ignore::Error| error(format!("\"fileGlob\" is not a glob: {problem}"));
    if let Some(glob) = glob.filter(|glob| !glob.is_empty()) {
        builder.add(glob).map_err(wrong)?;
    }
    builder.build().map_err(wrong)
}

fn tree(scope: &Scope, root: &Path, only: Override) -> WalkBuilder {
    let mut builder = walk::below(scope, root, |_| true);
    builder.overrides(only);
    builder
}

/// One search: what all its threads share.
struct Search<'a> {
    cancel: &'a CancellationToken,
    matcher: RegexMatcher,
    context: usize,
    shown: PathDisplay,
    /// What was found, by file.
    found: Mutex<Vec<(PathBuf, String)>>,
    bytes: AtomicUsize,
    /// Whether a binary file was left out.
    binary: AtomicBool,
}

impl Search<'_> {
    fn thread(&self) -> SearchThread<'_> {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(HEAP_BYTES_MAX))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        SearchThread {
            search: self,
            searcher,
        }
    }

    fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= FOUND_BYTES_MAX
    }

    fn tell(self, given: &str, one_file: bool) -> String {
        let full = self.is_full();
        let mut found = self
            .found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() {
            return match one_file && self.binary.into_inner() {
                true => format!("{NOTHING} ({given} is a binary file; search it with a command)"),
                false => NOTHING.to_owned(),
            };
        }
        // Threads finish in any order; people and models want the same one each time.
        found.sort();
        let separator = if self.context > 0 { "\n--\n" } else { "\n" };
        let texts: Vec<&str> = found
            .iter()
            .map(|(_, text)| text.trim_end_matches('\n'))
            .collect();
        let mut text = texts.join(separator);
        if full {
            text.push_str("\n[there are more matches; the search ended here, narrow it]");
        }
        text
    }
}

/// One thread of a search.
struct SearchThread<'a> {
    search: &'a Search<'a>,
    searcher: Searcher,
}

impl SearchThread<'_> {
    fn search(&mut self, path: &Path) {
        // What cannot be opened is left out, as ripgrep does after saying so on stderr.
        let Ok(file) = held::open(path) else {
            return;
        };
        let shown = self.search.shown.path(path);
        let mut lines = Lines::new(&shown, FOUND_BYTES_MAX);
        let reader = Cancellable {
            file,
            cancel: self.search.cancel,
        };
        let matcher = &self.search.matcher;
        // An error ends this file: it cannot be read, or a line is too long to hold.
        let _ = self.searcher.search_reader(matcher, reader, &mut lines);
        if lines.is_binary() {
            self.search.binary.store(true, Ordering::Relaxed);
        }
        let text = lines.into_text();
        if !text.is_empty() {
            self.search.bytes.fetch_add(text.len(), Ordering::Relaxed);
            let mut found = self
                .search
                .found
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            found.push((path.to_owned(), text));
        }
    }
}

impl Walker for SearchThread<'_> {
    fn file(&mut self, entry: &DirEntry) -> bool {
        self.search(entry.path());
        !self.search.is_full()
    }
}

/// A file that ends when the search is cancelled, as one file may be huge.
struct Cancellable<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.cancel.is_cancelled() {
            true => Ok(0),
            false => self.file.read(buffer),
        }
    }
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("grep: {message}"))
}

#[cfg(test)]
mod tests;
