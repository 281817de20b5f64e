//! The states of a joined session and what fences its commands in, as one client was told them.
//!
//! Nothing is told that cannot follow what was told before: where a state was missed, the way there
//! is told instead (docs/protocols/diminuendo.md, "The seven states").

use vocabulary::{
    AgentMode, AskFact, Fact, SandboxInForce, SandboxMechanism, SandboxMode, Status, StatusReason,
    ThreadView, TurnErrorKind, TurnFact, TurnOutcome,
};

use super::send;
use super::tell::{spell_reason, state as spell_state};
use super::wire::ServerEvent;
use super::wire::parts::SandboxState;
use crate::{Action, Ending};

/// What a client knows of one session.
#[derive(Clone, Copy, Debug)]
pub struct ToldState {
    status: Status,
    sandbox: SandboxInForce,
    files: SandboxMode,
}

impl ToldState {
    pub fn of(view: &ThreadView) -> Self {
        Self {
            status: view.thread.status,
            sandbox: view.sandbox,
            files: files(view),
        }
    }

    /// A session that slept is awake as soon as somebody has joined it.
    pub fn wake(&mut self, out: &mut Vec<Action>, session_id: &str) {
        if self.status == Status::Inactive {
            let reason = spell_reason(StatusReason::Woken);
            self.go(out, session_id, Status::Activating, reason);
            self.tell_sandbox(out, session_id);
            self.go(out, session_id, Status::Ready, reason);
        }
    }

    /// A state that everybody is told: `Shared` is its frame.
    pub fn follow(
        &mut self,
        out: &mut Vec<Action>,
        session_id: &str,
        status: Status,
        reason: StatusReason,
    ) {
        if self.status.to(status).is_ok() {
            self.status = status;
            out.push(Action::Shared);
        } else {
            self.go(out, session_id, status, spell_reason(reason));
        }
    }

    /// What a fact says of the state to who was too slow to be told it.
    pub fn infer(&mut self, out: &mut Vec<Action>, session_id: &str, fact: &Fact) {
        if let Some((status, reason)) = implied(fact) {
            self.go(out, session_id, status, spell_reason(reason));
        }
    }

    /// Nothing more comes from the session; another process has it, or its log could not be written.
    pub fn end(&mut self, out: &mut Vec<Action>, session_id: &str, ending: Ending) {
        let reason = match ending {
            Ending::HandedOver => "handed_over",
            Ending::Failed => "session_failed",
            // A deletion is told to everyone of the tenant, and a server that stops says so.
            Ending::Asleep | Ending::Deleted => return,
        };
        let last = match self.status {
            // Lists show that it failed, asleep or awake.
            Status::Error => Status::Error,
            Status::Inactive
            | Status::Activating
            | Status::Ready
            | Status::Running
            | Status::Waiting
            | Status::Deactivating => Status::Inactive,
        };
        self.go(out, session_id, Status::Deactivating, reason);
        if self.sandbox.mechanism != SandboxMechanism::Nothing {
            tell_removed(out, session_id, reason);
        }
        self.go(out, session_id, last, reason);
    }

    /// The settings changed, and with them perhaps what holds.
    pub fn fence(&mut self, out: &mut Vec<Action>, session_id: &str, view: &ThreadView) {
        let before = self.sandbox.mechanism;
        let is_other = (self.sandbox, self.files) != (view.sandbox, files(view));
        self.sandbox = view.sandbox;
        self.files = files(view);
        if !is_other || self.status == Status::Inactive {
            return;
        }
        if before != SandboxMechanism::Nothing && before != self.sandbox.mechanism {
            tell_removed(out, session_id, "settings_changed");
        }
        self.tell_sandbox(out, session_id);
    }

    fn go(&mut self, out: &mut Vec<Action>, session_id: &str, to: Status, reason: &'static str) {
        for status in self.status.path_to(to) {
            let state = spell_state(status);
            let told = ServerEvent::SessionState {
                session_id,
                state,
                reason,
            };
            send(out, &told);
        }
        self.status = to;
    }

    /// What was found out and decided before a first command runs. Where nothing holds, nothing is
    /// told: there is no sandbox that could be ready.
    fn tell_sandbox(&self, out: &mut Vec<Action>, session_id: &str) {
        let Some(provider) = provider(self.sandbox) else {
            return;
        };
        send(
            out,
            &ServerEvent::SandboxInit {
                session_id,
                provider,
            },
        );
        let writes = match self.files {
            SandboxMode::ReadOnly => "commands may write nowhere",
            SandboxMode::WorkspaceWrite | SandboxMode::FullAccess => {
                "commands may write in the workspace"
            }
        };
        let network = match self.sandbox.network {
            true => "and reach the network",
            false => "and do not reach the network",
        };
        for (phase, message) in [
            (
                "creating",
                format!("{provider} was tried out here, and holds"),
            ),
            ("configuring", format!("{writes}, {network}")),
        ] {
            let message = &message;
            let told = ServerEvent::SandboxProvisioning {
                session_id,
                phase,
                message,
            };
            send(out, &told);
        }
        send(out, &ServerEvent::SandboxReady { session_id });
    }
}

/// What commands may write: nothing while the agent plans.
fn files(view: &ThreadView) -> SandboxMode {
    let settings = &view.thread.settings;
    match settings.mode {
        AgentMode::Plan => SandboxMode::ReadOnly,
        AgentMode::Chat | AgentMode::Code => settings.sandbox,
    }
}

/// What stands in a snapshot: nothing where none holds, or while the session sleeps.
pub fn sandbox(view: &ThreadView) -> Option<SandboxState> {
    let provider = provider(view.sandbox).filter(|_| view.thread.status != Status::Inactive)?;
    let status = "ready";
    Some(SandboxState { status, provider })
}

fn provider(sandbox: SandboxInForce) -> Option<&'static str> {
    match sandbox.mechanism {
        SandboxMechanism::Bubblewrap => Some("bubblewrap"),
        SandboxMechanism::Landlock => Some("landlock"),
        SandboxMechanism::Nothing => None,
    }
}

fn tell_removed(out: &mut Vec<Action>, session_id: &str, reason: &'static str) {
    send(out, &ServerEvent::SandboxRemoved { session_id, reason });
}

fn implied(fact: &Fact) -> Option<(Status, StatusReason)> {
    match fact {
        Fact::Turn(TurnFact::Started { .. }) => Some((Status::Running, StatusReason::TurnStarted)),
        Fact::Turn(TurnFact::Finished { outcome, .. }) => Some(match outcome {
            TurnOutcome::Completed => (Status::Ready, StatusReason::TurnComplete),
            TurnOutcome::Cancelled => (Status::Ready, StatusReason::UserStopped),
            TurnOutcome::Failed(error) => {
                let reason = match error.kind {
                    TurnErrorKind::ServerRestart => StatusReason::ServerRestart,
                    TurnErrorKind::AgentLost => StatusReason::AgentLost,
                    TurnErrorKind::Provider
                    | TurnErrorKind::Internal
                    | TurnErrorKind::Budget
                    | TurnErrorKind::StepLimit
                    | TurnErrorKind::Loop
                    | TurnErrorKind::OutputLimit
                    | TurnErrorKind::EmptyAnswer
                    | TurnErrorKind::InsufficientCredits
                    | TurnErrorKind::ContextFull => StatusReason::TurnFailed,
                };
                (Status::Error, reason)
            }
        }),
        Fact::Ask { what, .. } => match what {
            AskFact::Opened { .. } => Some((Status::Waiting, StatusReason::AskOpened)),
            AskFact::Closed { .. } => Some((Status::Running, StatusReason::AskClosed)),
            AskFact::Progressed { .. } => None,
        },
        Fact::Turn(
            TurnFact::Steered { .. }
            | TurnFact::SteerPlaced { .. }
            | TurnFact::PlanChanged { .. }
            | TurnFact::UsageAdded { .. },
        )
        | Fact::Thread(_)
        | Fact::Step { .. }
        | Fact::Item { .. }
        | Fact::Tool(_)
        | Fact::Files(_)
        | Fact::Note(_) => None,
    }
}
