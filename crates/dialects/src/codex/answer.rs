//! Replies and refusals as responses to the connection that asked.

use vocabulary::{
    AskId, Call, Event, Fact, McpReply, Refusal, Reply, RunningTurn, SignedIn, StartedTurn, Thread,
    ThreadCard, ThreadId, ThreadView, TurnFact, Why,
};

use super::calls::{ALL_MESSAGES, CodexPurpose};
use super::file_search::FileSearchPurpose;
use super::refuse::CodexError;
use super::resuming::{self, FirstPage, ResumedTurns};
use super::tell::{notify, tell};
use super::wire::notice::ThreadStarted;
use super::wire::results::{Empty, Page, ThreadReadResponse, TurnStartResponse, TurnSteerResponse};
use super::wire::thread::Turn;
use super::{Codex, account, history, offer, orbit, respond, send, servers, show};
use crate::jsonrpc::Id;
use crate::{Action, Frame};

impl Codex {
    /// What an answer is for says what it is.
    pub(super) fn answer(
        &mut self,
        out: &mut Vec<Action>,
        waiting: &mut CodexPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match waiting {
            CodexPurpose::ModelList(id, params) => {
                let catalog = reply.catalog()?;
                self.learn_names(&catalog);
                send(out, respond(id, &offer::models(&catalog, params)));
            }
            CodexPurpose::Account(id) => {
                let statuses = reply.provider_status()?;
                send(out, respond(id, &account::account(&statuses)));
            }
            CodexPurpose::LoginKey(id) => self.key_saved(out, id, reply.signed_in()?),
            CodexPurpose::LoginBegin(id) => self.challenged(out, id, *reply.challenge()?),
            CodexPurpose::LoginFinish(login) => self.login_ended(out, *login, &reply.signed_in()?),
            CodexPurpose::Logout(id) => {
                let accounts = account::accounts(&reply.provider_status()?);
                self.sign_out(out, id, accounts);
            }
            CodexPurpose::SignOut(id, left) => {
                self.signed_out(out, id, left.clone(), reply.signed_in()?)
            }
            CodexPurpose::Settings(purpose) => self.settings_answer(out, purpose, reply)?,
            CodexPurpose::Threads(waiting) => self.threads_listed(out, waiting, reply)?,
            CodexPurpose::Forks(waiting) => self.fork_answer(out, waiting, reply)?,
            CodexPurpose::TurnList(id, listing) => {
                self.turns_listed(out, id, *listing, &*reply.turns()?)
            }
            CodexPurpose::StartCreate(id) => {
                let card = reply.thread()?.card;
                self.announce_own(&card);
                let waiting = CodexPurpose::StartListen(id.clone());
                self.calls.listen(out, waiting, card.id);
            }
            CodexPurpose::StartListen(id) => self.started(out, id, &*reply.view()?),
            CodexPurpose::ResumePage { id, turns, listing } => {
                let turns = std::mem::take(turns);
                self.page_read(out, (id, turns), *listing, *reply.turns()?);
            }
            CodexPurpose::ResumeTurns(id, shown) => {
                let shown = std::mem::take(shown);
                self.turns_read(out, id, shown, *reply.turns()?);
            }
            CodexPurpose::Resume { id, turns, page } => {
                let turns = std::mem::take(turns);
                self.attached(out, (id, turns), &*reply.view()?, page.as_deref_mut());
            }
            CodexPurpose::Read(id) => {
                let thread = reply.thread()?;
                let thread = show::thread(self.speaking(), &thread, Vec::new());
                send(out, respond(id, &ThreadReadResponse { thread }));
            }
            CodexPurpose::ReadTurns(id) => self.read(out, id, &*reply.view()?),
            CodexPurpose::Anew => self.began_anew(out, &*reply.view()?),
            CodexPurpose::TurnThread(id, wanted) => {
                self.turn_in(out, id, (**wanted).clone(), &*reply.view()?);
            }
            CodexPurpose::Turn(id) => self.turn(out, id, &reply.turn()?),
            CodexPurpose::Exec(id) => self.executed(out, id, &*reply.exec()?),
            CodexPurpose::Order(purpose) => self.ordered(out, purpose, &reply.turn()?),
            CodexPurpose::Terminals(purpose) => {
                self.terminals_answered(out, purpose, reply.terminals()?)?;
            }
            CodexPurpose::Items(id, purpose) => {
                self.items_answered(out, id, purpose, &*reply.turns()?);
            }
            CodexPurpose::Sections(id, purpose) => {
                self.sections_answered(out, id, purpose, *reply.library()?)?;
            }
            CodexPurpose::ServerList(id, params) => match *reply.mcp()? {
                McpReply::Servers(snapshot) => {
                    send(out, respond(id, &servers::page(&snapshot, params)));
                }
                McpReply::Migrated { .. }
                | McpReply::Installed { .. }
                | McpReply::Checked(_)
                | McpReply::Challenge(_)
                | McpReply::SignedIn { .. } => {
                    let message = "this answer is for another question";
                    return Err(Refusal::new(Why::Internal, message));
                }
            },
            CodexPurpose::Inventory(id, purpose) => {
                return self.inventoried(out, id, (**purpose).clone(), reply);
            }
            CodexPurpose::ServerLogin(purpose) => {
                return self.server_login_answered(out, purpose, reply);
            }
            CodexPurpose::Config(id, purpose) => {
                return self.configured(out, id, (**purpose).clone(), reply);
            }
            CodexPurpose::Grants(id) => {
                let grants = reply.grants()?;
                let data = grants.iter().map(show::grant).collect();
                let next_cursor = None;
                send(out, respond(id, &Page { data, next_cursor }));
            }
            CodexPurpose::Steer(id) => {
                let turn = reply.steered()?.turn;
                let turn_id = turn.as_str();
                send(out, respond(id, &TurnSteerResponse { turn_id }));
            }
            CodexPurpose::SteerOrStart(id, _) => {
                let turn = reply.steered()?.turn;
                let turn_id = turn.as_str();
                send(out, respond(id, &TurnSteerResponse { turn_id }));
            }
            CodexPurpose::StartInstead(id, _) => self.started_instead(out, id, &reply.turn()?),
            CodexPurpose::Done(id) => send(out, respond(id, &Empty {})),
            CodexPurpose::Answer(_) => {}
            CodexPurpose::Directories(id) => {
                Self::directories_told(out, id, &*reply.directories()?);
            }
            CodexPurpose::FileSearch(purpose) => self.files_found(out, purpose, &reply.found()?),
            CodexPurpose::ZaneSkills(id) => Self::zane_skills(out, id, &reply.skills()?),
            CodexPurpose::Push(done) => {
                reply.done()?;
                send(out, done.frame());
            }
            CodexPurpose::Subscribe => {
                let view = reply.view()?;
                let thread = view.thread.card.id;
                let is_new = !self.listening.hears(thread);
                let asks = self.listening.begin(&view);
                send(out, orbit::subscribed(thread));
                if is_new {
                    self.last_turn_over(out, &view);
                }
                self.request_again(out, &asks);
            }
        }
        Ok(())
    }

    pub(super) fn refused(
        &mut self,
        out: &mut Vec<Action>,
        waiting: &CodexPurpose,
        refusal: Refusal,
    ) {
        match waiting {
            // A response cannot be answered; but what is still open is asked again.
            CodexPurpose::Answer(ask) => {
                if refusal.why == Why::BlankAnswer {
                    self.request_again(out, &[*ask]);
                }
            }
            CodexPurpose::LoginFinish(login) => {
                let end = SignedIn {
                    ok: false,
                    mode: None,
                    message: refusal.message,
                };
                self.login_ended(out, *login, &end);
            }
            CodexPurpose::Subscribe => send(out, CodexError::from(&refusal).frame(None)),
            CodexPurpose::ServerLogin(purpose) => {
                self.server_login_refused(out, purpose, &refusal);
            }
            // Nobody asked for it.
            CodexPurpose::Anew => {}
            CodexPurpose::Order(purpose) => self.order_refused(out, purpose, &refusal),
            CodexPurpose::Terminals(purpose) => self.terminals_refused(out, purpose, &refusal),
            CodexPurpose::Settings(purpose) => {
                if let Some(id) = purpose.id() {
                    send(out, CodexError::from(&refusal).frame(Some(id)));
                }
            }
            CodexPurpose::Steer(id) => send(out, CodexError::steer(&refusal).frame(Some(id))),
            CodexPurpose::SteerOrStart(id, steer) => self.not_steered(out, id, steer, &refusal),
            CodexPurpose::StartInstead(id, steer) => self.not_started(out, id, steer, &refusal),
            CodexPurpose::Directories(id) => {
                send(out, CodexError::of_anchor(&refusal).frame(Some(id)));
            }
            CodexPurpose::FileSearch(FileSearchPurpose::Once(id)) => {
                send(out, CodexError::from(&refusal).frame(Some(id)));
            }
            // Its request was answered already.
            CodexPurpose::FileSearch(FileSearchPurpose::Session { session, query }) => {
                self.search_ended(out, session, query);
            }
            CodexPurpose::Push(_) => send(out, CodexError::from(&refusal).frame(None)),
            CodexPurpose::StartCreate(id) | CodexPurpose::StartListen(id) => {
                self.start_over(out);
                send(out, CodexError::from(&refusal).frame(Some(id)));
            }
            CodexPurpose::Forks(waiting) => {
                if waiting.starts() {
                    self.start_over(out);
                }
                send(out, CodexError::from(&refusal).frame(Some(waiting.id())));
            }
            CodexPurpose::Sections(id, purpose) => {
                Self::sections_refused(out, id, purpose, &refusal);
            }
            CodexPurpose::Threads(waiting) => {
                send(out, CodexError::from(&refusal).frame(Some(waiting.id())));
            }
            CodexPurpose::Account(id)
            | CodexPurpose::LoginKey(id)
            | CodexPurpose::LoginBegin(id)
            | CodexPurpose::Logout(id)
            | CodexPurpose::SignOut(id, _)
            | CodexPurpose::ModelList(id, _)
            | CodexPurpose::TurnList(id, _)
            | CodexPurpose::ResumePage { id, .. }
            | CodexPurpose::Resume { id, .. }
            | CodexPurpose::ResumeTurns(id, _)
            | CodexPurpose::Read(id)
            | CodexPurpose::ReadTurns(id)
            | CodexPurpose::TurnThread(id, _)
            | CodexPurpose::Turn(id)
            | CodexPurpose::Exec(id)
            | CodexPurpose::Items(id, _)
            | CodexPurpose::Grants(id)
            | CodexPurpose::Inventory(id, _)
            | CodexPurpose::Config(id, _)
            | CodexPurpose::ZaneSkills(id)
            | CodexPurpose::ServerList(id, _)
            | CodexPurpose::Done(id) => send(out, CodexError::from(&refusal).frame(Some(id))),
        }
    }

    /// A thread of this connection's own: it is told of it itself, and need not hear it as news. Of
    /// an ephemeral one there is no news.
    pub(super) fn announce_own(&mut self, card: &ThreadCard) {
        if !card.ephemeral {
            self.announced.insert(card.id);
        }
    }

    /// The response first, then the notification, as the app-server orders them.
    fn started(&mut self, out: &mut Vec<Action>, id: &Id, view: &ThreadView) {
        self.listening.begin(view);
        let opened = show::opened(self.speaking(), view, &[], Vec::new());
        send(out, respond(id, &opened));
        let notice = ThreadStarted {
            thread_id: opened.thread.id.clone(),
            thread: opened.thread,
        };
        send(out, notify("thread/started", &notice));
        self.start_over(out);
    }

    /// A start is over: what was added meanwhile can be told, now that it is known whose it is.
    pub(super) fn start_over(&mut self, out: &mut Vec<Action>) {
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
    pub(super) fn resumed(
        &mut self,
        out: &mut Vec<Action>,
        (id, mut wanted): (&Id, ResumedTurns),
        view: &ThreadView,
        mut page: Option<&mut FirstPage>,
    ) {
        let is_new = !self.listening.hears(view.thread.card.id);
        let new = self.listening.begin(view);
        let thread = &view.thread;
        let older = wanted.take_older();
        let turns_shown = wanted.are_wanted();
        let turns = match &wanted {
            ResumedTurns::Shown(shown) => shown.newest(self.endpoint, view),
            ResumedTurns::None | ResumedTurns::Recent | ResumedTurns::All => self.turns_of(view),
        };
        let kinds: Vec<_> = view.asks.iter().map(|open| &open.ask.kind).collect();
        let items_shown = turns_shown || page.as_ref().is_some_and(|page| page.shows_items());
        let first = page.as_mut();
        let first = first.and_then(|page| page.as_of(self.endpoint, view));
        let is_told = turns_shown || items_shown && first.is_some();
        let mut opened = show::opened(self.speaking(), view, &kinds, turns);
        opened.initial_turns_page = first;
        send(out, resuming::with_older(older, respond(id, &opened)));
        if !is_told {
            self.so_far(out, view);
        }
        self.plan(out, view);
        if is_new {
            self.last_turn_over(out, view);
        }
        let asks = match self.endpoint {
            super::Endpoint::Zane => new,
            super::Endpoint::Codex => self.listening.asks_of(thread.card.id),
        };
        self.request_again(out, &asks);
    }

    /// With what is being written right now.
    pub(super) fn turns_of<'a>(&self, view: &'a ThreadView) -> Vec<Turn<'a>> {
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
        self.calls.make(out, CodexPurpose::Anew, call);
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

    fn turn(&mut self, out: &mut Vec<Action>, id: &Id, started: &StartedTurn) {
        if let Some(view) = &started.joined {
            let asks = self.listening.begin(view);
            self.request_again(out, &asks);
        }
        let turn = show::turn(self.endpoint, &started.turn);
        send(out, respond(id, &TurnStartResponse { turn }));
    }

    pub(super) fn request_again(&self, out: &mut Vec<Action>, asks: &[AskId]) {
        let again = |ask: &AskId| self.listening.request(*ask, self.endpoint);
        out.extend(asks.iter().filter_map(again).map(Action::Send));
    }
}
