//! How a turn's conversation with its model is opened: what was said so far, and what the model is told and
//! offered.

use std::sync::Arc;

use providers::{ModelFamily, ToolSpec, catalog};
use tools::Surroundings;
use vocabulary::{AgentMode, Fact, ModelRef, NoteFact, SkillTier, TurnErrorKind};

use super::context::{self, Loaded};
use super::{
    AnswerEndings, ContextFill, RecentCalls, SessionGone, Talk, Turn, TurnEnd, TurnStart, briefing,
    failed,
};
use crate::prompts;
use crate::turn::{offer, servers};

/// Reads the conversation and looks around. Gives the turn's end where it cannot begin.
pub(super) async fn open<'a>(
    turn: &'a Arc<Turn>,
    start: &TurnStart,
) -> Result<Result<(Talk<'a>, Loaded), TurnEnd>, SessionGone> {
    let Some(provider) = turn.own().models.provider(&turn.model.provider) else {
        let message = format!(
            "there is no provider {:?}; choose another model",
            turn.model.provider
        );
        return Ok(Err(failed(TurnErrorKind::Provider, message)));
    };
    let load = async {
        turn.sync().await?;
        Ok(context::load(turn, 0).await)
    };
    // Looked around while the input is on its way to the disk.
    let (loaded, surroundings, opened) = tokio::join!(
        load,
        briefing::look_around(turn),
        servers::open(turn, start)
    );
    let loaded = match loaded? {
        Ok(loaded) => loaded,
        Err(refusal) => return Ok(Err(failed(TurnErrorKind::Internal, refusal.message))),
    };
    if let Some(why) = opened? {
        return Ok(Err(failed(TurnErrorKind::Internal, why)));
    }
    if turn.cancel.is_cancelled() {
        return Ok(Err(TurnEnd::Cancelled));
    }
    if turn.is_planning() {
        // What is offered depends on it.
        turn.sandbox().await;
    }
    tell_surroundings(turn, &surroundings).await?;
    tell_retirement(turn).await?;
    let talk = Talk {
        turn,
        offered: Offered::of(turn, &surroundings),
        surroundings,
        provider,
        fill: ContextFill::counted(loaded.counted, turn.history.context_tokens),
        messages: loaded.messages.clone(),
        heard: loaded.steered.clone(),
        before: loaded.before.clone(),
        step: 0,
        endings: AnswerEndings::default(),
        recent: RecentCalls::default(),
        no_calls: false,
    };
    Ok(Ok((talk, loaded)))
}

/// What the model of a turn is told and offered; made anew only when the mode or the tools change.
pub(super) struct Offered {
    pub mode: AgentMode,
    pub tools_version: u32,
    pub tools: Arc<[ToolSpec]>,
    pub system: String,
}

impl Offered {
    pub fn of(turn: &Turn, surroundings: &Surroundings) -> Self {
        let mode = turn.permits.borrow().settings.mode;
        let tools_version = turn.tools_version();
        let tools = offer::specs(turn, None, offer::faces(&turn.model));
        let works = |spec: &&ToolSpec| briefing::works(turn, surroundings, &spec.name);
        let tools: Arc<[ToolSpec]> = tools.iter().filter(works).cloned().collect();
        let ModelRef { provider, model } = turn.model.as_ref();
        let family = ModelFamily::of(provider, model);
        let system = prompts::agent(family, mode, &tools);
        Self {
            mode,
            tools_version,
            tools,
            system,
        }
    }
}

/// Whoever watches sees what the agent goes by.
async fn tell_surroundings(turn: &Turn, surroundings: &Surroundings) -> Result<(), SessionGone> {
    let files = surroundings.files();
    // What is always there says nothing about the workspace.
    let own = surroundings.skills.iter();
    let own = own.filter(|skill| skill.tier != SkillTier::BuiltIn);
    let skills = own.count();
    if files.is_empty() && skills == 0 {
        return Ok(());
    }
    let fact = NoteFact::Instructed {
        files,
        skills,
        trusted: surroundings.trusted,
    };
    turn.tell(Fact::Note(fact)).await
}

/// Nobody should learn of a model's end by a failing turn.
async fn tell_retirement(turn: &Turn) -> Result<(), SessionGone> {
    let ModelRef { provider, model } = turn.model.as_ref();
    let today = catalog::day(turn.shared.now().0);
    let Some(words) = turn.own().models.retirement(provider, model, today) else {
        return Ok(());
    };
    let line = format!("[warn] {words}");
    turn.tell(Fact::Note(NoteFact::Logged { line })).await
}
