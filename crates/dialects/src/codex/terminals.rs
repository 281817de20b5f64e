//! The commands in a thread's background, as terminals that a person looks after.

use vocabulary::{
    BackgroundTerminal, Call, Refusal, StreamTag, TerminalCall, TerminalReply, ThreadId, ToolCall,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::orders::OrderPurpose;
use super::refuse::CodexError;
use super::tell::EventForClient;
use super::wire::params::ThreadParams;
use super::wire::results::{Empty, Page};
use super::wire::terminals::{
    TerminalInteraction, TerminalListParams, TerminalParams, TerminalWriteParams,
    ThreadBackgroundTerminal, ThreadBackgroundTerminalsTerminateResponse,
};
use super::{Codex, respond, send};
use crate::jsonrpc::Id;
use crate::{Action, Frame};

/// What one write may have.
const TEXT_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub enum TerminalRequest {
    List(TerminalListParams),
    Clean(ThreadParams),
    Terminate(TerminalParams),
    Write(TerminalWriteParams),
}

/// What an answer is for.
#[derive(Debug)]
pub enum TerminalPurpose {
    List(Id, TerminalListParams),
    Clean(OrderPurpose),
    Terminate(Id),
    Write(Id),
}

impl Codex {
    pub(super) fn terminals(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: TerminalRequest,
    ) -> Result<(), CodexError> {
        let (thread, call, purpose) = match request {
            TerminalRequest::List(params) => {
                let thread = parse(&params.thread_id)?;
                cursor(&params)?;
                (
                    thread,
                    TerminalCall::List,
                    TerminalPurpose::List(id, params),
                )
            }
            TerminalRequest::Clean(params) => {
                let thread = parse(&params.thread_id)?;
                let purpose = OrderPurpose {
                    id,
                    thread,
                    names_turn: false,
                };
                let call = TerminalCall::End { process: None };
                (thread, call, TerminalPurpose::Clean(purpose))
            }
            TerminalRequest::Terminate(params) => {
                let thread = parse(&params.thread_id)?;
                // One that nobody has given out names nothing that runs.
                let process = Some(params.process_id.parse().unwrap_or(0));
                let call = TerminalCall::End { process };
                (thread, call, TerminalPurpose::Terminate(id))
            }
            TerminalRequest::Write(params) => {
                let thread = parse(&params.thread_id)?;
                let call = write(params)?;
                (thread, call, TerminalPurpose::Write(id))
            }
        };
        self.ask_terminals(out, thread, call, purpose);
        Ok(())
    }

    fn ask_terminals(
        &mut self,
        out: &mut Vec<Action>,
        thread: ThreadId,
        call: TerminalCall,
        purpose: TerminalPurpose,
    ) {
        let waiting = CodexPurpose::Terminals(purpose);
        self.calls
            .make(out, waiting, Call::Terminals { thread, call });
    }

    pub(super) fn terminals_answered(
        &self,
        out: &mut Vec<Action>,
        purpose: &TerminalPurpose,
        reply: TerminalReply,
    ) -> Result<(), Refusal> {
        let frame = match purpose {
            TerminalPurpose::List(id, params) => respond(id, &page(&reply.list()?, params)),
            TerminalPurpose::Clean(purpose) => respond(&purpose.id, &Empty {}),
            TerminalPurpose::Terminate(id) => {
                let terminated = reply.ended()? > 0;
                respond(
                    id,
                    &ThreadBackgroundTerminalsTerminateResponse { terminated },
                )
            }
            TerminalPurpose::Write(id) => respond(id, &Empty {}),
        };
        send(out, frame);
        Ok(())
    }

    pub(super) fn terminals_refused(
        &self,
        out: &mut Vec<Action>,
        purpose: &TerminalPurpose,
        refusal: &Refusal,
    ) {
        match purpose {
            TerminalPurpose::Clean(purpose) => self.order_refused(out, purpose, refusal),
            TerminalPurpose::List(id, _)
            | TerminalPurpose::Terminate(id)
            | TerminalPurpose::Write(id) => {
                send(out, CodexError::from(refusal).frame(Some(id)));
            }
        }
    }
}

fn write(params: TerminalWriteParams) -> Result<TerminalCall, CodexError> {
    const METHOD: &str = "dragoman/terminals/write";
    let process = params.process_id.parse().map_err(|_| {
        CodexError::params(format!(
            "{METHOD}: processId: expected one of thread/backgroundTerminals/list"
        ))
    })?;
    match params.text.len() {
        1..=TEXT_BYTES_MAX => Ok(TerminalCall::Write {
            process,
            text: params.text,
        }),
        _ => Err(CodexError::params(format!(
            "{METHOD}: text: expected 1 to {TEXT_BYTES_MAX} bytes"
        ))),
    }
}

/// Where a page begins: behind this process.
fn cursor(params: &TerminalListParams) -> Result<u32, CodexError> {
    let given = params.cursor.as_deref();
    given.map_or(Ok(0), |cursor| {
        cursor.parse().map_err(|_| {
            let message = "thread/backgroundTerminals/list: cursor: expected one of a page before";
            CodexError::params(message)
        })
    })
}

fn page<'a>(
    terminals: &'a [BackgroundTerminal],
    params: &TerminalListParams,
) -> Page<ThreadBackgroundTerminal<'a>> {
    let after = cursor(params).unwrap_or(0);
    let limit = params
        .limit
        .map_or(usize::MAX, |limit| limit.max(1) as usize);
    let mut rest = terminals.iter().filter(|each| each.process > after);
    let data: Vec<_> = rest.by_ref().take(limit).map(shown).collect();
    let last = data.last().map(|last| last.process_id.clone());
    Page {
        next_cursor: last.filter(|_| rest.next().is_some()),
        data,
    }
}

fn shown(terminal: &BackgroundTerminal) -> ThreadBackgroundTerminal<'_> {
    ThreadBackgroundTerminal {
        process_id: terminal.process.to_string(),
        item_id: terminal.item.as_ref().map_or("", |item| item.as_str()),
        command: &terminal.line,
        cwd: terminal.directory.to_string_lossy(),
    }
}

/// Somebody typed to a command, or waits for it.
pub fn interacted(
    told: EventForClient<'_>,
    tag: &StreamTag,
    call: &ToolCall,
    process: u32,
    stdin: &str,
) -> Frame {
    let params = TerminalInteraction {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        item_id: call.item.as_str(),
        process_id: process.to_string(),
        stdin,
    };
    told.notify("item/commandExecution/terminalInteraction", &params)
}
