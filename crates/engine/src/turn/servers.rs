//! The MCP servers of a turn: which may run, what they offer, and what is said of that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mcp::{ConfiguredServer, Offer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tools::{Tool, Toolbox};
use vocabulary::{
    Answer, Approval, ApprovalAnswer, Approvals, AskKind, Closing, Effects, Fact, ItemId, NoteFact,
    RiskCode, Subject, ToolCall,
};

use super::{SessionGone, Turn, TurnStart};
use crate::limits::{MCP_LINE_CHARS_MAX, MCP_NAMED_MAX, MCP_WAIT, MCP_WAIT_NEEDED};
use crate::servers::{are_used, place};
use crate::trust::servers::{self as server_trust, TrustAnswer};

/// How many servers of a workspace a person is asked about in one turn.
const ASKS_MAX: usize = 8;
/// How much of the hash of a server's name is in the name of its ask.
const ITEM_CHARS: usize = 16;

/// The tools of a turn: those of its thread, and those that its servers have brought so far.
pub struct TurnTools(Mutex<ToolsNow>);

struct ToolsNow {
    toolbox: Arc<Toolbox>,
    /// Grows by one with each change.
    version: u32,
    /// The servers that may run.
    servers: Arc<[ConfiguredServer]>,
    /// How they stand, for the model; none where there are none.
    line: Option<String>,
}

/// What people were told of a thread's servers since its last turn began.
pub type ToldServerNotes = Arc<Mutex<Vec<String>>>;

impl TurnTools {
    pub fn new(own: Arc<Toolbox>) -> Self {
        Self(Mutex::new(ToolsNow {
            toolbox: own,
            version: 0,
            servers: Arc::default(),
            line: None,
        }))
    }

    /// Adds tools, or puts them in the place of others with the same name. A tool whose server is gone
    /// stays until the turn is over: a call of it says so. Gives the names of what is new.
    fn add(&self, tools: &[Arc<dyn Tool>]) -> Vec<String> {
        let mut now = self.0.lock();
        let is_fresh = |tool: &&Arc<dyn Tool>| {
            let known = now.toolbox.exactly(tool.name());
            !known.is_some_and(|known| is_same(&known, tool))
        };
        let fresh: Vec<Arc<dyn Tool>> = tools.iter().filter(is_fresh).cloned().collect();
        if fresh.is_empty() {
            return Vec::new();
        }
        let toolbox = Arc::make_mut(&mut now.toolbox);
        for tool in &fresh {
            toolbox.add(Arc::clone(tool));
        }
        now.version += 1;
        fresh.iter().map(|tool| tool.name().to_owned()).collect()
    }
}

fn is_same(one: &Arc<dyn Tool>, other: &Arc<dyn Tool>) -> bool {
    Arc::ptr_eq(one, other)
        || (one.description() == other.description() && one.parameters() == other.parameters())
}

impl Turn {
    /// All tools that it has now.
    pub fn tools(&self) -> Arc<Toolbox> {
        Arc::clone(&self.tools.0.lock().toolbox)
    }

    /// Another one whenever the tools have changed.
    pub fn tools_version(&self) -> u32 {
        self.tools.0.lock().version
    }

    /// How the servers stand, for the model.
    pub fn servers_line(&self) -> Option<String> {
        self.tools.0.lock().line.clone()
    }
}

/// Takes in what the thread's servers offer. Gives why the turn cannot begin, where a server that it
/// needs is not there.
pub async fn open(turn: &Turn, start: &TurnStart) -> Result<Option<String>, SessionGone> {
    if !are_used(&turn.permits.borrow().settings) {
        return Ok(None);
    }
    let configured = turn.own().mcp_tools.configured(&place(&turn.card)).await;
    if configured.is_empty() {
        return Ok(None);
    }
    let (allowed, mut notes) = trusted(turn, &configured, start).await?;
    turn.tools.0.lock().servers = allowed.into();
    let wait = match is_needed(start) {
        true => MCP_WAIT_NEEDED,
        false => MCP_WAIT,
    };
    let offer = offered(turn, wait).await;
    turn.tools.add(&offer.tools);
    notes.extend(offer.notes);
    let line = line(&offer.tools, &notes);
    turn.tools.0.lock().line = Some(line);
    // What is not so any more may be told again one day.
    turn.told_servers.lock().retain(|told| notes.contains(told));
    tell(turn, notes).await?;
    let missing = offer.missing.into_iter().map(|(name, why)| {
        let name = tools::shown::line(&name).into_owned();
        format!("{name}: {}", tools::shown::line(&why))
    });
    let missing: Vec<String> = missing.collect();
    Ok((!missing.is_empty()).then(|| {
        format!(
            "an MCP server that is required here is not there ({}); mend it, or let it not be required",
            missing.join("; ")
        )
    }))
}

/// What came to the tools since the last step, in words for the model.
pub async fn news(turn: &Turn) -> Result<Option<String>, SessionGone> {
    if turn.tools.0.lock().servers.is_empty() {
        return Ok(None);
    }
    let offer = offered(turn, Duration::ZERO).await;
    let names = turn.tools.add(&offer.tools);
    tell(turn, offer.notes).await?;
    Ok((!names.is_empty()).then(|| {
        let named = &names[..names.len().min(MCP_NAMED_MAX)];
        let more = match names.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = named.join(", ");
        format!("[mcp] These tools are there from now on, or have changed: {named}{more}")
    }))
}

/// Whether a call that waits to be made is one of a server's tools.
fn is_needed(start: &TurnStart) -> bool {
    match start {
        TurnStart::Fresh | TurnStart::UserCommand(_) => false,
        TurnStart::PickUp { calls, .. } => calls
            .iter()
            .any(|due| matches!(due.call.subject, Subject::Mcp { .. })),
    }
}

async fn offered(turn: &Turn, wait: Duration) -> Offer {
    let servers = Arc::clone(&turn.tools.0.lock().servers);
    if servers.is_empty() {
        return Offer::default();
    }
    let (place, own) = (place(&turn.card), turn.own());
    tokio::select! {
        offer = own.mcp_tools.offer(&place, &servers, wait) => offer,
        () = turn.cancel.cancelled() => Offer::default(),
    }
}

/// Which servers there are, and what is to be known of them.
fn line(tools: &[Arc<dyn Tool>], notes: &[String]) -> String {
    let server = |tool: &Arc<dyn Tool>| match tool.subject(&Value::Null) {
        Subject::Mcp { server, .. } => Some(server).filter(|server| !server.is_empty()),
        // tidy: wildcard, because a server's tool is about nothing else.
        _ => None,
    };
    let names: BTreeSet<String> = tools.iter().filter_map(server).collect();
    let names: Vec<String> = names.into_iter().collect();
    let names = match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let words = std::iter::once(names).chain(notes.iter().cloned());
    let words = words.collect::<Vec<String>>().join("; ");
    let words = tools::shown::line(&words);
    match words.char_indices().nth(MCP_LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.into_owned(),
    }
}

/// Tells people what they were not told before.
async fn tell(turn: &Turn, notes: Vec<String>) -> Result<(), SessionGone> {
    for note in notes {
        if turn.told_servers.lock().contains(&note) {
            continue;
        }
        let line = format!("[mcp] {}", tools::shown::line(&note));
        turn.told_servers.lock().push(note);
        turn.tell(Fact::Note(NoteFact::Logged { line })).await?;
    }
    Ok(())
}

/// The servers that may run; a person is asked about each that came with the workspace and is not known
/// yet. Whatever they say is kept for exactly this server.
async fn trusted(
    turn: &Turn,
    configured: &[ConfiguredServer],
    start: &TurnStart,
) -> Result<(Vec<ConfiguredServer>, Vec<String>), SessionGone> {
    let mut asked = 0;
    loop {
        let (trusts_all, asks_nobody) = {
            let settings = &turn.permits.borrow().settings;
            let asks_nobody = settings.approvals == Approvals::Never;
            (settings.auto_approve, asks_nobody)
        };
        let (shared, card) = (&turn.shared, &turn.card);
        let sorted = server_trust::sort(shared, card, configured, trusts_all).await;
        let may_ask = !asks_nobody && asked < ASKS_MAX && !turn.cancel.is_cancelled();
        let next = sorted.unknown.first().filter(|_| may_ask);
        let answer = match next {
            Some(next) => ask(turn, next, start).await?,
            None => None,
        };
        let (Some(next), Some(answer)) = (next, answer) else {
            return Ok((sorted.allowed, not_run(&sorted.refused, &sorted.unknown)));
        };
        asked += 1;
        if let Err(error) = server_trust::keep(shared, card, next, answer).await {
            tracing::warn!(%error, "trust in an MCP server could not be kept");
            return Ok((sorted.allowed, not_run(&sorted.refused, &sorted.unknown)));
        }
    }
}

fn not_run(refused: &[ConfiguredServer], unknown: &[ConfiguredServer]) -> Vec<String> {
    let said_no = refused.iter().map(|each| (each, "the user said no to it"));
    let unknown = unknown.iter();
    let unknown = unknown.map(|each| (each, "nobody has trusted it yet"));
    let note = |(server, why): (&ConfiguredServer, &str)| {
        let name = &server.server.name;
        format!("{name} came with the workspace and is not run: {why}")
    };
    said_no.chain(unknown).map(note).collect()
}

/// Asks a person about a server. None: nobody said anything that is to be kept.
async fn ask(
    turn: &Turn,
    server: &ConfiguredServer,
    start: &TurnStart,
) -> Result<Option<TrustAnswer>, SessionGone> {
    let step = match start {
        TurnStart::Fresh | TurnStart::UserCommand(_) => 0,
        TurnStart::PickUp { step, .. } => *step,
    };
    let kind = AskKind::Approval(Approval {
        command: server_trust::question(server),
        dangerous: true,
        risk: RiskCode::RequiresManualReview,
        reason: "this MCP server came with the workspace and nobody has trusted it yet".to_owned(),
        leaves_sandbox: false,
        // Trust has a place of its own.
        key: None,
        remembered: None,
    });
    let _one = turn.asks_in_turn.lock().await;
    let closing = turn.ask(turn.tag(step), &call(turn, server), kind).await?;
    Ok(match closing {
        Closing::Answered(Answer::Approval(ApprovalAnswer::DenyAndCancel)) => None,
        // Nobody was there to answer: the next one who is may.
        Closing::Answered(Answer::Dismissed) => None,
        Closing::Answered(Answer::Approval(answer)) if answer.is_yes() => Some(TrustAnswer::Yes),
        Closing::Answered(_) => Some(TrustAnswer::No),
        Closing::Cancelled | Closing::Lost { .. } => None,
    })
}

/// What an ask is about that no call of the model is behind. A server's has the same name after a
/// restart, so that the ask that is still open is found.
fn call(turn: &Turn, server: &ConfiguredServer) -> ToolCall {
    let hash = blake3::hash(server.server.name.as_bytes()).to_hex();
    let item = format!("{}-mcp-{}", turn.id, &hash[..ITEM_CHARS]);
    ToolCall {
        item: ItemId::new(item.as_str()),
        call_id: item,
        name: "mcp".to_owned(),
        input: json!({ "server": server.server.name }),
        subject: Subject::Other,
        effects: Effects::RUNS,
        native: None,
        problem: None,
        by_user: false,
        agent: None,
    }
}
