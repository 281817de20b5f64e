//! The tool `applyPatch`: adds, updates, moves and deletes files by one patch, all or none.

mod files;
mod heredoc;
mod parse;
mod place;
mod report;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use vocabulary::{
    Effects, FileChange, FileChangeKind, FilePreview, FileSubject, Subject, ToolOutput,
};

use crate::input::{self, Fields, blocking};
use crate::seen::SeenFiles;
use crate::{Failure, Judgement, Risk, Scope, Tool, ToolCx, protected};
use files::PatchedFiles;
pub(crate) use heredoc::{command, from_command};
pub(crate) use parse::below;
use parse::{HunkLine, PatchHunk, PatchSection, SectionChange};

pub(crate) const NAME: &str = "applyPatch";
/// What the models call it that were trained on it.
pub(crate) const GPT_NAME: &str = "apply_patch";
/// The one field of its input; models that write free text for a tool write it alone.
pub(crate) const FIELD: &str = "input";
/// What the text of a patch may be, for services that hold a model to a grammar.
pub(crate) const GRAMMAR: &str = include_str!("patch/grammar.lark");
const PATCH_CHARS_MAX: usize = 2_000_000;

pub(crate) struct PatchTool;

#[async_trait]
impl Tool for PatchTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "Changes files by a patch: adds, updates, moves and deletes them, all or none.\n\
         Use it for every change of a file. Between *** Begin Patch and *** End Patch, for each \
         file: *** Add File: PATH and + lines; *** Delete File: PATH; or *** Update File: PATH \
         (then *** Move to: PATH, if it moves) and hunks: @@ with a line above the place, such as \
         a function's head, then lines that begin with a blank (stay), - or +, three to stay \
         around a change. Answers with the changed lines: do not read them again."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                FIELD: {"type": "string", "description": "The whole patch.", "maxLength": PATCH_CHARS_MAX},
            },
            "required": [FIELD],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::WRITES
    }

    fn subject(&self, input: &Value) -> Subject {
        let sections = parse::parse(input::text_of(input, FIELD)).unwrap_or_default();
        Subject::Files(sections.iter().flat_map(previews).collect())
    }

    fn preview(&self, scope: &Scope, seen: &SeenFiles, input: &Value) -> Vec<FileChange> {
        let sections = parse::parse(input::text_of(input, FIELD)).unwrap_or_default();
        let files = PatchedFiles::of(scope, seen, &sections);
        files.map(|files| files.describe().1).unwrap_or_default()
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        let sections = parse::parse(input::text_of(input, FIELD)).unwrap_or_default();
        let judged = sections
            .iter()
            .flat_map(paths)
            .map(|path| protected::judge_path(NAME, scope, path));
        joined(judged)
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        blocking(NAME, move || apply(&scope, &seen, &input)).await
    }
}

fn apply(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of(NAME, input)?;
    let text = fields.filled_text(FIELD, PATCH_CHARS_MAX)?;
    let sections = parse::parse(text);
    let sections =
        sections.map_err(|problem| unchanged(Failure::Error(format!("{NAME}: {problem}"))))?;
    let _alone = seen.changing();
    let files = PatchedFiles::of(scope, seen, &sections).map_err(unchanged)?;
    files.write()?;
    let (summary, changes) = files.describe();
    Ok(ToolOutput::Files { summary, changes })
}

/// Says that of all files none was touched.
fn unchanged(failure: Failure) -> Failure {
    match failure {
        Failure::Error(message) => Failure::Error(match message.strip_prefix("applyPatch: ") {
            Some(problem) => format!("{NAME}: nothing was changed: {problem}"),
            None => message,
        }),
        Failure::Cancelled(output) => Failure::Cancelled(output),
    }
}

fn paths<'a>(section: &PatchSection<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let moved_to = match &section.change {
        SectionChange::Update { moved_to, .. } => *moved_to,
        SectionChange::Add(_) | SectionChange::Delete => None,
    };
    std::iter::once(section.path).chain(moved_to)
}

/// One question for all files of a patch: the gravest is asked, and all are named.
fn joined(judged: impl Iterator<Item = Judgement>) -> Judgement {
    let mut all: Option<(Vec<String>, bool, Risk, Vec<String>)> = None;
    for judgement in judged {
        let Judgement::Ask {
            command,
            dangerous,
            risk,
            why,
        } = judgement
        else {
            continue;
        };
        let path = command.strip_prefix(NAME).unwrap_or(&command);
        let path = path.trim().to_owned();
        let (paths, gravest, of_risk, reasons) =
            all.get_or_insert_with(|| (Vec::new(), dangerous, risk, Vec::new()));
        if dangerous && !*gravest {
            (*gravest, *of_risk) = (true, risk);
        }
        paths.push(path);
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    match all {
        None => Judgement::Allow,
        Some((paths, dangerous, risk, reasons)) => Judgement::Ask {
            command: format!("{NAME} {}", paths.join(", ")),
            dangerous,
            risk,
            why: reasons.join("; "),
        },
    }
}

/// What a section would do, as far as the patch itself tells.
fn previews(section: &PatchSection<'_>) -> Vec<FileSubject> {
    let file = |path: &str, kind, diff| FileSubject {
        path: path.to_owned(),
        preview: Some(FilePreview { kind, diff }),
    };
    let path = section.path;
    match &section.change {
        SectionChange::Add(lines) => {
            let content = lines.iter().map(|line| format!("{line}\n")).collect();
            vec![file(path, FileChangeKind::Add, content)]
        }
        SectionChange::Delete => vec![file(path, FileChangeKind::Delete, String::new())],
        SectionChange::Update { moved_to, hunks } => {
            let diff: String = hunks.iter().map(unified).collect();
            match moved_to {
                None => vec![file(path, FileChangeKind::Update, diff)],
                Some(target) => vec![
                    file(path, FileChangeKind::Delete, String::new()),
                    file(target, FileChangeKind::Update, diff),
                ],
            }
        }
    }
}

/// A hunk as other programs write it. Where in the file it would be is not known yet.
fn unified(hunk: &PatchHunk<'_>) -> String {
    let (mut before, mut after) = (0, 0);
    let mut body = String::new();
    for line in &hunk.lines {
        let (sign, text) = match line {
            HunkLine::Keep(text) => (' ', text),
            HunkLine::Remove(text) => ('-', text),
            HunkLine::Add(text) => ('+', text),
        };
        before += usize::from(sign != '+');
        after += usize::from(sign != '-');
        body.push(sign);
        body.push_str(text);
        body.push('\n');
    }
    format!("@@ -1,{before} +1,{after} @@\n{body}")
}

#[cfg(test)]
mod tests;
