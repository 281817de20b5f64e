//! What an external agent says of its tool calls, in our words: what a call is about, what it can do,
//! and what came of it.

use std::path::Path;

use acp::schema::{self, ToolCallContent, ToolCallStatus, ToolKind};
use serde_json::{Map, Value, json};
use tools::{Scope, agent_files};
use vocabulary::{
    ContentBlock, Effects, FileChange, FilePreview, FileSubject, Subject, ToolOutcome, ToolOutput,
};

use crate::limits::{AGENT_INPUT_BYTES_MAX, AGENT_OUTPUT_CHARS_MAX};

/// What a call is named: as its agent does, or by its kind.
pub fn name(call: &schema::ToolCall) -> String {
    const NAME_CHARS_MAX: usize = 64;
    if let Some(name) = call.name.as_deref().filter(|name| !name.is_empty()) {
        return name.chars().take(NAME_CHARS_MAX).collect();
    }
    let kind = match call.kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switchMode",
        // What a later version of the protocol has is something else, too.
        _ => "tool",
    };
    kind.to_owned()
}

/// What it was called with, and the words that its agent shows for it.
pub fn input(call: &schema::ToolCall) -> Value {
    let mut input = match &call.raw_input {
        Some(Value::Object(input)) => input.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
    };
    if Value::Object(input.clone()).to_string().len() > AGENT_INPUT_BYTES_MAX {
        let words = format!("left out: more than {AGENT_INPUT_BYTES_MAX} bytes");
        input = Map::from_iter([("input".to_owned(), Value::from(words))]);
    }
    if !call.title.is_empty() {
        input
            .entry("description")
            .or_insert_with(|| Value::from(call.title.as_str()));
    }
    Value::Object(input)
}

pub fn effects(call: &schema::ToolCall) -> Effects {
    match call.kind {
        ToolKind::Read | ToolKind::Search => Effects::READS,
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => Effects::WRITES,
        ToolKind::Fetch => Effects::NETWORK,
        ToolKind::Think | ToolKind::SwitchMode => Effects::NONE,
        // Nobody knows what the others do.
        _ => Effects::RUNS,
    }
}

pub fn subject(call: &schema::ToolCall, scope: &Scope) -> Subject {
    match call.kind {
        ToolKind::Execute => Subject::Command {
            line: command_line(call),
            directory: string_in(call, &["cwd", "directory", "workdir"])
                .filter(|directory| Path::new(directory) != scope.directory),
        },
        ToolKind::Fetch => match string_in(call, &["url", "uri"]) {
            Some(url) => Subject::Web { url },
            None => Subject::Other,
        },
        ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            files(call, scope)
        }
        // As above.
        _ => Subject::Other,
    }
}

/// The files that a call names: those it would change, with how, then the others.
fn files(call: &schema::ToolCall, scope: &Scope) -> Subject {
    let changes = changes(call, scope);
    let changed = changes.into_iter().map(|change| FileSubject {
        path: change.path,
        preview: Some(FilePreview {
            kind: change.kind,
            diff: change.diff,
        }),
    });
    let mut files: Vec<FileSubject> = changed.collect();
    for location in &call.locations {
        let path = shown_path(scope, &location.path);
        if !files.iter().any(|file| file.path == path) {
            let preview = None;
            files.push(FileSubject { path, preview });
        }
    }
    match files.is_empty() {
        true => Subject::Other,
        false => Subject::Files(files),
    }
}

fn shown_path(scope: &Scope, path: &Path) -> String {
    let inside = path.strip_prefix(&scope.directory);
    inside.unwrap_or(path).display().to_string()
}

/// The changes of files that a call tells.
fn changes(call: &schema::ToolCall, scope: &Scope) -> Vec<FileChange> {
    let diffs = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff),
        // Only a diff tells a change.
        _ => None,
    });
    diffs
        .map(|diff| {
            let path = scope.directory.join(&diff.path);
            agent_files::change_of(scope, &path, diff.old_text.as_deref(), &diff.new_text)
        })
        .collect()
}

/// The command that is run: as the agent's input has it, or else its title.
fn command_line(call: &schema::ToolCall) -> String {
    let input = call.raw_input.as_ref();
    let command = input.and_then(|input| input.get("command").or_else(|| input.get("cmd")));
    match command {
        Some(Value::String(line)) => line.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words[..] {
                // A shell that is given a line.
                [_, "-c" | "-lc" | "-ic", line] => line.to_owned(),
                _ => words.join(" "),
            }
        }
        // tidy: wildcard, because nothing else is a command.
        _ => call.title.trim().trim_matches('`').to_owned(),
    }
}

fn string_in(call: &schema::ToolCall, keys: &[&str]) -> Option<String> {
    let input = call.raw_input.as_ref()?;
    let found = keys.iter().find_map(|key| input.get(*key)?.as_str());
    found.map(str::to_owned)
}

/// The words that a call has shown so far.
pub fn text(call: &schema::ToolCall) -> String {
    let texts = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Content(content) => block_text(&content.content),
        // Diffs are told as changes, and terminals are not offered.
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    cut(&texts.join("\n"))
}

pub fn block_text(block: &schema::ContentBlock) -> Option<&str> {
    match block {
        schema::ContentBlock::Text(text) => Some(&text.text),
        schema::ContentBlock::ResourceLink(link) => Some(&link.uri),
        schema::ContentBlock::Resource(embedded) => match &embedded.resource {
            schema::EmbeddedResourceResource::TextResourceContents(text) => Some(&text.text),
            // Bytes have no words.
            _ => None,
        },
        // Nor have pictures and sounds.
        _ => None,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(AGENT_OUTPUT_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\n[cut]", &text[..at]),
    }
}

/// What came of a call that is over.
pub fn outcome(call: &schema::ToolCall, scope: &Scope) -> ToolOutcome {
    let output = output(call, scope);
    match (call.status, &output) {
        // A command that fails has run.
        (ToolCallStatus::Failed, ToolOutput::Command { exit_code, .. }) if *exit_code != 0 => {
            ToolOutcome::Succeeded(output)
        }
        (ToolCallStatus::Failed, _) => {
            let words = output.words();
            let error = match words.trim() {
                "" => "the agent says that it failed, and not why",
                words => words,
            };
            ToolOutcome::Failed {
                error: error.to_owned(),
            }
        }
        _ => ToolOutcome::Succeeded(output),
    }
}

fn output(call: &schema::ToolCall, scope: &Scope) -> ToolOutput {
    let text = text(call);
    let raw = call.raw_output.as_ref();
    if call.kind == ToolKind::Execute {
        return command_output(text, raw.unwrap_or(&Value::Null), call.status);
    }
    let changes = changes(call, scope);
    if !changes.is_empty() {
        let summary = match text.is_empty() {
            true => call.title.clone(),
            false => text,
        };
        return ToolOutput::Files { summary, changes };
    }
    let pictures: Vec<ContentBlock> = call.content.iter().filter_map(picture).collect();
    match (pictures.is_empty(), text.is_empty(), raw) {
        (false, _, _) => {
            let words = (!text.is_empty()).then_some(ContentBlock::Text(text));
            ToolOutput::Content(words.into_iter().chain(pictures).collect())
        }
        (true, true, Some(Value::String(raw))) => ToolOutput::Text(cut(raw)),
        (true, true, Some(raw)) if raw.to_string().len() <= AGENT_OUTPUT_CHARS_MAX => {
            ToolOutput::Json(raw.clone())
        }
        (true, _, _) => ToolOutput::Text(text),
    }
}

fn command_output(text: String, raw: &Value, status: ToolCallStatus) -> ToolOutput {
    let string = |keys: &[&str]| keys.iter().find_map(|key| raw.get(*key)?.as_str());
    let code = ["exit_code", "exitCode"].iter();
    let code = code.filter_map(|key| raw.get(*key)?.as_i64()).next();
    // Not every agent says it; whether it failed, all do.
    let otherwise = i32::from(status == ToolCallStatus::Failed);
    let exit_code = code.map_or(otherwise, |code| i32::try_from(code).unwrap_or(1));
    let whole = string(&["formatted_output", "aggregated_output", "output"]);
    let stdout = string(&["stdout"]).or(whole).map(cut).unwrap_or(text);
    ToolOutput::Command {
        stdout,
        stderr: string(&["stderr"]).map(cut).unwrap_or_default(),
        exit_code,
        duration_ms: 0,
        model_text: None,
    }
}

fn picture(content: &ToolCallContent) -> Option<ContentBlock> {
    match content {
        ToolCallContent::Content(content) => match &content.content {
            schema::ContentBlock::Image(image) => Some(ContentBlock::Image {
                media_type: image.mime_type.clone(),
                base64: image.data.as_str().into(),
            }),
            // Only pictures are wanted here.
            _ => None,
        },
        // As above.
        _ => None,
    }
}

/// What a yes for longer than once is kept under: the agent and the exact thing.
pub fn grant_key(agent: &str, call: &vocabulary::ToolCall) -> String {
    let about = match &call.subject {
        Subject::Command { line, directory } => json!({"command": line, "directory": directory}),
        Subject::Files(files) => {
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            json!({"files": paths})
        }
        Subject::Web { url } => json!({"url": url}),
        Subject::Search { query } => json!({"query": query}),
        Subject::Agent { prompt } => json!({"prompt": prompt}),
        Subject::Mcp { .. } | Subject::Question | Subject::Plan | Subject::Other => {
            call.input.clone()
        }
    };
    tools::policy::grant_key(&format!("{agent}:{}", call.name), &about)
}

#[cfg(test)]
mod tests;
