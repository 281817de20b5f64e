//! An agent at the beginning of a turn: the one of the turn before, or one that is started and told what
//! it does not remember; set up as the thread wants it.

use std::sync::Arc;

use acp::schema::{ContentBlock, ImageContent};
use acp::{AcpError, AgentConnection, AgentSession, SessionMemory};
use providers::{Message, MessageImage};
use vocabulary::{AgentMode, Fact, NoteFact, Refusal, TurnError, TurnErrorKind};

use super::super::model::{self, context};
use super::cost::ReportedCost;
use super::{DEFAULT_MODEL, ExternalAgent, failed, failed_with, preface};
use crate::turn::{SessionGone, Turn, TurnEnd};

/// An agent that is ready, and what it is to be told.
pub struct OpenedAgent {
    pub connection: AgentConnection,
    pub session: AgentSession,
    pub cost: ReportedCost,
    pub words: Vec<ContentBlock>,
}

/// An agent between two turns of a thread.
struct KeptAgent {
    agent: String,
    connection: AgentConnection,
    session: AgentSession,
    cost: ReportedCost,
}

/// An agent that was started just now.
struct StartedAgent {
    connection: AgentConnection,
    session: AgentSession,
    cost: ReportedCost,
    /// What it must be told.
    untold: Option<String>,
}

/// Why a turn does not begin.
enum NotOpened {
    Agent(AcpError),
    Log(Refusal),
    Budget(String),
    Mode(String),
}

impl From<AcpError> for NotOpened {
    fn from(error: AcpError) -> Self {
        NotOpened::Agent(error)
    }
}

/// Keeps an agent for the next turn of its thread.
pub fn keep(
    turn: &Turn,
    agent: &str,
    connection: AgentConnection,
    session: AgentSession,
    cost: ReportedCost,
) {
    *turn.memory.lock() = Some(Box::new(KeptAgent {
        agent: agent.to_owned(),
        connection,
        session,
        cost,
    }));
}

/// Whether this is an agent between two turns: it goes with its thread, and not before.
pub fn is_kept_agent(memory: &(dyn std::any::Any + Send)) -> bool {
    memory.is::<KeptAgent>()
}

/// Gives the turn's end where it cannot begin.
pub async fn open(
    agent: &ExternalAgent,
    turn: &Arc<Turn>,
) -> Result<Result<OpenedAgent, TurnEnd>, SessionGone> {
    turn.sync().await?;
    let opening = opened(agent, turn);
    let opened = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Ok(Err(TurnEnd::Cancelled)),
        opened = opening => opened,
    };
    Ok(match opened {
        Ok((opened, notes)) => {
            for line in notes {
                turn.tell(Fact::Note(NoteFact::Logged { line })).await?;
            }
            Ok(opened)
        }
        Err(why) => Err(end_of(why)),
    })
}

fn end_of(why: NotOpened) -> TurnEnd {
    match why {
        NotOpened::Agent(error) => failed_with(error),
        NotOpened::Mode(message) => failed(message),
        NotOpened::Log(refusal) => TurnEnd::Failed(TurnError {
            kind: TurnErrorKind::Internal,
            message: refusal.message,
        }),
        NotOpened::Budget(message) => TurnEnd::Failed(TurnError {
            kind: TurnErrorKind::Budget,
            message,
        }),
    }
}

/// The agent with its prompt, and what people should know of it.
async fn opened(
    agent: &ExternalAgent,
    turn: &Arc<Turn>,
) -> Result<(OpenedAgent, Vec<String>), NotOpened> {
    if let Some(why) = model::exhausted(turn, &turn.model) {
        return Err(NotOpened::Budget(why));
    }
    if turn.only_reads() {
        return Err(NotOpened::Mode(not_held(agent.name())));
    }
    let kept = turn.memory.lock().take();
    let kept = kept.and_then(|kept| kept.downcast::<KeptAgent>().ok());
    let kept = kept.filter(|kept| kept.agent == agent.name());
    let loaded = context::load(turn, 0).await.map_err(NotOpened::Log)?;
    let (said, before) = match loaded.messages.split_last() {
        Some((said, before)) => (Some(said), before),
        None => (None, &[][..]),
    };
    let StartedAgent {
        mut connection,
        mut session,
        cost,
        untold,
    } = match kept {
        Some(kept) => StartedAgent {
            connection: kept.connection,
            session: kept.session,
            cost: kept.cost,
            untold: None,
        },
        None => started(agent, turn, before).await?,
    };
    agent.models.lock().clone_from(&session.models().to_vec());
    set_up(agent, turn, &mut connection, &mut session).await?;
    let mut notes = Vec::new();
    let mut words: Vec<ContentBlock> = Vec::new();
    if let Some(untold) = untold {
        let name = agent.name();
        notes.push(format!(
            "[{name}] it does not remember all of this conversation; it was told the last of it"
        ));
        words.push(untold.into());
    }
    words.push(turn.input.as_str().into());
    let images = said.map(|said| images(said)).unwrap_or_default();
    match connection.can().prompt_capabilities.image {
        true => words.extend(images),
        false if images.is_empty() => {}
        false => notes.push(format!("[{}] it cannot be shown pictures", agent.name())),
    }
    let opened = OpenedAgent {
        connection,
        session,
        cost,
        words,
    };
    Ok((opened, notes))
}

/// Why a program of the user's does nothing in a thread that may only read.
pub fn not_held(name: &str) -> String {
    format!(
        "{name} runs outside of this server's sandbox, so nothing would keep it from changing files in \
         a thread that plans or may only read; choose another mode, or a model of this server"
    )
}

/// Starts the agent, and takes up its session of before if there was one.
async fn started(
    agent: &ExternalAgent,
    turn: &Turn,
    before: &[Arc<Message>],
) -> Result<StartedAgent, AcpError> {
    let directory = &turn.card.directory;
    let mut connection = match &agent.streams {
        Some(streams) => AgentConnection::over(&agent.program, streams()).await?,
        None => {
            let sandbox = turn.shared.sandbox().await;
            AgentConnection::start(&agent.program, directory, &sandbox).await?
        }
    };
    let last = preface::last_session(before, agent.name());
    let new = ReportedCost::of_new_session();
    let (session, cost, unknown) = match &last {
        None => (connection.new_session(directory).await?, new, before),
        Some(last) => {
            let old = connection.old_session(&last.id, directory).await?;
            match old {
                (session, SessionMemory::Everything) => {
                    (session, ReportedCost::default(), &before[last.known..])
                }
                (session, SessionMemory::Nothing) => (session, new, before),
            }
        }
    };
    Ok(StartedAgent {
        connection,
        session,
        cost,
        untold: preface::of(unknown),
    })
}

/// Gives the agent the mode and the model of the thread.
async fn set_up(
    agent: &ExternalAgent,
    turn: &Turn,
    connection: &mut AgentConnection,
    session: &mut AgentSession,
) -> Result<(), NotOpened> {
    let name = agent.name();
    let mode = turn.permits.borrow().settings.mode;
    let wanted = match mode {
        AgentMode::Chat => {
            return Err(NotOpened::Mode(format!(
                "{name} always has its tools, so it cannot only chat; choose another mode or model"
            )));
        }
        AgentMode::Plan | AgentMode::Code => session.first_mode(),
    };
    if let Some(mode) = wanted {
        connection.set_mode(session, &mode).await?;
    }
    let model = &turn.model.model;
    if agent.by_model && model != DEFAULT_MODEL {
        connection.set_model(session, model).await?;
    }
    Ok(())
}

fn images(said: &Message) -> Vec<ContentBlock> {
    let images = match said {
        Message::User(said) => said.images.as_slice(),
        Message::Assistant(_) | Message::ToolResults(_) => &[],
    };
    images
        .iter()
        .map(|image| match image {
            MessageImage::Data { media_type, base64 } => {
                ContentBlock::Image(ImageContent::new(base64.to_string(), media_type.clone()))
            }
            MessageImage::Url(url) => url.as_str().into(),
        })
        .collect()
}
