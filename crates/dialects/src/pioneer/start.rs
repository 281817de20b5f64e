//! `thread/start`: create or reopen, subscribe, and say so.

use vocabulary::{
    AgentMode, Call, Changes, LibraryCall, ModelRef, NewThread, Refusal, Reply, Thread, ThreadId,
    ThreadView, Why, WorkspaceId,
};

use super::hear::PioneerError;
use super::steps::{RequestStep, RunningRequest};
use super::subscription::Subscription;
use super::tell::notification;
use super::wire::params::ThreadStartParams;
use super::wire::thread::{
    SandboxMode, ThreadMode, ThreadResponse, ThreadSandbox, ThreadStartResponse,
};
use super::{Pioneer, models, respond, send_error, show};
use crate::{Action, Frame};

pub struct ThreadStart {
    pub params: ThreadStartParams,
    pub at: StartStep,
    /// Somebody else may create the same thread at the same moment; then it is looked for again.
    pub again: bool,
}

impl ThreadStart {
    pub fn new(params: ThreadStartParams) -> Self {
        Self {
            params,
            at: StartStep::Finding,
            again: false,
        }
    }

    /// What is supplied.
    fn changes(&self, in_use: Option<&ModelRef>) -> Changes {
        let params = &self.params;
        let (provider, model) = (params.model_provider.as_ref(), params.model.as_ref());
        Changes {
            title: name(params),
            mode: params.mode.map(ThreadMode::meant),
            ..models::change(provider, model, in_use)
        }
    }

    /// What is supplied and differs.
    fn changes_of(&self, thread: &Thread) -> Changes {
        let known = &thread.settings;
        let changes = self.changes(Some(&known.model));
        let mut labels = show::labels(&self.params);
        labels.retain(|name, value| thread.labels.get(name) != Some(value));
        Changes {
            labels,
            // A thread that plans is an agent's, and goes on planning.
            mode: changes
                .mode
                .filter(|mode| ThreadMode::from(*mode) != known.mode.into()),
            ..changes
        }
    }
}

pub enum StartStep {
    Finding,
    /// A new thread needs a workspace that can be used.
    Selecting,
    Creating,
    Changing,
    Listening,
}

impl Pioneer {
    pub(super) fn begin_start(
        &mut self,
        out: &mut Vec<Action>,
        mut running: RunningRequest,
        start: ThreadStart,
    ) {
        running.thread = Some(start.params.thread_id.clone());
        self.find_to_start(out, &running, start);
    }

    fn go_on_starting(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        start: ThreadStart,
        call: Call,
    ) {
        self.call(out, running, RequestStep::Start(Box::new(start)), call);
    }

    fn find_to_start(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        mut start: ThreadStart,
    ) {
        start.at = StartStep::Finding;
        let name = start.params.thread_id.clone();
        self.go_on_starting(out, running, start, Call::FindThread { name });
    }

    /// A thread that is not there is made, and one that somebody else just made is found.
    pub(super) fn start_refused(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        mut start: ThreadStart,
        refusal: Refusal,
    ) -> Result<(), Refusal> {
        match start.at {
            StartStep::Finding if refusal.why == Why::UnknownThread => {
                start.at = StartStep::Selecting;
                let call = Call::Library(LibraryCall::SelectWorkspace {
                    id: WorkspaceId::new(start.params.workspace_id.trim()),
                    make_current: false,
                });
                self.go_on_starting(out, running, start, call);
            }
            StartStep::Creating | StartStep::Listening
                if refusal.why == Why::Conflict && !start.again =>
            {
                start.again = true;
                self.find_to_start(out, running, start);
            }
            StartStep::Finding
            | StartStep::Selecting
            | StartStep::Creating
            | StartStep::Changing
            | StartStep::Listening => {
                return Err(refusal);
            }
        }
        Ok(())
    }

    pub(super) fn start_answered(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        start: ThreadStart,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match start.at {
            StartStep::Finding => self.reopen(out, running, start, *reply.thread()?),
            StartStep::Selecting => {
                reply.library()?;
                self.create(out, running, start);
            }
            StartStep::Creating => {
                let thread = *reply.thread()?;
                // Somebody else may have been quicker, and elsewhere.
                match thread.card.workspace.as_str() == start.params.workspace_id.trim() {
                    true => self.join(out, running, start, thread),
                    false => self.reopen(out, running, start, thread),
                }
            }
            StartStep::Changing => self.join(out, running, start, *reply.thread()?),
            StartStep::Listening => self.subscribe(out, running, &*reply.view()?),
        }
        Ok(())
    }

    fn create(&mut self, out: &mut Vec<Action>, running: &RunningRequest, mut start: ThreadStart) {
        start.at = StartStep::Creating;
        let call = Call::CreateThread(Box::new(self.new_thread(&start)));
        self.go_on_starting(out, running, start, call);
    }

    fn new_thread(&self, start: &ThreadStart) -> NewThread {
        let params = &start.params;
        let mut changes = start.changes(None);
        changes.title = None;
        changes.mode.get_or_insert(AgentMode::Chat);
        // Full access asks nobody, unless this client wants to be asked.
        changes.auto_approve = Some(!self.permissions);
        NewThread {
            usual_folders: false,
            ephemeral: false,
            instructions: None,
            client_id: Some(params.thread_id.clone()),
            workspace: Some(WorkspaceId::new(params.workspace_id.trim())),
            directory: None,
            title: name(params),
            labels: show::labels(params),
            changes,
            approvals_expected: None,
            keep: true,
            resumed: None,
        }
    }

    /// A thread that is known: what was supplied is taken over, but for one that is loaded only
    /// its name.
    fn reopen(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        mut start: ThreadStart,
        thread: Thread,
    ) {
        let (card, params) = (thread.card.clone(), &start.params);
        if card.workspace.as_str() != params.workspace_id.trim() {
            let (id, workspace) = (&params.thread_id, &card.workspace);
            let message = format!("thread `{id}` belongs to workspace `{workspace}`");
            let wrong = PioneerError::params(&running.method, message);
            return send_error(out, Some(&running.id), &wrong);
        }
        let changes = match thread.status {
            vocabulary::Status::Inactive => start.changes_of(&thread),
            vocabulary::Status::Activating
            | vocabulary::Status::Ready
            | vocabulary::Status::Running
            | vocabulary::Status::Waiting
            | vocabulary::Status::Deactivating
            | vocabulary::Status::Error => Changes {
                title: name(params),
                ..Changes::default()
            },
        };
        if changes == Changes::default() {
            return self.join(out, running, start, thread);
        }
        start.at = StartStep::Changing;
        let call = Call::ChangeThread {
            thread: card.id,
            changes,
        };
        self.go_on_starting(out, running, start, call);
    }

    /// Listens, or answers at once where this connection does already.
    fn join(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        mut start: ThreadStart,
        thread: Thread,
    ) {
        let id = thread.card.id;
        if let Some(subscription) = self.subscriptions.get_mut(&id) {
            subscription.thread.title = thread.title;
            return self.say_started(out, running, id, Vec::new());
        }
        start.at = StartStep::Listening;
        self.listen(out, running, RequestStep::Start(Box::new(start)), id);
    }

    fn subscribe(&mut self, out: &mut Vec<Action>, running: &RunningRequest, view: &ThreadView) {
        let subscription = Subscription::new(view);
        let (id, so_far) = (subscription.thread.card.id, subscription.so_far(view));
        self.subscriptions.insert(id, subscription);
        self.say_started(out, running, id, so_far);
    }

    fn say_started(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        id: ThreadId,
        so_far: Vec<Frame>,
    ) {
        let Some(subscription) = self.subscriptions.get(&id) else {
            return;
        };
        // Not before: a workspace that is not there binds nobody.
        self.bound = Some(subscription.thread.card.workspace.clone());
        let response = ThreadStartResponse {
            thread: show::thread(&subscription.thread),
            sandbox: ThreadSandbox {
                mode: SandboxMode::FullAccess,
                held: subscription.sandbox.holds,
                network: subscription.sandbox.network,
            },
        };
        respond(out, &running.id, &response);
        let thread = show::thread(&subscription.thread);
        let frame = notification("thread/started", &ThreadResponse { thread });
        out.push(Action::Send(frame));
        out.extend(so_far.into_iter().map(Action::Send));
        if self.permissions {
            let open = subscription.asks.values();
            out.extend(open.map(|ask| Action::Send(subscription.opened(ask))));
        }
    }
}

fn name(params: &ThreadStartParams) -> Option<String> {
    let name = params.name.as_deref().map(str::trim);
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}
