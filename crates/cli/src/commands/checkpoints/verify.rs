//! Reads all that is kept and compares it with what was stored.

use std::path::{Path, PathBuf};

use anyhow::bail;
use checkpoints::{Error, Vault, VerifyReport, WorkControl};
use engine::VaultPlace;
use serde_json::{Value, json};

use super::words::{GREEN, PLAIN, RED};
use super::{vaults, words, work};

/// What was found in one vault.
struct VaultReport {
    directory: PathBuf,
    workspace: Option<PathBuf>,
    verdict: VerifyReport,
}

pub async fn one(place: VaultPlace, json: bool) -> anyhow::Result<()> {
    let report = work::told("verifying", move |work| {
        let directory = place.directory();
        Ok(VaultReport {
            workspace: Vault::workspace_of(&directory).ok().flatten(),
            verdict: verdict(place.open(), work)?,
            directory,
        })
    })
    .await?;
    conclude(&[report], json)
}

pub async fn all(home: &Path, json: bool) -> anyhow::Result<()> {
    let home = home.to_owned();
    let found = work::quiet(move || vaults::all(&home)).await?;
    let mut reports = Vec::new();
    for vaults::FoundVault {
        directory,
        workspace,
    } in found
    {
        let report = work::told("verifying", move |work| {
            Ok(VaultReport {
                verdict: verdict(vaults::open(&directory), work)?,
                workspace: workspace.ok(),
                directory,
            })
        })
        .await?;
        reports.push(report);
    }
    conclude(&reports, json)
}

/// A vault that cannot even be opened because of damage is a finding, not a failure.
fn verdict(
    opened: checkpoints::Result<Vault>,
    work: &WorkControl<'_>,
) -> anyhow::Result<VerifyReport> {
    match opened.and_then(|vault| vault.verify(work)) {
        Ok(verdict) => Ok(verdict),
        Err(Error::Damaged(what)) => Ok(VerifyReport {
            damage: vec![what],
            ..VerifyReport::default()
        }),
        Err(error) => Err(error.into()),
    }
}

fn conclude(reports: &[VaultReport], json: bool) -> anyhow::Result<()> {
    let damage: usize = reports.iter().map(|each| each.verdict.damage.len()).sum();
    if json {
        words::say_json(&json!({
            "ok": damage == 0,
            "vaults": reports.iter().map(VaultReport::to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        let colours = words::colours();
        let texts: Vec<String> = reports.iter().map(|each| each.to_text(colours)).collect();
        words::say(texts.concat())?;
        if reports.is_empty() {
            words::say("No checkpoints yet; nothing to verify.\n")?;
        }
    }
    if damage > 0 {
        let damage = words::count(damage as u64, "damage was", "damages were");
        bail!(
            "{damage} found; a checkpoint that needs what is damaged cannot be restored, all others can"
        );
    }
    Ok(())
}

impl VaultReport {
    fn to_json(&self) -> Value {
        json!({
            "workspace": self.workspace.as_ref().map(|path| path.to_string_lossy()),
            "directory": self.directory.to_string_lossy(),
            "contents": self.verdict.blobs,
            "bytes": self.verdict.bytes,
            "damage": self.verdict.damage,
        })
    }

    fn to_text(&self, colours: bool) -> String {
        let paint = |paint: &str, text: &str| match colours {
            true => format!("{paint}{text}{PLAIN}"),
            false => text.to_owned(),
        };
        let workspace = match &self.workspace {
            Some(workspace) => words::path(workspace),
            None => words::path(&self.directory),
        };
        let VerifyReport {
            blobs,
            bytes,
            damage,
        } = &self.verdict;
        let read = format!(
            "{}, {} read",
            words::count(*blobs, "content", "contents"),
            words::size(*bytes)
        );
        if damage.is_empty() {
            let well = paint(GREEN, "all is well");
            return format!("{workspace}: {well} ({read})\n");
        }
        let damaged = paint(RED, "damaged");
        let kept_in = words::path(&self.directory);
        let mut text = format!("{workspace}: {damaged} ({read}; kept in {kept_in})\n");
        for each in damage {
            text.push_str(&format!("  {}\n", crate::screen::harmless(each)));
        }
        text
    }
}
