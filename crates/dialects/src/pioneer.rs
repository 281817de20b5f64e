//! The pioneer dialect: workspaces and threads over JSON-RPC.
//!
//! A connection is bound to one workspace at most and subscribed to any number of threads. Its
//! requests are handled one at a time, in order: what comes while one is under way waits.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use vocabulary::{
    Attendance, Call, Event, Notice, Refusal, Reply, ThreadCard, ThreadId, Timestamp, WorkspaceId,
};

use self::hear::PioneerError;
use self::steps::{RequestStep, RunningRequest};
use self::subscription::Subscription;
use self::tell::notification;
use self::uploads::Uploads;
use self::wire::thread::{ThreadClosedNotification, ThreadResponse, ThreadTreeChangedNotification};
use crate::jsonrpc::{Id, VersionField};
use crate::{
    Action, Cx, Delivery, Dialect, Ending, Frame, Heard, Hello, Reason, StartAt, Tag, Variant,
};

mod act;
pub mod admin;
mod answer;
pub mod hear;
pub mod history;
mod history_read;
mod input;
pub mod items;
mod loop_limit;
mod models;
mod providers;
mod recovery;
mod refuse;
pub mod schema;
mod servers;
mod show;
mod skills;
mod start;
mod steps;
mod subscription;
pub mod tell;
mod turn_log;
mod turn_read;
mod turns;
mod uploads;
pub mod wire;

#[cfg(test)]
mod tests;

/// Requests that wait for the one under way.
const WAITING_FRAMES_MAX: usize = 256;
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;

/// One connection of this dialect.
#[derive(Default)]
pub struct Pioneer {
    /// Whether it wants to be asked: `?permissions=1`.
    permissions: bool,
    /// The workspace whose notifications it hears.
    bound: Option<WorkspaceId>,
    subscriptions: HashMap<ThreadId, Subscription>,
    running: Option<(RunningRequest, RequestStep)>,
    waiting: VecDeque<String>,
    /// Notifications that came while a request was under way: its answer goes first.
    held: Vec<Frame>,
    last_tag: u64,
    closed: bool,
    /// Whether ids must be as the original's.
    strict_ids: bool,
    /// When this connection was last heard or answered.
    now: Timestamp,
    uploads: Uploads,
}

/// Events as this dialect's frames.
pub fn tell(card: &ThreadCard, event: &Event) -> Vec<Frame> {
    tell::tell(card, event)
}

impl Pioneer {
    fn hear(&mut self, out: &mut Vec<Action>, frame: &str) {
        let hearing = match hear::read(frame) {
            Ok(hearing) => hearing,
            Err(wrong) => return send_error(out, None, &wrong),
        };
        if self.strict_ids && !hear::is_strict(&hearing.id) {
            let message = "`id` must be a string of exactly 21 characters A-Z, a-z, 0-9";
            return send_error(out, None, &PioneerError::request(message));
        }
        match hear::request(&hearing.method, hearing.params) {
            Ok(request) => self.act(out, hearing.id, hearing.method, request),
            Err(wrong) => send_error(out, Some(&hearing.id), &wrong),
        }
    }

    /// Makes a call for the request under way.
    fn call(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        step: RequestStep,
        call: Call,
    ) {
        let tag = self.run(running, step);
        out.push(Action::Call { tag, call });
    }

    fn listen(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        step: RequestStep,
        thread: ThreadId,
    ) {
        let tag = self.run(running, step);
        out.push(Action::Listen {
            tag,
            thread,
            from: StartAt::Head,
            recent: 0,
        });
    }

    fn run(&mut self, running: &RunningRequest, step: RequestStep) -> Tag {
        self.running = Some((running.clone(), step));
        self.last_tag += 1;
        Tag(self.last_tag)
    }

    /// Goes on with what waited, until something has to wait again.
    fn go_on(&mut self, out: &mut Vec<Action>) {
        while self.running.is_none() {
            out.extend(self.held.drain(..).map(Action::Send));
            match self.waiting.pop_front() {
                Some(frame) => self.hear(out, &frame),
                None => return,
            }
        }
    }

    fn close(&mut self, out: &mut Vec<Action>, reason: Reason) {
        self.closed = true;
        out.push(Action::Close(reason));
    }

    fn bind(&mut self, workspace: &str) {
        self.bound = Some(WorkspaceId::new(workspace.trim()));
    }

    /// The thread a client names, where this connection is subscribed to it.
    fn subscribed(&self, name: &str) -> Option<ThreadId> {
        let cards = self.subscriptions.values().map(|each| &each.thread.card);
        let mut named = cards.filter(|card| show::wire_id(card) == name);
        named.next().map(|card| card.id)
    }

    /// After the answer to the request under way, or at once.
    fn notify(&mut self, out: &mut Vec<Action>, frame: Frame) {
        match self.running {
            Some(_) => self.held.push(frame),
            None => out.push(Action::Send(frame)),
        }
    }

    /// Nothing more comes from a thread; who wants to hear it again starts it again.
    fn thread_ended(&mut self, out: &mut Vec<Action>, card: &ThreadCard, ending: Ending) {
        let subscribed = self.subscriptions.remove(&card.id).is_some();
        // A server that stops says so to all.
        if subscribed && ending != Ending::Asleep {
            self.notify(out, thread_closed(card));
        }
    }

    fn is_bound(&self, workspace: &WorkspaceId) -> bool {
        self.bound.as_ref() == Some(workspace)
    }

    /// Whether this connection is just starting this thread: it is told by the answer.
    fn is_starting(&self, card: &ThreadCard) -> bool {
        match &self.running {
            Some((_, RequestStep::Start(start))) => start.params.thread_id == show::wire_id(card),
            Some(_) | None => false,
        }
    }
}

fn thread_closed(card: &ThreadCard) -> Frame {
    let params = ThreadClosedNotification {
        workspace_id: card.workspace.as_str(),
        thread_id: &show::wire_id(card),
    };
    notification("thread/closed", &params)
}

/// A tree that should be read again.
fn tree_changed(workspace: &WorkspaceId) -> Frame {
    let workspace_id = workspace.as_str();
    let params = ThreadTreeChangedNotification { workspace_id };
    notification("thread/tree/changed", &params)
}

fn respond(out: &mut Vec<Action>, id: &Id, result: &impl Serialize) {
    out.push(Action::Send(VersionField::Written.response(id, result)));
}

fn send_error(out: &mut Vec<Action>, id: Option<&Id>, wrong: &PioneerError) {
    let frame = VersionField::Written.error(id, wrong.code, &wrong.message);
    out.push(Action::Send(frame));
}

impl Dialect for Pioneer {
    fn variant(&self) -> Variant {
        Variant::Pioneer
    }

    /// Without `permissions` nobody is asked here. The last subscriber's leaving unloads a thread.
    fn attendance(&self) -> Attendance {
        Attendance {
            audience: self.variant().audience(),
            answers: self.permissions,
            lets_sleep: true,
        }
    }

    fn opened(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello) {
        self.permissions = hello.query("permissions") == Some("1");
        self.strict_ids = hello.strict_ids;
        out.push(Action::Watch);
    }

    fn heard(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, frame: &str) {
        self.now = cx.now;
        if self.closed {
            return;
        }
        if self.running.is_none() {
            self.hear(out, frame);
            return self.go_on(out);
        }
        let bytes: usize = self.waiting.iter().map(String::len).sum();
        if self.waiting.len() < WAITING_FRAMES_MAX && bytes + frame.len() <= WAITING_BYTES_MAX {
            self.waiting.push_back(frame.to_owned());
        } else {
            let text = "too many requests at once; wait for answers";
            self.close(out, Reason::new(Reason::POLICY, text));
        }
    }

    /// Chunks of uploads; any other is text. A chunk is no request, and waits for none.
    fn heard_binary(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, bytes: &[u8]) {
        if !bytes.starts_with(uploads::MAGIC) {
            return self.heard(cx, out, &String::from_utf8_lossy(bytes));
        }
        if self.closed {
            return;
        }
        self.uploads.forget_old(cx.now);
        match self.uploads.chunk(bytes) {
            Ok((id, chunk)) => {
                let params = uploads::ack(&id, chunk);
                out.push(Action::Send(notification(
                    "skills/upload/chunk_ack",
                    &params,
                )));
            }
            Err(wrong) => {
                let message = format!("skills/upload chunk: {wrong}");
                send_error(out, None, &PioneerError::request(message));
            }
        }
    }

    fn replied(
        &mut self,
        cx: &Cx<'_>,
        out: &mut Vec<Action>,
        tag: Tag,
        outcome: Result<Reply, Refusal>,
    ) {
        self.now = cx.now;
        if tag != Tag(self.last_tag) || self.closed {
            return;
        }
        if let Some((running, step)) = self.running.take() {
            self.answered(out, &running, step, outcome);
            self.go_on(out);
        }
    }

    fn told(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, delivery: Delivery<'_>) {
        if let Heard::Ended(ending) = delivery.what {
            return self.thread_ended(out, delivery.card, ending);
        }
        let Some(subscription) = self.subscriptions.get_mut(&delivery.card.id) else {
            return;
        };
        match delivery.what {
            Heard::Live(event) => subscription.told(out, event, self.permissions),
            // A client of this protocol cannot be told of a hole; it can come again.
            Heard::Gap { .. } => self.close(out, Reason::too_slow()),
            // Listening from the head, nothing is read back.
            Heard::Replay(_) | Heard::CaughtUp { .. } | Heard::Ended(_) => {}
        }
    }

    fn noticed(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, notice: &Notice) {
        match notice {
            Notice::WorkspaceChanged {
                what, workspace, ..
            } => {
                let params = show::workspace_changed(*what, workspace);
                self.notify(out, notification("workspace/changed", &params));
            }
            Notice::TreeChanged { workspace, .. } => {
                if self.is_bound(workspace) {
                    self.notify(out, tree_changed(workspace));
                }
            }
            Notice::ThreadAdded { thread, .. } => {
                let card = &thread.card;
                let known = self.subscriptions.contains_key(&card.id) || self.is_starting(card);
                if self.is_bound(&card.workspace) && !known {
                    self.notify(out, tree_changed(&card.workspace));
                }
            }
            // Subscribers follow the thread itself.
            Notice::ThreadChanged { thread, .. } => {
                let card = &thread.card;
                let known = self.subscriptions.contains_key(&card.id) || self.is_starting(card);
                if self.is_bound(&card.workspace) && !known {
                    let thread = show::thread(thread);
                    let frame = notification("thread/updated", &ThreadResponse { thread });
                    self.notify(out, frame);
                }
            }
            // Whose it was is not known any more; reading a tree too often does no harm.
            Notice::ThreadRemoved { .. } | Notice::Reload => {
                if let Some(bound) = self.bound.clone() {
                    self.notify(out, tree_changed(&bound));
                }
            }
            Notice::SkillsChanged { .. }
            | Notice::McpChanged { .. }
            | Notice::McpServerChanged { .. } => {
                if let Some(bound) = self.bound.clone() {
                    let skills = skills::changed(&bound, notice).into_iter();
                    let frames = skills.chain(servers::changed(&bound, notice));
                    frames.for_each(|frame| self.notify(out, frame));
                }
            }
            // Awake or asleep, it is idle for these clients.
            Notice::ThreadStatusChanged { .. } | Notice::TracingChanged { .. } => {}
            Notice::ShuttingDown { reason } => {
                self.close(out, Reason::new(Reason::GOING_AWAY, reason.as_ref()));
            }
        }
    }

    /// An upload may be too old by now.
    fn woke(&mut self, cx: &Cx<'_>, _out: &mut Vec<Action>) {
        self.uploads.forget_old(cx.now);
    }

    fn gone(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {
        self.closed = true;
        self.uploads = Uploads::default();
    }
}
