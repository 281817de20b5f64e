//! One turn with an external agent: everything that it says until its prompt is answered, and what people
//! say to what it asks.

use std::sync::Arc;
use std::time::Duration;

use acp::schema::{
    self, PromptResponse, RequestPermissionOutcome, RequestPermissionRequest, SessionUpdate,
    ToolCallId,
};
use acp::{
    AcpError, AcpErrorKind, AgentConnection, AgentMessage, AgentReply, AgentRequest, AgentRpcError,
    AgentSession, RpcId,
};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;
use vocabulary::{Fact, Growth, NoteFact, StopReason, Usage};

use super::cost::ReportedCost;
use super::opening::{self, OpenedAgent};
use super::permission::{no, permission, selected, yes};
use super::telling::{AgentTeller, THOUGHT, TellError};
use super::{failed, failed_with, files, tool_calls};
use crate::limits::{AGENT_CALL_SILENCE_MAX, AGENT_CANCEL_MAX, AGENT_SILENCE_MAX};
use crate::turn::gate::external::{self, ExternalVerdict};
use crate::turn::{Permits, SessionGone, Turn, TurnEnd, fence, writes};

/// A permission that somebody is asked for.
type PendingPermission =
    BoxFuture<'static, (PermissionQuery, Result<ExternalVerdict, SessionGone>)>;

struct PermissionQuery {
    id: RpcId,
    call: ToolCallId,
    options: Vec<schema::PermissionOption>,
}

/// One turn with an agent.
pub struct Conversation<'a> {
    turn: &'a Arc<Turn>,
    agent: &'a str,
    connection: AgentConnection,
    session: AgentSession,
    prompt: u64,
    teller: AgentTeller,
    cost: ReportedCost,
    asking: FuturesUnordered<PendingPermission>,
    heard_at: Instant,
    /// When it was told to stop.
    cancelled_at: Option<Instant>,
}

enum ConversationEvent {
    Said(Result<AgentMessage, AcpError>),
    Decided(PermissionQuery, Result<ExternalVerdict, SessionGone>),
    Cancelled,
    /// The thread may only read from now on, and nothing holds the agent to that.
    Unheld,
    /// Nothing came in time.
    Silence,
}

/// How a turn comes to its end.
enum PromptEnding {
    Answered(PromptResponse),
    Stopped,
    Lost(AcpError),
}

impl<'a> Conversation<'a> {
    /// Gives the agent what the user said.
    pub fn begin(
        turn: &'a Arc<Turn>,
        agent: &'a str,
        opened: OpenedAgent,
    ) -> Result<Self, AcpError> {
        let (mut connection, id) = (opened.connection, &opened.session.id);
        let prompt = connection.prompt(id, opened.words)?;
        let session = id.to_string();
        Ok(Self {
            turn,
            agent,
            connection,
            session: opened.session,
            cost: opened.cost,
            prompt,
            teller: AgentTeller::new(Arc::clone(turn), agent, &session),
            asking: FuturesUnordered::new(),
            heard_at: Instant::now(),
            cancelled_at: None,
        })
    }

    pub async fn run(mut self) -> Result<TurnEnd, SessionGone> {
        let ending = loop {
            let heard = self.listen().await;
            match self.take(heard).await {
                Ok(None) => {}
                Ok(Some(ending)) => break ending,
                Err(TellError::Gone) => return Err(SessionGone),
                Err(TellError::TooMuch(why)) => {
                    let words = format!("{}: {why}", self.agent);
                    break PromptEnding::Lost(unfit(words));
                }
            }
        };
        self.finish(ending).await
    }

    async fn listen(&mut self) -> ConversationEvent {
        let until = match self.cancelled_at {
            Some(at) => at + AGENT_CANCEL_MAX,
            None => self.heard_at + self.patience(),
        };
        let is_cancelled = self.cancelled_at.is_some();
        tokio::select! {
            biased;
            () = self.turn.cancel.cancelled(), if !is_cancelled => ConversationEvent::Cancelled,
            Some((asked, verdict)) = self.asking.next() => ConversationEvent::Decided(asked, verdict),
            () = only_reads(self.turn), if !is_cancelled => ConversationEvent::Unheld,
            said = self.connection.next() => ConversationEvent::Said(said),
            () = tokio::time::sleep_until(until) => ConversationEvent::Silence,
        }
    }

    /// Who waits for a person may be silent for as long as that takes.
    fn patience(&self) -> Duration {
        const LONG: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        match (self.asking.is_empty(), self.teller.has_open_call()) {
            (false, _) => LONG,
            (true, true) => AGENT_CALL_SILENCE_MAX,
            (true, false) => AGENT_SILENCE_MAX,
        }
    }

    async fn take(&mut self, heard: ConversationEvent) -> Result<Option<PromptEnding>, TellError> {
        self.heard_at = match heard {
            ConversationEvent::Silence => self.heard_at,
            ConversationEvent::Said(_)
            | ConversationEvent::Decided(..)
            | ConversationEvent::Unheld
            | ConversationEvent::Cancelled => Instant::now(),
        };
        match heard {
            ConversationEvent::Cancelled => Ok(self.cancel()),
            ConversationEvent::Unheld => {
                let words = opening::not_held(self.agent);
                Ok(Some(PromptEnding::Lost(unfit(words))))
            }
            ConversationEvent::Silence if self.cancelled_at.is_some() => {
                let words = format!("{}: it did not stop when it was told to", self.agent);
                Ok(Some(PromptEnding::Lost(unfit(words))))
            }
            ConversationEvent::Silence => {
                let minutes = self.patience().as_secs() / 60;
                let words = format!("{}: it said nothing for {minutes} minutes", self.agent);
                Ok(Some(PromptEnding::Lost(unfit(words))))
            }
            ConversationEvent::Decided(asked, verdict) => self.answer(asked, verdict?).await,
            ConversationEvent::Said(Err(error)) => Ok(Some(PromptEnding::Lost(error))),
            ConversationEvent::Said(Ok(AgentMessage::Update(update)))
                if update.session_id != self.session.id =>
            {
                Ok(None)
            }
            ConversationEvent::Said(Ok(AgentMessage::Update(update))) => {
                self.tell(update.update).await.map(|()| None)
            }
            ConversationEvent::Said(Ok(AgentMessage::Request { id, request })) => {
                self.serve(id, request).await
            }
            ConversationEvent::Said(Ok(AgentMessage::Response { id, result }))
                if id == self.prompt =>
            {
                Ok(Some(self.answered(result)))
            }
            ConversationEvent::Said(Ok(AgentMessage::Response { .. })) => Ok(None),
        }
    }

    fn cancel(&mut self) -> Option<PromptEnding> {
        self.cancelled_at = Some(Instant::now());
        let told = self.connection.cancel(&self.session.id);
        told.err().map(PromptEnding::Lost)
    }

    fn answered(&self, result: Result<serde_json::Value, AgentRpcError>) -> PromptEnding {
        const PROMPT: &str = "session/prompt";
        let parsed = match result {
            Ok(value) => self.connection.parsed(PROMPT, value),
            Err(_) if self.cancelled_at.is_some() => return PromptEnding::Stopped,
            Err(error) => Err(self.connection.refused(PROMPT, &error)),
        };
        match parsed {
            Ok(answer) => PromptEnding::Answered(answer),
            Err(error) => PromptEnding::Lost(error),
        }
    }

    async fn tell(&mut self, update: SessionUpdate) -> Result<(), TellError> {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.say(Growth::Text, &chunk.content).await,
            SessionUpdate::AgentThoughtChunk(chunk) => self.say(THOUGHT, &chunk.content).await,
            SessionUpdate::ToolCall(call) => self.teller.tell_call(call.into()).await,
            SessionUpdate::ToolCallUpdate(update) => self.teller.tell_call(update).await,
            SessionUpdate::Plan(plan) => self.teller.plan(&plan).await,
            SessionUpdate::UsageUpdate(usage) => {
                self.teller.set_context_limit(usage.size);
                if let Some(cost) = &usage.cost {
                    self.cost.hear(cost);
                }
                Ok(())
            }
            // Its commands, modes and titles are not shown.
            _ => Ok(()),
        }
    }

    async fn say(&mut self, growth: Growth, block: &schema::ContentBlock) -> Result<(), TellError> {
        match tool_calls::block_text(block) {
            Some(text) if !text.is_empty() => self.teller.say(growth, text.to_owned()).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn serve(
        &mut self,
        id: RpcId,
        request: AgentRequest,
    ) -> Result<Option<PromptEnding>, TellError> {
        let reply = match request {
            AgentRequest::Permission(request) => return self.ask(id, *request).await,
            AgentRequest::ReadFile(request) => files::read(self.turn, request).await,
            AgentRequest::WriteFile(request) => files::write(self.turn, request).await,
        };
        Ok(self.reply(id, reply))
    }

    fn reply(&self, id: RpcId, reply: AgentReply) -> Option<PromptEnding> {
        let sent = self.connection.reply(id, reply);
        sent.err().map(PromptEnding::Lost)
    }

    /// Puts a permission request before whoever decides; others may come meanwhile.
    async fn ask(
        &mut self,
        id: RpcId,
        request: RequestPermissionRequest,
    ) -> Result<Option<PromptEnding>, TellError> {
        if self.cancelled_at.is_some() {
            return Ok(self.reply(id, permission(RequestPermissionOutcome::Cancelled)));
        }
        let asked = PermissionQuery {
            id,
            call: request.tool_call.tool_call_id.clone(),
            options: request.options,
        };
        let told = self.teller.reach(request.tool_call).await?;
        let (Some(call), tag) = (told.call.clone(), told.tag.clone()) else {
            return Ok(self.reply(asked.id, permission(RequestPermissionOutcome::Cancelled)));
        };
        let (turn, agent) = (Arc::clone(self.turn), self.agent.to_owned());
        let asking: PendingPermission = Box::pin(async move {
            let key = tool_calls::grant_key(&agent, &call);
            let verdict = external::permit(&turn, &tag, &call, &agent, key).await;
            (asked, verdict)
        });
        self.asking.push(asking);
        Ok(None)
    }

    async fn answer(
        &mut self,
        asked: PermissionQuery,
        verdict: ExternalVerdict,
    ) -> Result<Option<PromptEnding>, TellError> {
        let outcome = match verdict {
            ExternalVerdict::Allow => match yes(&asked.options) {
                Some(option) => {
                    self.teller.allow(&asked.call).await?;
                    selected(option)
                }
                None => {
                    let why = "not run: its agent can only be told yes for ever".to_owned();
                    let outcome = vocabulary::ToolOutcome::NotRun { why };
                    self.teller.forbid(&asked.call, outcome).await?;
                    no(&asked.options)
                }
            },
            ExternalVerdict::Deny(outcome) => {
                self.teller.forbid(&asked.call, *outcome).await?;
                no(&asked.options)
            }
            ExternalVerdict::Cancelled(outcome) => {
                self.teller.forbid(&asked.call, *outcome).await?;
                RequestPermissionOutcome::Cancelled
            }
        };
        Ok(self.reply(asked.id, permission(outcome)))
    }

    /// Tells the end, and keeps the agent for the next turn where it still is of use.
    async fn finish(mut self, ending: PromptEnding) -> Result<TurnEnd, SessionGone> {
        let cancelled = self.cancelled_at.is_some();
        let (reason, usage, end, is_lost) = match ending {
            PromptEnding::Lost(_) if cancelled => (
                StopReason::Aborted,
                Usage::default(),
                TurnEnd::Cancelled,
                true,
            ),
            PromptEnding::Lost(error) => {
                let end = failed_with(error);
                (StopReason::Error, Usage::default(), end, true)
            }
            PromptEnding::Stopped => (
                StopReason::Aborted,
                Usage::default(),
                TurnEnd::Cancelled,
                false,
            ),
            PromptEnding::Answered(answer) => {
                let usage = answer.usage.as_ref().map(spent).unwrap_or_default();
                let (reason, end) = self.how_it_ended(answer.stop_reason, cancelled);
                (reason, usage, end, false)
            }
        };
        let cost_micro_dollars = self.cost.take();
        if cost_micro_dollars.is_none() {
            self.tell_uncounted().await?;
        }
        let usage = Usage {
            cost_micro_dollars,
            ..usage
        };
        match self.teller.end(reason, usage).await {
            Ok(()) | Err(TellError::TooMuch(_)) => {}
            Err(TellError::Gone) => return Err(SessionGone),
        }
        writes::after_anything(self.turn).await?;
        if !is_lost {
            let (connection, session) = (self.connection, self.session);
            opening::keep(self.turn, self.agent, connection, session, self.cost);
        }
        Ok(end)
    }

    /// Where the tenant has a balance, nobody should think that this turn was counted.
    async fn tell_uncounted(&mut self) -> Result<(), SessionGone> {
        let turn = self.turn;
        if !matches!(turn.shared.has_balance(&turn.card.tenant).await, Ok(true)) {
            return Ok(());
        }
        let agent = self.agent;
        tracing::warn!(tenant = %turn.card.tenant, agent, "an agent did not say what its turn cost");
        let line = format!("[{agent}] it did not say what this turn cost: nothing was counted");
        turn.tell(Fact::Note(NoteFact::Logged { line })).await
    }

    fn how_it_ended(&self, reason: schema::StopReason, cancelled: bool) -> (StopReason, TurnEnd) {
        let agent = self.agent;
        match reason {
            _ if cancelled => (StopReason::Aborted, TurnEnd::Cancelled),
            schema::StopReason::EndTurn => (StopReason::Stop, TurnEnd::Completed),
            schema::StopReason::MaxTokens => (StopReason::Length, TurnEnd::Completed),
            // Some end their turn when a person says no.
            schema::StopReason::Cancelled => (StopReason::Aborted, TurnEnd::Cancelled),
            schema::StopReason::MaxTurnRequests => (
                StopReason::Error,
                failed(format!(
                    "{agent}: it has made as many requests as it may; say go on"
                )),
            ),
            schema::StopReason::Refusal => (
                StopReason::Error,
                failed(format!("{agent}: it refuses to answer this")),
            ),
            // A later version of the protocol may have more.
            _ => (StopReason::Stop, TurnEnd::Completed),
        }
    }
}

/// It is still there, and the turn ends all the same.
/// Comes when the thread may only read.
async fn only_reads(turn: &Turn) {
    let mut permits = turn.permits.clone();
    let is_so = |permits: &Permits| fence::only_reads(&permits.settings);
    if permits.wait_for(is_so).await.is_err() {
        // The session is gone, and ends the turn by itself.
        std::future::pending::<()>().await;
    }
}

fn unfit(message: String) -> AcpError {
    AcpError::new(AcpErrorKind::Refused, message)
}

fn spent(usage: &schema::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_read_tokens.unwrap_or_default(),
        reasoning_tokens: usage.thought_tokens.unwrap_or_default(),
        cost_micro_dollars: None,
    }
}
