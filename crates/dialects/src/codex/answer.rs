//! Replies and refusals as responses to the connection that asked.

use vocabulary::{
    AskId, Call, Event, Fact, Reply, RunningTurn, Status, Thread, ThreadId, ThreadView, TurnFact,
    TurnId, Why,
};

use super::calls::{ALL_MESSAGES, Waiting};
use super::refuse::Wrong;
use super::tell::{notify, tell};
use super::wire::notice::ThreadStarted;
use super::wire::results::{Empty, Page, ThreadReadResponse, TurnStartResponse, TurnSteerResponse};
use super::wire::thread::Turn;
use super::{Codex, account, history, offer, orbit, respond, send, show};
use crate::jsonrpc::{INTERNAL_ERROR, Id};
use crate::{Action, Frame};

impl Codex {
    pub(super) fn answer(&mut self, out: &mut Vec<Action>, waiting: Waiting, reply: Reply) {
        match (waiting, reply) {
            (Waiting::ModelList(id, params), Reply::Catalog(catalog)) => {
                self.learn_names(&catalog);
                let models = offer::models(&catalog, &params);
                send(out, respond(&id, &models));
            }
            (Waiting::Account(id), Reply::ProviderStatus(statuses)) => {
                send(out, respond(&id, &account::account(&statuses)));
            }
            (Waiting::LoginKey(id), Reply::SignedIn(end)) => self.key_saved(out, &id, end),
            (Waiting::LoginBegin(id), Reply::Challenge(challenge)) => {
                self.challenged(out, &id, *challenge);
            }
            (Waiting::LoginFinish(login), Reply::SignedIn(end)) => {
                self.login_ended(out, login, &end);
            }
            (Waiting::Logout(id), Reply::ProviderStatus(statuses)) => {
                self.sign_out(out, id, account::accounts(&statuses));
            }
            (Waiting::SignOut(id, left), Reply::SignedIn(end)) => {
                self.signed_out(out, id, left, end);
            }
            (Waiting::ThreadList(id), Reply::Threads { threads, next }) => {
                self.threads(out, &id, &threads, next);
            }
            (Waiting::TurnList(id, listing), Reply::Turns(page)) => {
                self.turns_listed(out, &id, listing, &page);
            }
            (Waiting::LoadedList(id), Reply::Threads { threads, .. }) => {
                let heard = |thread: &Thread| self.listening.hears(thread.card.id);
                let awake = threads
                    .iter()
                    .filter(|thread| is_awake(thread.status) || heard(thread));
                let data = awake.map(|thread| thread.card.id.to_string()).collect();
                let next_cursor = None;
                send(out, respond(&id, &Page { data, next_cursor }));
            }
            (Waiting::StartModel(id, params), Reply::Catalog(catalog)) => {
                self.thread_create(out, id, params, Some(&catalog));
            }
            (Waiting::StartCreate(id), Reply::Thread(thread)) => {
                self.announced.insert(thread.card.id);
                self.calls
                    .listen(out, Waiting::StartListen(id), thread.card.id);
            }
            (Waiting::StartListen(id), Reply::Listening(view)) => self.started(out, &id, &view),
            (Waiting::Resume { id, turns }, Reply::Listening(view)) => {
                self.resumed(out, &id, &view, turns);
            }
            (Waiting::Read(id), Reply::Thread(thread)) => {
                let thread = show::thread(self.speaking(), &thread, Vec::new());
                send(out, respond(&id, &ThreadReadResponse { thread }));
            }
            (Waiting::ReadTurns(id), Reply::View(view)) => self.read(out, &id, &view),
            (Waiting::Anew, Reply::View(view)) => self.began_anew(out, &view),
            (Waiting::TurnListen(id, wanted), Reply::Listening(view)) => {
                let asks = self.listening.begin(&view);
                self.turn_settings(out, id, wanted);
                self.request_again(out, &asks);
            }
            (Waiting::TurnModel(id, wanted), Reply::Catalog(catalog)) => {
                self.turn_change(out, id, *wanted, Some(&catalog));
            }
            (Waiting::Turn(id), Reply::Turn { turn, .. }) => self.turn(out, &id, &turn),
            (Waiting::Grants(id), Reply::Grants(grants)) => {
                let data = grants.iter().map(show::grant).collect();
                let next_cursor = None;
                send(out, respond(&id, &Page { data, next_cursor }));
            }
            (Waiting::Steer(id), Reply::Steered { turn, .. }) => {
                let turn_id = turn.as_str();
                send(out, respond(&id, &TurnSteerResponse { turn_id }));
            }
            (Waiting::Done(id), Reply::Done | Reply::Thread(_) | Reply::Cancelled { .. }) => {
                send(out, respond(&id, &Empty {}))
            }
            (Waiting::Answer(_), Reply::Done) => {}
            (Waiting::Subscribe, Reply::Listening(view)) => {
                let asks = self.listening.begin(&view);
                send(out, orbit::subscribed(view.thread.card.id));
                self.request_again(out, &asks);
            }
            // tidy: wildcard, because any other pair is a fault of the engine's, and told as one
            (waiting, _) => self.confused(out, &waiting),
        }
    }

    pub(super) fn refuse(&mut self, out: &mut Vec<Action>, waiting: &Waiting, wrong: &Wrong) {
        if is_start(waiting) {
            self.start_over(out);
        }
        match id_of(waiting) {
            Some(id) => send(out, wrong.frame(Some(id))),
            None if matches!(waiting, Waiting::Subscribe) => send(out, wrong.frame(None)),
            // A response cannot be answered.
            None => {}
        }
    }

    /// A blank answer leaves the ask open, and it is asked again.
    pub(super) fn answer_refused(&mut self, out: &mut Vec<Action>, ask: AskId, why: &Why) {
        if *why == Why::BlankAnswer {
            self.request_again(out, &[ask]);
        }
    }

    fn confused(&mut self, out: &mut Vec<Action>, waiting: &Waiting) {
        let wrong = Wrong {
            code: INTERNAL_ERROR,
            message: "the server gave an answer that does not fit; try again".to_owned(),
        };
        self.refuse(out, waiting, &wrong);
    }

    fn threads(
        &self,
        out: &mut Vec<Action>,
        id: &Id,
        threads: &[Thread],
        next_cursor: Option<String>,
    ) {
        let show = |thread| show::thread(self.speaking(), thread, Vec::new());
        let data = threads.iter().map(show).collect();
        send(out, respond(id, &Page { data, next_cursor }));
    }

    /// The response first, then the notification, as the app-server orders them.
    fn started(&mut self, out: &mut Vec<Action>, id: &Id, view: &ThreadView) {
        self.listening.begin(view);
        let opened = show::opened(self.speaking(), &view.thread, view.sandbox, &[], Vec::new());
        send(out, respond(id, &opened));
        let notice = ThreadStarted {
            thread_id: opened.thread.id.clone(),
            thread: opened.thread,
        };
        send(out, notify("thread/started", &notice));
        self.start_over(out);
    }

    /// A start is over: what was added meanwhile can be told, now that it is known whose it is.
    fn start_over(&mut self, out: &mut Vec<Action>) {
        self.starting = self.starting.saturating_sub(1);
        if self.starting == 0 {
            for thread in std::mem::take(&mut self.held) {
                self.added(out, &thread);
            }
        }
    }

    pub(super) fn added(&mut self, out: &mut Vec<Action>, thread: &Thread) {
        if self.announced.remove(&thread.card.id) {
            return;
        }
        send(out, self.thread_started(thread));
    }

    fn thread_started(&self, thread: &Thread) -> Frame {
        let notice = ThreadStarted {
            thread_id: thread.card.id.to_string(),
            thread: show::loaded(self.speaking(), thread, &[], Vec::new()),
        };
        notify("thread/started", &notice)
    }

    /// The turns so far, then every open ask as the request it was. A client of zane may have
    /// subscribed before; what it was asked then is not asked twice.
    fn resumed(&mut self, out: &mut Vec<Action>, id: &Id, view: &ThreadView, turns_shown: bool) {
        let new = self.listening.begin(view);
        let thread = &view.thread;
        let turns = self.turns_of(view);
        let kinds: Vec<_> = view.asks.iter().map(|open| &open.ask.kind).collect();
        send(
            out,
            respond(
                id,
                &show::opened(self.speaking(), thread, view.sandbox, &kinds, turns),
            ),
        );
        if !turns_shown {
            self.so_far(out, view);
        }
        self.plan(out, view);
        let asks = match self.endpoint {
            super::Endpoint::Zane => new,
            super::Endpoint::Codex => self.listening.asks_of(thread.card.id),
        };
        self.request_again(out, &asks);
    }

    /// With what is being written right now.
    fn turns_of<'a>(&self, view: &'a ThreadView) -> Vec<Turn<'a>> {
        let card = &view.thread.card;
        history::turns(self.endpoint, card, &view.recent, view.turn.as_ref())
    }

    /// What the model is writing, for one who wants no turns but hears how they go on.
    fn so_far(&self, out: &mut Vec<Action>, view: &ThreadView) {
        // What commands print is in their items when they end.
        let printed = |fact: &Fact| matches!(fact, Fact::Tool(_));
        let facts = view.turn.iter().flat_map(RunningTurn::so_far);
        facts
            .filter(|fact| !printed(fact))
            .for_each(|fact| self.retell(out, view, fact));
    }

    fn retell(&self, out: &mut Vec<Action>, view: &ThreadView, fact: Fact) {
        let event = Event {
            seq: view.head,
            at: view.thread.updated_at,
            by: None,
            fact,
        };
        let frames = tell(&view.thread.card, &event, self.endpoint);
        out.extend(frames.into_iter().map(Action::Send));
    }

    /// The plan is no item, so no turn tells it.
    fn plan(&self, out: &mut Vec<Action>, view: &ThreadView) {
        if view.plan.is_empty() {
            return;
        }
        let fact = Fact::Turn(TurnFact::PlanChanged {
            turn: view.plan_turn.clone(),
            steps: view.plan.clone(),
        });
        self.retell(out, view, fact);
    }

    fn read(&self, out: &mut Vec<Action>, id: &Id, view: &ThreadView) {
        let mut thread = show::thread(self.speaking(), &view.thread, self.turns_of(view));
        if let Some(open) = view.asks.first() {
            thread.status = show::waiting_status(self.endpoint, &open.ask.kind);
        }
        send(out, respond(id, &ThreadReadResponse { thread }));
    }

    /// This protocol has no word for a reset: the thread is started again for who hears it, with the
    /// turns that it has then.
    pub(super) fn begin_anew(&mut self, out: &mut Vec<Action>, thread: ThreadId) {
        let recent = ALL_MESSAGES;
        let call = Call::ReadThread { thread, recent };
        self.calls.make(out, Waiting::Anew, call);
    }

    fn began_anew(&self, out: &mut Vec<Action>, view: &ThreadView) {
        if !self.listening.hears(view.thread.card.id) {
            return;
        }
        let kinds: Vec<_> = view.asks.iter().map(|open| &open.ask.kind).collect();
        let notice = ThreadStarted {
            thread_id: view.thread.card.id.to_string(),
            thread: show::loaded(self.speaking(), &view.thread, &kinds, self.turns_of(view)),
        };
        send(out, notify("thread/started", &notice));
    }

    fn turn(&self, out: &mut Vec<Action>, id: &Id, turn: &TurnId) {
        let turn = show::turn(self.endpoint, turn);
        send(out, respond(id, &TurnStartResponse { turn }));
    }

    fn request_again(&self, out: &mut Vec<Action>, asks: &[AskId]) {
        let again = |ask: &AskId| self.listening.request(*ask, self.endpoint);
        out.extend(asks.iter().filter_map(again).map(Action::Send));
    }
}

fn is_awake(status: Status) -> bool {
    match status {
        Status::Activating | Status::Ready | Status::Running | Status::Waiting => true,
        Status::Inactive | Status::Deactivating | Status::Error => false,
    }
}

fn is_start(waiting: &Waiting) -> bool {
    matches!(
        waiting,
        Waiting::StartModel(..) | Waiting::StartCreate(_) | Waiting::StartListen(_)
    )
}

/// The request that waits for this, if it was one.
fn id_of(waiting: &Waiting) -> Option<&Id> {
    match waiting {
        Waiting::Account(id)
        | Waiting::LoginKey(id)
        | Waiting::LoginBegin(id)
        | Waiting::Logout(id)
        | Waiting::SignOut(id, _)
        | Waiting::ModelList(id, _)
        | Waiting::ThreadList(id)
        | Waiting::TurnList(id, _)
        | Waiting::LoadedList(id)
        | Waiting::StartModel(id, _)
        | Waiting::StartCreate(id)
        | Waiting::StartListen(id)
        | Waiting::Resume { id, .. }
        | Waiting::Read(id)
        | Waiting::ReadTurns(id)
        | Waiting::TurnListen(id, _)
        | Waiting::TurnModel(id, _)
        | Waiting::Turn(id)
        | Waiting::Steer(id)
        | Waiting::Grants(id)
        | Waiting::Done(id) => Some(id),
        Waiting::Answer(_) | Waiting::Subscribe | Waiting::Anew | Waiting::LoginFinish(_) => None,
    }
}
