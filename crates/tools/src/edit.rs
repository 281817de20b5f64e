//! The tool `edit`: replaces texts within a file, all or none.

pub(crate) mod loose;
mod places;
mod request;

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use vocabulary::{Effects, FileChange, Subject, ToolOutput};

use crate::change::{ChangedLines, FILE_BYTES_MAX, PendingChange};
use crate::input::{Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::seen::{FileKnowledge, SeenFiles};
use crate::text::Encoding;
use crate::{Failure, Judgement, Scope, Tool, ToolCx, nearest, protected, text};
use request::TextEdit;

/// How many places of a text that is not unique are named.
const PLACES_SHOWN_MAX: usize = 20;

pub(crate) struct EditTool;

#[async_trait]
impl Tool for EditTool {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> &'static str {
        "Replaces text in a file.\n\
         oldString must occur exactly once, blanks and line breaks included, unless replaceAll is \
         true; other indentation is understood where it is clear, and said. Do not include the line numbers that read shows. For several changes of one file \
         give edits, which are made in order, all or none. An empty oldString makes a new file. \
         Answers with the changed lines, so there is no need to read them again."
    }

    fn parameters(&self) -> Value {
        request::parameters()
    }

    fn effects(&self) -> Effects {
        Effects::WRITES
    }

    fn subject(&self, input: &Value) -> Subject {
        request::subject(input)
    }

    fn preview(&self, scope: &Scope, seen: &SeenFiles, input: &Value) -> Vec<FileChange> {
        let preview = || {
            let wanted = EditOfFile::of(scope, seen, input).ok()?;
            Some(wanted.change(scope).0)
        };
        preview().into_iter().collect()
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        protected::judge_change(self.name(), scope, input, "filePath")
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        blocking(self.name(), move || edit(&scope, &seen, &input)).await
    }
}

fn edit(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
    let _alone = seen.changing();
    let mut wanted = EditOfFile::of(scope, seen, input)?;
    let given = wanted.given;
    let content = encoded(given, &wanted.after, wanted.encoding)?;
    wanted.draft.save(seen, &content)?;
    let (change, changed) = wanted.change(scope);
    let Some(changed) = changed else {
        let lines = wanted.after.lines().count();
        return Ok(ToolOutput::Files {
            summary: format!("Made {given} with {lines} lines"),
            changes: vec![change],
        });
    };
    if wanted.known == FileKnowledge::Changed {
        let note = "the file had changed since you read it".to_owned();
        wanted.notes.push(note);
    }
    let notes = match wanted.notes.is_empty() {
        true => String::new(),
        false => format!(" ({})", wanted.notes.join("; ")),
    };
    let summary = format!("Edited {}{notes}\n{}", changed.place, changed.lines);
    Ok(ToolOutput::Files {
        summary: summary.trim_end_matches('\n').to_owned(),
        changes: vec![change],
    })
}

/// A file as it is, and as the edits would make it.
struct EditOfFile<'a> {
    given: &'a str,
    draft: PendingChange<'a>,
    known: FileKnowledge,
    /// Nothing where it is a new one.
    before: Option<String>,
    after: String,
    encoding: Encoding,
    /// What the model should know of how it was done.
    notes: Vec<String>,
}

impl<'a> EditOfFile<'a> {
    fn of(scope: &Scope, seen: &SeenFiles, input: &'a Value) -> Result<Self, Failure> {
        let fields = Fields::of("edit", input)?;
        let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
        let edits = TextEdit::all(&fields)?;
        let target = path::resolve_to_change("edit", scope, given)?;
        let draft = PendingChange::open("edit", given, target)?;
        let makes = draft.old.is_none() && edits.first().is_some_and(|edit| edit.old.is_empty());
        let (before, encoding) = match makes {
            true => Default::default(),
            false => text::decode(content(&draft, given)?)
                .ok_or_else(|| error(format!("{given} is not a text file; use bash")))?,
        };
        let before = before.to_string();
        let known = draft.knowledge(seen);
        let mut progress = EditProgress {
            draft: &draft,
            given,
            known,
            text: before.clone(),
            notes: Vec::new(),
        };
        for edit in &edits {
            let made = progress.make(edit);
            made.map_err(|problem| edit.refusal(problem))?;
        }
        let EditProgress {
            text: after, notes, ..
        } = progress;
        Ok(Self {
            given,
            known,
            before: (!makes).then_some(before),
            after,
            encoding,
            notes,
            draft,
        })
    }

    /// What it is for people, and for the model where the file was there before.
    fn change(&self, scope: &Scope) -> (FileChange, Option<ChangedLines>) {
        match &self.before {
            None => (self.draft.describe(scope, None, &self.after), None),
            Some(before) => {
                let (change, changed) = self.draft.describe_edit(scope, before, &self.after);
                (change, Some(changed))
            }
        }
    }
}

/// A file's text with the edits that were made so far.
struct EditProgress<'a> {
    draft: &'a PendingChange<'a>,
    given: &'a str,
    known: FileKnowledge,
    text: String,
    /// What the model should know of how it was done.
    notes: Vec<String>,
}

impl EditProgress<'_> {
    fn make(&mut self, edit: &TextEdit<'_>) -> Result<(), Failure> {
        if edit.old.is_empty() {
            if !self.text.is_empty() {
                return Err(error(format!(
                    "\"oldString\" must be a text that is not empty, as {} has content already",
                    self.given
                )));
            }
            edit.new.clone_into(&mut self.text);
            return Ok(());
        }
        let found = places::find(&self.text, edit.old);
        let after = match found.len() {
            0 => self.made_loosely(edit)?,
            1 => places::replace(&self.text, &found, edit.old, edit.new),
            count if !edit.replace_all => return Err(self.ambiguous(&found, count)),
            _ => {
                self.must_be_known()?;
                places::replace(&self.text, &found, edit.old, edit.new)
            }
        };
        if after == self.text {
            return Err(error("this would change nothing; nothing to do"));
        }
        self.text = after;
        Ok(())
    }

    /// As the file has it, where the model gave it in another form.
    fn made_loosely(&mut self, edit: &TextEdit<'_>) -> Result<String, Failure> {
        let Some(found) = loose::find(&self.text, edit.old, edit.new) else {
            return Err(missed(self.given, &self.text, edit.old));
        };
        let how = found.how;
        self.notes.push(format!("{}matched with {how}", edit.label));
        let place = std::slice::from_ref(&found.place);
        Ok(places::replace(&self.text, place, "", &found.new))
    }

    /// One place that is named by its text is known by that. Of several in a file that was not read,
    /// or not as it is now, the model cannot know what they are.
    fn must_be_known(&self) -> Result<(), Failure> {
        match self.known {
            FileKnowledge::Current | FileKnowledge::Partly(_) => Ok(()),
            FileKnowledge::Changed => Err(self.draft.changed()),
            FileKnowledge::Never | FileKnowledge::Edited => Err(error(format!(
                "you have not read {}; read it first, or change one place at a time",
                self.given
            ))),
        }
    }

    fn ambiguous(&self, found: &[Range<usize>], count: usize) -> Failure {
        let lines = places::line_numbers(&self.text, &found[..count.min(PLACES_SHOWN_MAX)]);
        let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
        let more = if count > PLACES_SHOWN_MAX {
            ", …"
        } else {
            ""
        };
        error(format!(
            "\"oldString\" occurs {count} times in {}, on the lines {}{more}; add lines around it \
             to make it unique, or set replaceAll",
            self.given,
            lines.join(", ")
        ))
    }
}

/// The file's bytes.
fn content<'a>(draft: &'a PendingChange<'_>, given: &str) -> Result<&'a [u8], Failure> {
    let Some(old) = &draft.old else {
        return Err(error(format!("{given} does not exist; write makes files")));
    };
    old.bytes.as_deref().ok_or_else(|| {
        error(format!(
            "{given} has more than the {FILE_BYTES_MAX} bytes that can be edited; use bash"
        ))
    })
}

fn encoded(given: &str, text: &str, encoding: Encoding) -> Result<Vec<u8>, Failure> {
    text::encode(text, encoding).map_err(|letter| {
        error(format!(
            "{given} is encoded as {}, which has no {letter:?}; use other characters, or write the \
             whole file, which makes it UTF-8",
            encoding.name()
        ))
    })
}

fn missed(given: &str, content: &str, old_string: &str) -> Failure {
    let near = nearest::describe(content, old_string);
    let near = near.unwrap_or_else(|| "nothing like it was found; read the file again".to_owned());
    error(format!("\"oldString\" does not occur in {given}; {near}"))
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("edit: {message}"))
}

#[cfg(test)]
mod tests;
