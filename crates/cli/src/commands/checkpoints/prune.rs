//! Lets go of checkpoints: of what is too old or too much, or of one.

use checkpoints::{Pruned, RetentionPolicy};
use serde_json::json;

use super::choice::{self, Target};
use super::{VaultCx, words, work};

pub async fn run(cx: VaultCx, policy: RetentionPolicy) -> anyhow::Result<()> {
    let json = cx.json;
    let (pruned, left) = work::told("pruning", move |work| {
        let pruned = cx.vault.prune(work, &policy)?;
        Ok((pruned, cx.vault.size()?))
    })
    .await?;
    let Pruned {
        checkpoints,
        versions,
        bytes,
    } = pruned;
    if json {
        return words::say_json(&json!({
            "checkpoints": checkpoints,
            "versions": versions,
            "bytes": bytes,
            "left": {
                "threads": left.threads,
                "checkpoints": left.checkpoints,
                "bytes": left.bytes,
            },
        }));
    }
    words::say(format!(
        "{} and {} went; {} of disk came back.\nLeft are {} of {}, {} on disk.\n",
        words::count(checkpoints, "checkpoint", "checkpoints"),
        words::count(versions, "old version of a file", "old versions of files"),
        words::size(bytes),
        words::count(left.checkpoints, "checkpoint", "checkpoints"),
        words::count(left.threads, "thread", "threads"),
        words::size(left.bytes),
    ))
}

pub async fn delete(cx: VaultCx, number: u64) -> anyhow::Result<()> {
    let json = cx.json;
    let chosen = work::quiet(move || {
        let chosen = choice::thread(&cx)?;
        chosen.moment(Target::Checkpoint(number))?;
        cx.vault.delete(&chosen.thread, number)?;
        Ok(chosen)
    })
    .await?;
    let id = words::id(number);
    match json {
        true => words::say_json(&json!({ "thread": chosen.thread, "deleted": id })),
        false => words::say(format!(
            "Deleted {id} of thread {}. Pruning gives back the disk that only it needed.\n",
            chosen.name()
        )),
    }
}
