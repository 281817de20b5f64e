//! Asks as requests to the client, and its responses as answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use vocabulary::{
    Answer, Approval, ApprovalAnswer, Ask, AskId, AskKind, Question, QuestionOption, Subject,
    ThreadCard, Timestamp,
};

use super::tell::{EventForClient, items};
use super::wire::item::CommandAction;
use super::wire::notice::ServerRequestResolved;
use super::wire::params::{
    ApprovalResponse, McpServerElicitationResponse, ToolRequestUserInputResponse,
};
use super::wire::request::{
    ElicitationMeta, ElicitationSchema, McpServerElicitationRequest, RequestApproval,
    RequestUserInput, UserInputOption, UserInputQuestion,
};
use super::wire::results::Empty;
use super::{Endpoint, VERSION};
use crate::Frame;

const DECISIONS: [&str; 4] = ["accept", "acceptForSession", "decline", "cancel"];
const PERSIST: [&str; 2] = ["session", "always"];

/// The request an ask makes of a client. Its id is the ask's own number, the same for everyone.
pub fn request(card: &ThreadCard, ask: &Ask, at: Timestamp, endpoint: Endpoint) -> Frame {
    let thread = card.id.to_string();
    match &ask.kind {
        AskKind::Approval(approval) => {
            if let (Endpoint::Codex, Subject::Mcp { server, tool }) = (endpoint, &ask.call.subject)
            {
                let params = elicitation(&thread, ask, approval, (server, tool));
                return VERSION.request(ask.id.0, "mcpServer/elicitation/request", &params);
            }
            let (method, params) = approval_request(card, &thread, ask, approval, at, endpoint);
            VERSION.request(ask.id.0, method, &params)
        }
        AskKind::Questions(questions) => {
            let params = RequestUserInput {
                thread_id: &thread,
                turn_id: ask.turn.as_str(),
                item_id: ask.call.item.as_str(),
                questions: questions.iter().map(question).collect(),
                is_blocking: true,
                auto_resolution_ms: None,
            };
            VERSION.request(ask.id.0, "item/tool/requestUserInput", &params)
        }
    }
}

/// A call of a server's tool, as the app-server has it allowed.
fn elicitation<'a>(
    thread_id: &'a str,
    ask: &'a Ask,
    approval: &'a Approval,
    (server_name, tool_title): (&'a str, &'a str),
) -> McpServerElicitationRequest<'a> {
    McpServerElicitationRequest {
        thread_id,
        turn_id: ask.turn.as_str(),
        server_name,
        mode: "form",
        meta: ElicitationMeta {
            codex_approval_kind: "mcp_tool_call",
            persist: PERSIST,
            tool_title,
        },
        message: format!(
            "{}\n\n{}",
            approval.command,
            reason(approval, Endpoint::Codex)
        ),
        requested_schema: ElicitationSchema {
            kind: "object",
            properties: Empty {},
        },
    }
}

fn approval_request<'a>(
    card: &'a ThreadCard,
    thread_id: &'a str,
    ask: &'a Ask,
    approval: &'a Approval,
    at: Timestamp,
    endpoint: Endpoint,
) -> (&'static str, RequestApproval<'a>) {
    // The app-server has no approval of other tools; as a command it can be shown and answered.
    let call = &ask.call;
    let method = match endpoint {
        _ if call.changes_files() => "item/fileChange/requestApproval",
        Endpoint::Codex => "item/commandExecution/requestApproval",
        Endpoint::Zane if call.is_command() => "item/commandExecution/requestApproval",
        Endpoint::Zane => "item/mcpToolCall/requestApproval",
    };
    let command = (method != "item/fileChange/requestApproval").then_some(&*approval.command);
    let is_line = call.is_command();
    let params = RequestApproval {
        thread_id,
        turn_id: ask.turn.as_str(),
        item_id: ask.call.item.as_str(),
        started_at_ms: at.millis(),
        reason: reason(approval, endpoint),
        command: command.map(|command| match is_line {
            true => items::command_line(endpoint, command),
            false => Cow::Borrowed(command),
        }),
        cwd: command.map(|_| card.directory.to_string_lossy()),
        command_actions: command.map(|command| vec![CommandAction::Unknown { command }]),
        available_decisions: DECISIONS,
    };
    (method, params)
}

/// Why it is asked. Older clients of zane show nothing else, so there the command stands in it.
fn reason(approval: &Approval, endpoint: Endpoint) -> Cow<'_, str> {
    let reason = match approval.reason.as_str() {
        // An ask from before there were reasons.
        "" => "a person decides about this",
        reason => reason,
    };
    match endpoint {
        Endpoint::Codex => Cow::Borrowed(reason),
        Endpoint::Zane => Cow::Owned(format!("{}\n\n{reason}", approval.command)),
    }
}

fn question(question: &Question) -> UserInputQuestion<'_> {
    let options = &question.options;
    UserInputQuestion {
        id: &question.id,
        header: question.header.as_deref().unwrap_or_default(),
        question: &question.question,
        is_other: !options.is_empty(),
        is_secret: false,
        options: (!options.is_empty()).then(|| options.iter().map(choice).collect()),
    }
}

fn choice(option: &QuestionOption) -> UserInputOption<'_> {
    UserInputOption {
        label: &option.label,
        description: option.description.as_deref().unwrap_or_default(),
    }
}

pub fn resolved(told: EventForClient<'_>, ask: AskId) -> Frame {
    let request_id = ask.0;
    let params = ServerRequestResolved {
        thread_id: told.thread,
        request_id,
    };
    told.notify("serverRequest/resolved", &params)
}

/// A client's result as an answer. What cannot be read is a no: nothing runs on a misspelled yes.
pub fn answer(kind: &AskKind, result: Value) -> Answer {
    match kind {
        AskKind::Approval(_) => {
            let answer = match result.get("action") {
                Some(_) => serde_json::from_value(result).map(acted),
                None => serde_json::from_value::<ApprovalResponse>(result)
                    .map(|said| decision(&said.decision)),
            };
            Answer::Approval(answer.unwrap_or(ApprovalAnswer::Deny))
        }
        AskKind::Questions(questions) => {
            match serde_json::from_value::<ToolRequestUserInputResponse>(result) {
                Ok(said) => answers(questions, said),
                Err(_) => Answer::Dismissed,
            }
        }
    }
}

fn decision(decision: &Value) -> ApprovalAnswer {
    match decision.as_str() {
        Some("accept") => ApprovalAnswer::Once,
        Some("acceptForSession") => ApprovalAnswer::ForSession,
        Some("cancel") => ApprovalAnswer::DenyAndCancel,
        Some(_) => ApprovalAnswer::Deny,
        None if decision.get("acceptWithExecpolicyAmendment").is_some() => {
            ApprovalAnswer::ForSession
        }
        None => ApprovalAnswer::Deny,
    }
}

/// The answer to an elicitation: an action, and for how long.
fn acted(said: McpServerElicitationResponse) -> ApprovalAnswer {
    let persist = said.meta.and_then(|meta| meta.persist);
    match (said.action.as_str(), persist.as_deref()) {
        ("accept", Some("session")) => ApprovalAnswer::ForSession,
        ("accept", Some("always")) => ApprovalAnswer::ForWorkspace,
        ("accept", Some(_) | None) => ApprovalAnswer::Once,
        ("cancel", _) => ApprovalAnswer::DenyAndCancel,
        (_, _) => ApprovalAnswer::Deny,
    }
}

/// A client answers all questions at once; those it leaves out are skipped.
fn answers(questions: &[Question], said: ToolRequestUserInputResponse) -> Answer {
    let mut said: BTreeMap<String, Vec<String>> = said
        .answers
        .into_iter()
        .map(|(id, given)| (id, given.answers))
        .collect();
    let answers = questions.iter().map(|question| {
        let given = said.remove(&question.id).unwrap_or_default();
        (question.id.clone(), given)
    });
    Answer::Questions(answers.collect())
}
