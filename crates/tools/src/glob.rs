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
use crate::path::{self, PATH_CHARS_MAX, outside};
use crate::walk::{self, Walker};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, spill};

const RESULTS_DEFAULT: u64 = 200;
const RESULTS_MAX: u64 = 10_000;
const PATTERN_CHARS_MAX: usize = 1000;
/// The rest of a longer answer goes to a file.
const ANSWER_CHARS_MAX: usize = 100_000;

pub(crate) struct GlobTool;

#[async_trait]
impl Tool for GlobTool {
    fn name(&self) -> &'static str {
        "glob"
    }

    fn description(&self) -> &'static str {
        "Finds files by name.\n\
         A pattern without / is matched against names at any depth, another against paths below \
         cwd: * and ? stay within one name, ** crosses directories, {a,b} and [ab] are choices, a / at the end means directories. Names \
         that begin with a dot are found only if the pattern writes the dot, files that git ignores \
         only if there are no others. Answers with paths, the newest file first."
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

    fn reads_outside(&self, scope: &Scope, input: &Value) -> Option<PathBuf> {
        let wanted = GlobRequest::of(input::text_of(input, "pattern"), 1).ok()?;
        let place = wanted.place(input::text_of(input, "cwd"));
        outside::asked_for(scope, &scope.directory, &place)
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        outside::judge(self, scope, input)
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
    let wanted = GlobRequest::of(pattern, most as usize)?;
    let place = wanted.place(cwd.unwrap_or_default());
    let root = outside::resolve_to_read("glob", scope, &place)?;
    if wanted.base.is_empty() && !root.is_dir() {
        return Err(error(format!("\"cwd\" {place} is not a directory")));
    }
    let mut found = find(scope, cancel, &root, &wanted, IgnoredFiles::LeftOut);
    let mut note = None;
    if found.count == 0 {
        found = find(scope, cancel, &root, &wanted, IgnoredFiles::Found);
        note = (found.count > 0).then_some("[git ignores all of these]");
    }
    if cancel.is_cancelled() {
        return Err(walk::cancelled());
    }
    let text = tell(scope, found, &wanted, note);
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

/// Which files a search wants, and at most how many.
struct GlobRequest<'a> {
    /// Below this directory.
    base: &'a str,
    matcher: GlobSet,
    dotted: Dotted,
    most: usize,
    /// Whether directories are wanted, and no files.
    directories: bool,
}

impl GlobRequest<'_> {
    fn of(pattern: &str, most: usize) -> Result<GlobRequest<'_>, Failure> {
        let (pattern, directories) = match pattern.strip_suffix('/') {
            Some(pattern) if !pattern.is_empty() => (pattern, true),
            Some(_) | None => (pattern, false),
        };
        let (base, rest) = split(pattern);
        let rest = match pattern.contains('/') {
            true => rest.to_owned(),
            false => format!("**/{pattern}"),
        };
        Ok(GlobRequest {
            base,
            matcher: compile(&rest)?,
            dotted: Dotted::of(&rest),
            most,
            directories,
        })
    }

    /// Where the search begins.
    fn place(&self, cwd: &str) -> String {
        match (cwd, self.base) {
            ("", "") => ".".to_owned(),
            (cwd, "") => cwd.to_owned(),
            (cwd, base) => Path::new(cwd).join(base).display().to_string(),
        }
    }
}

/// What becomes of files that git ignores: mostly what was built or fetched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IgnoredFiles {
    LeftOut,
    Found,
}

fn find(
    scope: &Scope,
    cancel: &CancellationToken,
    root: &Path,
    wanted: &GlobRequest<'_>,
    ignored: IgnoredFiles,
) -> NewestFiles {
    let dotted = wanted.dotted.clone();
    let mut builder = walk::below(scope, root, move |entry| dotted.allows(entry));
    // Which hidden names are found is for the pattern to say.
    builder
        .standard_filters(ignored == IgnoredFiles::LeftOut)
        .hidden(false);
    let all = Mutex::new(NewestFiles::default());
    walk::run(&builder, cancel, || Finder {
        root,
        wanted,
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
    wanted: &'a GlobRequest<'a>,
    found: NewestFiles,
    all: &'a Mutex<NewestFiles>,
}

impl Finder<'_> {
    fn take(&mut self, entry: &DirEntry) {
        let inner = entry.path().strip_prefix(self.root);
        if !inner.is_ok_and(|inner| self.wanted.matcher.is_match(inner)) {
            return;
        }
        // What is gone by now was not found.
        let Ok(modified) = entry.metadata().map(|metadata| metadata.modified()) else {
            return;
        };
        let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
        let file = Reverse((modified, Reverse(entry.path().to_owned())));
        self.found.count += 1;
        self.found.add(file, self.wanted.most);
    }
}

impl Walker for Finder<'_> {
    fn file(&mut self, entry: &DirEntry) -> bool {
        if !self.wanted.directories {
            self.take(entry);
        }
        true
    }

    fn directory(&mut self, entry: &DirEntry) {
        if self.wanted.directories {
            self.take(entry);
        }
    }
}

impl Drop for Finder<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.count += self.found.count;
        for file in self.found.newest.drain() {
            all.add(file, self.wanted.most);
        }
    }
}

fn tell(scope: &Scope, found: NewestFiles, wanted: &GlobRequest<'_>, note: Option<&str>) -> String {
    let (end, kind) = match wanted.directories {
        true => ("/", "directories"),
        false => ("", "files"),
    };
    let count = found.count;
    let show = path::PathDisplay::of(scope);
    // Sorted ascending by what is reversed: the newest first, then by name.
    let mut lines: Vec<String> = found
        .newest
        .into_sorted_vec()
        .into_iter()
        .map(|Reverse((_, Reverse(path)))| show.path(&path) + end)
        .collect();
    if lines.is_empty() {
        return format!("No {kind} found.");
    }
    if lines.len() < count {
        lines.push(format!(
            "[{} of {count} {kind}, the newest; narrow the pattern or raise maxResults]",
            lines.len()
        ));
    }
    lines.extend(note.map(str::to_owned));
    lines.join("\n")
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("glob: {message}"))
}

#[cfg(test)]
mod tests;
