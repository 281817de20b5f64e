//! Puts files back: shows what it will touch, asks, does it, and says how to undo it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use checkpoints::{RestoreStep, Restored, ThreadHistory, Vault};
use serde_json::{Value, json};
use vocabulary::RestoreAction;

use super::choice::{self, Chosen, Target};
use super::words::{GREEN, PLAIN, RED};
use super::{VaultCx, words, work};
use crate::commands::consent;

/// As many steps are shown to a person who did not ask for a preview.
const STEPS_SHOWN: usize = 40;

/// How a person allowed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing is to be done.
    Preview,
    Given,
    /// They will be asked.
    Asked,
}

impl Consent {
    /// Nobody can be asked without a terminal.
    pub fn new(preview: bool, yes: bool, json: bool) -> anyhow::Result<Self> {
        match (preview, yes) {
            (true, _) => Ok(Consent::Preview),
            (false, true) => Ok(Consent::Given),
            (false, false) if !json && consent::can_ask() => Ok(Consent::Asked),
            (false, false) => bail!(
                "nothing was restored, because nobody can be asked here; --preview shows what it would \
                 touch, --yes restores without asking"
            ),
        }
    }
}

/// A restore as it was asked for.
#[derive(Clone)]
struct RestorePlan {
    chosen: Chosen,
    to: Target,
    path: Option<PathBuf>,
}

pub async fn run(
    cx: VaultCx,
    to: Target,
    path: Option<PathBuf>,
    consent: Consent,
) -> anyhow::Result<()> {
    let (vault, json) = (Arc::clone(&cx.vault), cx.json);
    let (plan, steps) = work::told("looking at the files", move |work| {
        let path = path.map(|path| cx.inside(&path)).transpose()?;
        let chosen = choice::thread(&cx)?;
        let moment = chosen.moment(to)?;
        let steps = cx.vault.preview(work, moment, path.as_deref())?;
        Ok((RestorePlan { chosen, to, path }, steps))
    })
    .await?;
    if consent == Consent::Preview || !steps.iter().any(does) {
        return match json {
            true => words::say_json(&plan.to_json(&steps, None)),
            false => words::say(plan.preview(&steps, usize::MAX)),
        };
    }
    if !json {
        words::say(plan.preview(&steps, STEPS_SHOWN))?;
    }
    if consent == Consent::Asked && !consent::agreed("Restore?").await? {
        return words::say("Nothing was restored.\n");
    }
    let restored = match carry_out(&vault, &plan).await {
        Ok(restored) => restored,
        Err(error) => return Err(halfway(vault, plan, error).await),
    };
    match json {
        true => words::say_json(&plan.to_json(&restored.steps, Some(&restored))),
        false => words::say(plan.report(&restored, vault.workspace())),
    }
}

async fn carry_out(vault: &Arc<Vault>, plan: &RestorePlan) -> anyhow::Result<Restored> {
    let (vault, plan) = (Arc::clone(vault), plan.clone());
    work::told("restoring", move |work| {
        let RestorePlan { chosen, to, path } = plan;
        let (thread, moment) = (&chosen.thread, chosen.moment(to)?);
        Ok(vault.restore(work, thread, moment, path.as_deref())?)
    })
    .await
}

/// Says how to undo what was done of a restore before it failed.
async fn halfway(vault: Arc<Vault>, plan: RestorePlan, error: anyhow::Error) -> anyhow::Error {
    let thread = plan.chosen.thread.clone();
    let workspace = vault.workspace().to_owned();
    let kept = work::quiet(move || Ok(vault.kept(&thread)?)).await;
    let last = |kept: &ThreadHistory| kept.checkpoints.last().map(|last| last.number);
    let before = kept.ok().flatten().as_ref().and_then(last);
    match before.filter(|_| before > last(&plan.chosen.kept)) {
        Some(before) => {
            let undo = undo(&workspace, before, &plan.chosen.short);
            words::explained(error).context(format!(
                "some files may be back already ({undo} undoes that)"
            ))
        }
        None => error,
    }
}

/// The command line that takes the files back to where they were before, from here.
fn undo(workspace: &Path, before: u64, thread: &str) -> String {
    let id = words::id(before);
    let undo = format!("dragoman checkpoints restore {id} --thread {thread}");
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    match here.is_ok_and(|here| here.starts_with(workspace)) {
        true => undo,
        false => format!("{undo} --dir {}", words::shell(workspace)),
    }
}

fn does(step: &RestoreStep) -> bool {
    !matches!(step.how, RestoreAction::Skip { .. })
}

impl RestorePlan {
    fn to_json(&self, steps: &[RestoreStep], restored: Option<&Restored>) -> Value {
        let step = |step: &RestoreStep| {
            let (how, why) = match &step.how {
                RestoreAction::Create => ("create", None),
                RestoreAction::Replace => ("replace", None),
                RestoreAction::Delete => ("delete", None),
                RestoreAction::Skip { why } => ("skip", Some(why)),
            };
            json!({ "path": step.path.to_string_lossy(), "how": how, "why": why })
        };
        json!({
            "thread": self.chosen.thread,
            "to": self.to.to_string(),
            "path": self.path.as_ref().map(|path| path.to_string_lossy()),
            "steps": steps.iter().map(step).collect::<Vec<_>>(),
            "restored": restored.is_some(),
            "undo": restored.map(|restored| words::id(restored.before.number)),
        })
    }

    /// What is put back, in words.
    fn what(&self) -> String {
        match &self.path {
            Some(path) => words::path(path),
            None => "the files".to_owned(),
        }
    }

    fn preview(&self, steps: &[RestoreStep], shown: usize) -> String {
        let RestorePlan { chosen, to, .. } = self;
        let (thread, what) = (chosen.name(), self.what());
        let touched = steps.iter().filter(|step| does(step)).count() as u64;
        let mut text = match (touched, steps.is_empty()) {
            (0, true) => {
                format!("Thread {thread}: nothing to restore, {what} did not change since {to}.\n")
            }
            (0, false) => format!("Thread {thread}: nothing of {what} can be restored:\n"),
            (touched, _) => format!(
                "Thread {thread}: taking {what} back to {to} touches {}:\n",
                words::count(touched, "path", "paths")
            ),
        };
        text.push_str(&lines(steps, shown, words::colours()));
        if *to == Target::Original && chosen.kept.partial {
            text.push_str(
                "The original is partial: some files may be as they were shortly after the start.\n",
            );
        }
        text
    }

    fn report(&self, restored: &Restored, workspace: &Path) -> String {
        let RestorePlan { chosen, to, .. } = self;
        let Restored { before, steps, .. } = restored;
        let done = steps.iter().filter(|step| does(step)).count() as u64;
        let mut text = format!(
            "Took {} back to {to}: {}.\n",
            self.what(),
            words::count(done, "path was touched", "paths were touched")
        );
        let skipped: Vec<RestoreStep> = steps.iter().filter(|step| !does(step)).cloned().collect();
        if !skipped.is_empty() {
            text.push_str("Left alone:\n");
            text.push_str(&lines(&skipped, STEPS_SHOWN, words::colours()));
        }
        let undo = undo(workspace, before.number, &chosen.short);
        text.push_str(&format!("To undo it: {undo}\n"));
        text
    }
}

fn lines(steps: &[RestoreStep], shown: usize, colours: bool) -> String {
    let mut text = String::new();
    for step in steps.iter().take(shown) {
        let path = words::path(&step.path);
        let (paint, word, why) = match &step.how {
            RestoreAction::Create => (GREEN, "create", None),
            RestoreAction::Replace => ("", "replace", None),
            RestoreAction::Delete => (RED, "delete", None),
            RestoreAction::Skip { why } => ("", "leave", Some(why)),
        };
        let word = match (colours, paint) {
            (true, paint) if !paint.is_empty() => format!("{paint}{word:<8}{PLAIN}"),
            (true | false, _) => format!("{word:<8}"),
        };
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        text.push_str(&format!("  {word}{path}{why}\n"));
    }
    let more = steps.len().saturating_sub(shown);
    if more > 0 {
        text.push_str(&format!("  and {more} more (--preview shows them all)\n"));
    }
    text
}
