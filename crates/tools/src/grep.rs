//! The tool `grep`: searches the content of files, with the parts that ripgrep is made of.

mod lines;
mod report;
mod search;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::WalkBuilder;
use ignore::overrides::{Override, OverrideBuilder};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use vocabulary::{Effects, Subject, ToolOutput};

use crate::input::{self, Fields, blocking};
use crate::path::{PATH_CHARS_MAX, PathDisplay, outside};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, spill, walk};
use report::GrepMode;
use search::Search;

const PATTERN_CHARS_MAX: usize = 10_000;
const CONTEXT_MAX: u64 = 50;
const LIMIT_DEFAULT: u64 = 200;
const LIMIT_MAX: u64 = 2000;
/// After a search in vain so many files that were left out are looked at.
const LEFT_OUT_FILES_MAX: usize = 5000;
/// The rest of a longer answer goes to a file.
const ANSWER_CHARS_MAX: usize = 16_000;

pub(crate) struct GrepTool;

#[async_trait]
impl Tool for GrepTool {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn description(&self) -> &'static str {
        "Searches the content of files.\n\
         The pattern is a regular expression as ripgrep has it. Answers with path:line:text, lines \
         around a match as path-line-text; with more matches than the limit, with counts per file \
         first. Files that git ignores, hidden and binary files are left out. Use it rather than grep \
         or rg in a command."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Such as \"fn \\\\w+_test\"."},
                "path": {"type": "string", "description": "A file or directory; the workspace if absent."},
                "include": {"type": "string", "description": "Only such files: \"*.rs\", \"src/**/*.{ts,tsx}\"."},
                "exclude": {"type": "string", "description": "No such files: \"*.min.js\", \"vendor/\"."},
                "mode": {"type": "string", "enum": GrepMode::NAMES, "default": "lines", "description": "Matching lines, names of files, or matches per file."},
                "context": {"type": "integer", "minimum": 0, "maximum": CONTEXT_MAX, "description": "Lines to show around each match."},
                "multiline": {"type": "boolean", "default": false, "description": "A match may cross lines, and . is a line end, too."},
                "caseSensitive": {"type": "boolean", "description": "If absent: only if the pattern has a capital letter."},
                "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
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

    fn reads_outside(&self, scope: &Scope, input: &Value) -> Option<PathBuf> {
        outside::asked_for(scope, &scope.directory, input::text_of(input, "path"))
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        outside::judge(self, scope, input)
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, cancel) = (cx.scope.clone(), cx.cancel.clone());
        blocking(self.name(), move || grep(&scope, &cancel, &input)).await
    }
}

/// What is wanted of a search, beside the place.
struct GrepRequest {
    matcher: RegexMatcher,
    mode: GrepMode,
    context: usize,
    multiline: bool,
    limit: usize,
}

fn parse(fields: &Fields<'_>) -> Result<GrepRequest, Failure> {
    let pattern = fields.text("pattern", PATTERN_CHARS_MAX)?;
    if pattern.is_empty() {
        return Err(fields.refuse("pattern", "a text that is not empty"));
    }
    let multiline = fields.optional_flag("multiline")?.unwrap_or(false);
    let case_sensitive = fields.optional_flag("caseSensitive")?;
    let limit = fields.optional_whole("limit", 1..=LIMIT_MAX)?;
    let context = fields.optional_whole("context", 0..=CONTEXT_MAX)?;
    Ok(GrepRequest {
        matcher: compile(pattern, case_sensitive, multiline)?,
        mode: GrepMode::of(fields)?,
        context: context.unwrap_or(0) as usize,
        multiline,
        limit: limit.unwrap_or(LIMIT_DEFAULT) as usize,
    })
}

fn grep(scope: &Scope, cancel: &CancellationToken, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("grep", input)?;
    let request = parse(&fields)?;
    let given = fields.optional_text("path", PATH_CHARS_MAX)?;
    let given = given.filter(|path| !path.is_empty()).unwrap_or(".");
    let root = outside::resolve_to_read("grep", scope, given)?;
    let only = overrides(&root, &fields)?;
    let kind = std::fs::metadata(&root)
        .map_err(|_| error(format!("{given} does not exist; find files with glob")))?;
    let search = Search::new(cancel, &request, PathDisplay::of(scope));
    if kind.is_dir() {
        walk::run(&tree(scope, &root, &only), cancel, || search.thread());
    } else if kind.is_file() {
        search.thread().search(&root);
    } else {
        return Err(error(format!("{given} is not a plain file or directory")));
    }
    let found = search.found();
    let text = match (found.files.is_empty(), kind.is_file() && found.binary) {
        (_, true) => report::nothing_in_binary(given),
        (true, false) => {
            let left_out = match kind.is_dir() {
                true => left_out(scope, cancel, &root, &only, &request, found.searched),
                false => UnsearchedFiles::default(),
            };
            report::nothing(found.searched, &left_out)
        }
        (false, false) => report::tell(&request, found),
    };
    if cancel.is_cancelled() {
        return Err(walk::cancelled());
    }
    Ok(ToolOutput::Text(spill::cut(
        scope,
        "grep",
        text,
        ANSWER_CHARS_MAX,
    )))
}

/// What a search in vain would have met among the files that it leaves out.
#[derive(Default)]
struct UnsearchedFiles {
    /// One that matches.
    example: Option<String>,
    /// Whether there are more than were looked at.
    more: bool,
}

fn left_out(
    scope: &Scope,
    cancel: &CancellationToken,
    root: &Path,
    only: &Override,
    request: &GrepRequest,
    searched: usize,
) -> UnsearchedFiles {
    let mut builder = walk::below(scope, root, |entry| entry.file_name() != ".git");
    builder.standard_filters(false).overrides(only.clone());
    let request = GrepRequest {
        matcher: request.matcher.clone(),
        mode: GrepMode::Files,
        ..*request
    };
    let files_max = searched + LEFT_OUT_FILES_MAX;
    let search = Search::new(cancel, &request, PathDisplay::of(scope)).until_first(files_max);
    walk::run(&builder, cancel, || search.thread());
    let found = search.found();
    UnsearchedFiles {
        example: found.files.into_iter().next().map(|file| file.shown),
        more: found.searched >= files_max,
    }
}

fn compile(
    pattern: &str,
    case_sensitive: Option<bool>,
    multiline: bool,
) -> Result<RegexMatcher, Failure> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(case_sensitive == Some(false))
        .case_smart(case_sensitive.is_none())
        .multi_line(true)
        .unicode(true)
        // `$` stands before either kind of line end.
        .crlf(true);
    if multiline {
        builder.line_terminator(None).dot_matches_new_line(true);
    }
    let breaks = !multiline && (pattern.contains("\\n") || pattern.contains('\n'));
    builder.build(pattern).map_err(|problem| match breaks {
        true => error(
            "\"pattern\" has a line break, but is matched line by line; call with \
             \"multiline\": true",
        ),
        false => error(format!(
            "\"pattern\" is not a regular expression; write \\ before ( ) [ ] {{ }} . * + ? ^ $ | \
             that are meant as they are. {problem}"
        )),
    })
}

/// Which files are searched below `root`. What is excluded goes before what is included.
fn overrides(root: &Path, fields: &Fields<'_>) -> Result<Override, Failure> {
    let mut builder = OverrideBuilder::new(root);
    for (name, sign) in [("include", ""), ("exclude", "!")] {
        let wrong = |problem: ignore::Error| error(format!("\"{name}\" is not a glob: {problem}"));
        let text = fields.optional_text(name, PATH_CHARS_MAX)?;
        for glob in globs(text.unwrap_or_default()) {
            // One that is excluded twice is not meant to be included.
            let glob = if sign.is_empty() {
                glob
            } else {
                glob.trim_start_matches('!')
            };
            builder.add(&format!("{sign}{glob}")).map_err(wrong)?;
        }
    }
    builder.build().map_err(|problem| {
        error(format!(
            "\"include\" and \"exclude\" are too much: {problem}"
        ))
    })
}

/// Several globs may be joined by commas.
fn globs(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.contains('{');
    let globs = text.split(move |letter| letter == ',' && !whole);
    globs.map(str::trim).filter(|glob| !glob.is_empty())
}

fn tree(scope: &Scope, root: &Path, only: &Override) -> WalkBuilder {
    let mut builder = walk::below(scope, root, |_| true);
    builder.overrides(only.clone());
    builder
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("grep: {message}"))
}

#[cfg(test)]
mod tests;
