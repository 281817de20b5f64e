//! `dragoman sessions show`: what was said and done in a session.

use std::path::Path;

use clap::Args;
use engine::transfer::{self, ToldTranscript};
use serde_json::{Value, json};
use vocabulary::{Caller, PlanStep, PlanStepStatus};

use super::markdown::MarkdownStyle;
use super::names::SessionNames;
use super::open;
use super::pieces::{self, SessionPiece};
use crate::commands::checkpoints::words;

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The end of its id, its whole id, an id that a client gave it, or `last`
    #[arg(value_name = "ID")]
    pub session: String,
    /// Only the newest turns
    #[arg(long, value_name = "N")]
    pub turns: Option<u32>,
}

pub async fn run(arguments: ShowArguments, home: &Path, json: bool) -> anyhow::Result<()> {
    let store = open(home).await?;
    let names = SessionNames::read(&store, &Caller::local().tenant).await?;
    let thread = names.find(&arguments.session)?;
    let kept = transfer::kept(&store, thread.card.id).await?;
    let mut transcript = match arguments.turns {
        Some(turns) => ToldTranscript::of_newest(&store, &kept, turns).await?,
        None => ToldTranscript::new(&store, &kept),
    };
    if json {
        let mut told: Vec<Value> = Vec::new();
        while let Some(page) = transcript.next_page().await? {
            told.extend(
                page.iter()
                    .filter_map(SessionPiece::of)
                    .map(|it| it.to_json()),
            );
        }
        return words::say_json(&json!({
            "session": thread.card.id.to_string(),
            "title": thread.title.text,
            "directory": thread.card.directory,
            "archived": thread.archived,
            "createdAt": thread.card.created_at.iso(),
            "updatedAt": thread.updated_at.iso(),
            "model": format!("{}/{}", thread.settings.model.provider, thread.settings.model.model),
            "usage": pieces::usage_json(&kept.state.usage),
            "plan": kept.state.plan.iter().map(plan_step).collect::<Vec<_>>(),
            "transcript": told,
        }));
    }
    let style = MarkdownStyle {
        colours: words::colours(),
        whole: false,
    };
    words::say(style.head(&kept))?;
    while let Some(page) = transcript.next_page().await? {
        let shown = page.iter().filter_map(SessionPiece::of);
        words::say(shown.map(|piece| style.piece(&piece)).collect::<String>())?;
    }
    Ok(())
}

fn plan_step(step: &PlanStep) -> Value {
    json!({ "content": step.content, "done": step.status == PlanStepStatus::Completed })
}
