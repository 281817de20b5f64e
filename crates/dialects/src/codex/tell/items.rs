//! Items: what was said, written and called, live and in history.

use std::borrow::Cow;

use vocabulary::{
    FileChange, FileChangeKind, FileSubject, Image, InputPiece, Item, ItemId, ReasoningKind,
    Subject, TextMark, ThreadCard, ToolCall, ToolOutcome, ToolOutput, TurnId, UserInput,
    reasoning_parts,
};

use super::searches::{self, LookUp};
use super::{EventForClient, agents, stream};
use crate::codex::Endpoint;
use crate::codex::wire::item::{
    CommandAction, DynamicToolCallOutputContentItem, FileUpdateChange, ItemStatus,
    McpToolCallError, McpToolCallResult, PatchChangeKind, ThreadItem, UserContent,
};
use crate::codex::wire::notice::{ItemCompleted, ItemStarted};
use crate::codex::wire::params::{ByteRange, TextElement};
use crate::content::{McpContent, mcp_content, structured};
use crate::{Frame, images};

/// What our own tools are a server of, where a client wants to know one.
const SERVER: &str = "dragoman";

pub fn started(told: EventForClient<'_>, turn: &TurnId, item: ThreadItem<'_>) -> Frame {
    let params = ItemStarted {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        started_at_ms: told.event.at.millis(),
        item,
    };
    told.notify("item/started", &params)
}

pub fn completed(told: EventForClient<'_>, turn: &TurnId, item: ThreadItem<'_>) -> Frame {
    let params = ItemCompleted {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        completed_at_ms: told.event.at.millis(),
        item,
    };
    told.notify("item/completed", &params)
}

pub fn said(input: &UserInput) -> ThreadItem<'_> {
    ThreadItem::UserMessage {
        id: input.item.as_str(),
        client_id: input.client_id.as_deref(),
        content: content(input),
    }
}

/// As it was said, piece by piece.
fn content(input: &UserInput) -> Vec<UserContent<'_>> {
    let in_order = in_order(input).filter(|_| !input.pieces.is_empty());
    in_order.unwrap_or_else(|| usual_content(input))
}

/// What a picture alone says has no text beside it.
fn usual_content(input: &UserInput) -> Vec<UserContent<'_>> {
    let (text, images) = (input.shown(), &input.images);
    let words = UserContent::Text {
        text,
        text_elements: Vec::new(),
    };
    let words = (!text.is_empty() || images.is_empty()).then_some(words);
    words
        .into_iter()
        .chain(images.iter().map(picture))
        .collect()
}

/// Nothing where the pieces are not those of this text and these pictures.
fn in_order(input: &UserInput) -> Option<Vec<UserContent<'_>>> {
    let (text, mut images) = (input.shown(), input.images.iter());
    let (mut content, mut from) = (Vec::new(), 0);
    for piece in &input.pieces {
        content.push(match piece {
            InputPiece::Image => picture(images.next()?),
            InputPiece::Text { bytes, marks } => {
                let end = from + bytes;
                let words = text.get(from..end)?;
                from = end + 1;
                UserContent::Text {
                    text: words,
                    text_elements: marks.iter().map(element).collect(),
                }
            }
        });
    }
    Some(content)
}

fn element(mark: &TextMark) -> TextElement {
    let (start, end) = (mark.start, mark.end);
    TextElement {
        byte_range: ByteRange { start, end },
        placeholder: mark.placeholder.clone(),
    }
}

fn picture(image: &Image) -> UserContent<'_> {
    match images::show(image) {
        images::ImageLink::Url(url) => UserContent::Image { url },
        images::ImageLink::Path(path) => UserContent::LocalImage { path },
    }
}

pub fn compacted(item: &ItemId) -> ThreadItem<'_> {
    ThreadItem::ContextCompaction { id: item.as_str() }
}

/// What the model wrote; a file that it made has no place in this protocol.
pub fn written<'a>(endpoint: Endpoint, item: &'a ItemId, body: &'a Item) -> Option<ThreadItem<'a>> {
    let id = item.as_str();
    match body {
        Item::AgentMessage { text, .. } => Some(ThreadItem::AgentMessage { id, text }),
        Item::Plan { text, .. } => Some(ThreadItem::Plan { id, text }),
        Item::Reasoning {
            kind, text, breaks, ..
        } => Some(reasoning(
            endpoint,
            id,
            *kind,
            reasoning_parts(text, breaks),
        )),
        Item::ReviewEntered { review } => Some(ThreadItem::EnteredReviewMode { id, review }),
        Item::ReviewExited { review } => Some(ThreadItem::ExitedReviewMode { id, review }),
        Item::File { .. } => None,
    }
}

/// A thought that its provider keeps to itself: there is nothing to show.
pub fn is_silent(body: &Item) -> bool {
    matches!(body, Item::Reasoning { text, .. } if text.is_empty())
}

pub fn reasoning<'a>(
    endpoint: Endpoint,
    id: &'a str,
    kind: ReasoningKind,
    parts: Vec<&'a str>,
) -> ThreadItem<'a> {
    let (summary, content) = match stream::shown_as(endpoint, kind) {
        ReasoningKind::Summary => (parts, Vec::new()),
        ReasoningKind::Reasoning => (Vec::new(), parts),
    };
    ThreadItem::Reasoning {
        id,
        summary,
        content,
    }
}

/// How far a call has come.
#[derive(Clone, Copy)]
pub enum CallProgress<'a> {
    Running,
    /// With what it has written so far.
    Writing(&'a str),
    /// How, and how long it ran if it did.
    Ended(&'a ToolOutcome, Option<u64>),
}

/// A call as an item; none for plans and questions, which have notifications of their own.
pub fn called<'a>(
    endpoint: Endpoint,
    card: &'a ThreadCard,
    call: &'a ToolCall,
    shown: CallProgress<'a>,
) -> Option<ThreadItem<'a>> {
    match searches::look_up(card, call, shown) {
        LookUp::Item(item) => return Some(item),
        LookUp::NotKnownYet => return None,
        LookUp::None => {}
    }
    match &call.subject {
        // A review is told by its two ends, and what is done for it.
        Subject::Other if call.by_user => None,
        Subject::Command { line, directory } => {
            let place = match directory {
                Some(directory) => {
                    let place = card.directory.join(directory);
                    Cow::Owned(place.to_string_lossy().into_owned())
                }
                None => card.directory.to_string_lossy(),
            };
            Some(command(endpoint, (line, place), call, shown))
        }
        Subject::Files(files) if call.effects.writes => {
            Some(file_change((endpoint, card), call, files, shown))
        }
        Subject::Agent { prompt } => Some(agents::spawned(card, call, prompt, shown)),
        Subject::Mcp { server, tool } => Some(tool_call(call, (server, tool), shown)),
        Subject::Files(_) | Subject::Search { .. } | Subject::Web { .. } | Subject::Other => {
            Some(match endpoint {
                Endpoint::Codex => dynamic_call(call, shown),
                Endpoint::Zane => tool_call(call, (SERVER, &call.name), shown),
            })
        }
        Subject::Question | Subject::Plan => None,
    }
}

fn status(shown: CallProgress<'_>) -> ItemStatus {
    match shown {
        CallProgress::Running | CallProgress::Writing(_) => ItemStatus::InProgress,
        CallProgress::Ended(ToolOutcome::Succeeded(ToolOutput::Command { exit_code, .. }), _)
            if *exit_code != 0 =>
        {
            ItemStatus::Failed
        }
        CallProgress::Ended(ToolOutcome::Succeeded(_), _) => ItemStatus::Completed,
        CallProgress::Ended(ToolOutcome::Failed { .. } | ToolOutcome::Interrupted(_), _) => {
            ItemStatus::Failed
        }
        CallProgress::Ended(ToolOutcome::Denied(_) | ToolOutcome::NotRun { .. }, _) => {
            ItemStatus::Declined
        }
    }
}

/// Whether a command is meant to run on in the background.
pub fn is_background(call: &ToolCall) -> bool {
    call.is_command() && call.input["background"] == true
}

/// Whether it does: the terminal client lists what has no end yet as a background terminal. A command that
/// ended at once, or never began, has given more than a text.
pub fn runs_on(call: &ToolCall, outcome: &ToolOutcome) -> bool {
    let is_left = matches!(outcome, ToolOutcome::Succeeded(ToolOutput::Text(_)));
    is_left && is_background(call)
}

/// A command line as an endpoint's clients read it. The app-server's split the text into words and
/// unwrap the shell's, so that only a quoted line is shown as it is.
pub fn command_line(endpoint: Endpoint, line: &str) -> Cow<'_, str> {
    match endpoint {
        Endpoint::Codex => Cow::Owned(format!("/bin/bash -c '{}'", line.replace('\'', r"'\''"))),
        Endpoint::Zane => Cow::Borrowed(line),
    }
}

fn command<'a>(
    endpoint: Endpoint,
    (command, cwd): (&'a str, Cow<'a, str>),
    call: &'a ToolCall,
    shown: CallProgress<'a>,
) -> ThreadItem<'a> {
    let (exit_code, duration_ms) = match ended_output(shown) {
        Some(ToolOutput::Command {
            exit_code,
            duration_ms,
            ..
        }) => (Some(*exit_code), Some(*duration_ms)),
        Some(
            ToolOutput::Text(_)
            | ToolOutput::Files { .. }
            | ToolOutput::Json(_)
            | ToolOutput::Content(_),
        )
        | None => (None, duration(shown)),
    };
    ThreadItem::CommandExecution {
        id: call.item.as_str(),
        command: command_line(endpoint, command),
        cwd,
        source: match endpoint {
            _ if call.by_user => "userShell",
            Endpoint::Codex if is_background(call) => "unifiedExecStartup",
            Endpoint::Codex | Endpoint::Zane => "agent",
        },
        status: status(shown),
        command_actions: vec![CommandAction::Unknown { command }],
        aggregated_output: words(shown),
        exit_code,
        duration_ms,
    }
}

fn file_change<'a>(
    (endpoint, card): (Endpoint, &ThreadCard),
    call: &'a ToolCall,
    files: &'a [FileSubject],
    shown: CallProgress<'a>,
) -> ThreadItem<'a> {
    let path = |path: &'a str| changed_path(endpoint, card, path);
    let changes = match ended_output(shown) {
        Some(ToolOutput::Files { changes, .. }) => {
            let changes = changes.iter();
            changes.map(|change| changed(change, path)).collect()
        }
        Some(
            ToolOutput::Text(_)
            | ToolOutput::Command { .. }
            | ToolOutput::Json(_)
            | ToolOutput::Content(_),
        )
        | None => files.iter().map(|file| wanted(file, path)).collect(),
    };
    ThreadItem::FileChange {
        id: call.item.as_str(),
        changes,
        status: status(shown),
    }
}

/// The app-server's paths are absolute, and its clients shorten them; Zane's shows what it gets.
fn changed_path<'a>(endpoint: Endpoint, card: &ThreadCard, path: &'a str) -> Cow<'a, str> {
    match endpoint {
        Endpoint::Codex if !path.is_empty() => {
            let whole = card.directory.join(path);
            Cow::Owned(whole.to_string_lossy().into_owned())
        }
        Endpoint::Codex | Endpoint::Zane => Cow::Borrowed(path),
    }
}

fn changed<'a>(
    change: &'a FileChange,
    path: impl Fn(&'a str) -> Cow<'a, str>,
) -> FileUpdateChange<'a> {
    FileUpdateChange {
        path: path(&change.path),
        kind: patch_kind(change.kind),
        diff: Cow::Borrowed(&change.diff),
    }
}

fn patch_kind(kind: FileChangeKind) -> PatchChangeKind {
    match kind {
        FileChangeKind::Add => PatchChangeKind::Add,
        FileChangeKind::Update => PatchChangeKind::Update { move_path: None },
        FileChangeKind::Delete => PatchChangeKind::Delete,
    }
}

/// A change that has not happened: whoever is asked for it sees what it would write.
fn wanted<'a>(
    file: &'a FileSubject,
    path: impl Fn(&'a str) -> Cow<'a, str>,
) -> FileUpdateChange<'a> {
    let (kind, diff) = match &file.preview {
        Some(preview) => (preview.kind, preview.diff.as_str()),
        None => (FileChangeKind::Update, ""),
    };
    FileUpdateChange {
        path: path(&file.path),
        kind: patch_kind(kind),
        diff: Cow::Borrowed(diff),
    }
}

fn tool_call<'a>(
    call: &'a ToolCall,
    (server, tool): (&'a str, &'a str),
    shown: CallProgress<'a>,
) -> ThreadItem<'a> {
    let (result, error) = match shown {
        CallProgress::Running | CallProgress::Writing(_) => (None, None),
        CallProgress::Ended(outcome, _) => match came_of(outcome) {
            Ok(output) => (Some(result(output)), None),
            Err(message) => (None, Some(McpToolCallError { message })),
        },
    };
    ThreadItem::McpToolCall {
        id: call.item.as_str(),
        server,
        tool,
        status: status_without_declined(shown),
        arguments: &call.input,
        result,
        error,
        duration_ms: duration(shown),
    }
}

/// A tool of ours that has no kind of item to itself.
fn dynamic_call<'a>(call: &'a ToolCall, shown: CallProgress<'a>) -> ThreadItem<'a> {
    let ended = match shown {
        CallProgress::Running | CallProgress::Writing(_) => None,
        CallProgress::Ended(outcome, _) => Some(came_of(outcome)),
    };
    let content_items = ended.map(|ended| match ended {
        Ok(output) => mcp_content(output).into_iter().map(content_item).collect(),
        Err(message) => {
            let text = Cow::Borrowed(message);
            vec![DynamicToolCallOutputContentItem::InputText { text }]
        }
    });
    ThreadItem::DynamicToolCall {
        id: call.item.as_str(),
        namespace: None,
        tool: &call.name,
        arguments: &call.input,
        status: status_without_declined(shown),
        content_items,
        success: ended.map(|ended| ended.is_ok()),
        duration_ms: duration(shown),
    }
}

fn content_item(content: McpContent<'_>) -> DynamicToolCallOutputContentItem<'_> {
    match content {
        McpContent::Text { text } => DynamicToolCallOutputContentItem::InputText { text },
        McpContent::Image { data, mime_type } => DynamicToolCallOutputContentItem::InputImage {
            image_url: format!("data:{mime_type};base64,{data}"),
        },
        McpContent::Resource { resource } => {
            let text = resource.text.unwrap_or(Cow::Borrowed(resource.uri));
            DynamicToolCallOutputContentItem::InputText { text }
        }
    }
}

/// What a call gave, or why it gave nothing.
fn came_of(outcome: &ToolOutcome) -> Result<&ToolOutput, &str> {
    match outcome {
        ToolOutcome::Succeeded(output) => Ok(output),
        ToolOutcome::Failed { error: message } | ToolOutcome::NotRun { why: message } => {
            Err(message)
        }
        ToolOutcome::Denied(_) => Err("a person said no"),
        ToolOutcome::Interrupted(_) => Err("interrupted"),
    }
}

/// Some kinds of items know no `declined`.
fn status_without_declined(shown: CallProgress<'_>) -> ItemStatus {
    match status(shown) {
        ItemStatus::Declined => ItemStatus::Failed,
        status @ (ItemStatus::InProgress | ItemStatus::Completed | ItemStatus::Failed) => status,
    }
}

fn result(output: &ToolOutput) -> McpToolCallResult<'_> {
    McpToolCallResult {
        content: mcp_content(output),
        structured_content: structured(output),
    }
}

/// How long it ran.
fn duration(shown: CallProgress<'_>) -> Option<u64> {
    match shown {
        CallProgress::Ended(_, duration_ms) => duration_ms,
        CallProgress::Running | CallProgress::Writing(_) => None,
    }
}

fn ended_output(shown: CallProgress<'_>) -> Option<&ToolOutput> {
    match shown {
        CallProgress::Ended(
            ToolOutcome::Succeeded(output)
            | ToolOutcome::Denied(output)
            | ToolOutcome::Interrupted(output),
            _,
        ) => Some(output),
        CallProgress::Running
        | CallProgress::Writing(_)
        | CallProgress::Ended(ToolOutcome::Failed { .. } | ToolOutcome::NotRun { .. }, _) => None,
    }
}

pub fn words(shown: CallProgress<'_>) -> Option<Cow<'_, str>> {
    match shown {
        CallProgress::Running => None,
        CallProgress::Writing(text) => Some(Cow::Borrowed(text)),
        CallProgress::Ended(
            ToolOutcome::Failed { error: text } | ToolOutcome::NotRun { why: text },
            _,
        ) => Some(Cow::Borrowed(text)),
        CallProgress::Ended(
            ToolOutcome::Succeeded(output)
            | ToolOutcome::Denied(output)
            | ToolOutcome::Interrupted(output),
            _,
        ) => Some(output.words()),
    }
}
