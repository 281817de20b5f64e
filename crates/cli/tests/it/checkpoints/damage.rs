//! What is damaged is found and named.

use std::fs::File;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::{LIMIT, Story, files_in};
use crate::tell;

#[test]
fn all_is_well_until_a_byte_flips() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let well = story.json(&["verify"]).await?;
        let vault = &well["vaults"][0];
        assert_eq!((&well["ok"], &vault["damage"]), (&json!(true), &json!([])));
        // one, two, three, four, here, new
        assert_eq!(vault["contents"], 6);
        let text = story.run(&["verify"]).await?;
        let start = format!(
            "{}: all is well (6 contents, ",
            story.scratch.workspace().display()
        );
        ensure!(text.out.starts_with(&start), "{}", text.out);

        let packs = files_in(&story.vault.directory().join("packs"))?;
        let pack = packs.first().context("a pack")?;
        let mut bytes = std::fs::read(pack)?;
        let last = bytes.len() - 2;
        bytes[last] ^= 1;
        std::fs::write(pack, bytes)?;
        for words in [&["verify"][..], &["verify", "--all"]] {
            let said = story.run(words).await?;
            assert_eq!(said.code, Some(1), "{said:?}");
            ensure!(said.out.contains(": damaged ("), "{}", said.out);
            ensure!(said.out.contains("\n  pack 1: content "), "{}", said.out);
            ensure!(
                said.err.starts_with("dragoman: 1 damage was found"),
                "{}",
                said.err
            );
        }
        let said = story.run(&["verify", "--json"]).await?;
        let told: Value = serde_json::from_str(&said.out)?;
        assert_eq!((said.code, &told["ok"]), (Some(1), &json!(false)));
        let damage = told["vaults"][0]["damage"].as_array();
        assert_eq!(damage.map(Vec::len), Some(1), "{told}");
        Ok(())
    });
}

#[test]
fn a_database_that_is_none_is_damage_and_hides_no_other_vault() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let broken = story.scratch.home().join("checkpoints/broken-000000000000");
        std::fs::create_dir(&broken)?;
        std::fs::write(broken.join("vault.db"), "no database at all".repeat(100))?;
        let said = story.run(&["verify", "--all", "--json"]).await?;
        assert_eq!(said.code, Some(1), "{said:?}");
        let told: Value = serde_json::from_str(&said.out)?;
        let damaged = |vault: &Value| {
            let damage = vault["damage"].as_array().map(Vec::len);
            json!([vault["directory"], damage])
        };
        let vaults = told["vaults"].as_array().context("vaults")?;
        assert_eq!(
            vaults.iter().map(damaged).collect::<Vec<_>>(),
            [json!([broken, 1]), json!([story.vault.directory(), 0])]
        );
        let all = story.json(&["list", "--all"]).await?;
        assert_eq!(all.as_array().map(Vec::len), Some(2));
        ensure!(all[0]["error"].is_string(), "{all}");
        assert_eq!(all[1]["checkpoints"], 3);
        Ok(())
    });
}

/// As long as somebody else has the vault, a command has to wait.
fn hold(story: &Story) -> anyhow::Result<File> {
    let path = story.vault.directory().join("scan.lock");
    let lock = File::options().write(true).open(path)?;
    lock.lock()?;
    Ok(lock)
}

#[test]
fn work_that_takes_long_says_so() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let lock = hold(&story)?;
        let mut child = story.command(&["verify"]).spawn()?;
        let stderr = child.stderr.take().context("stderr")?;
        let mut lines = BufReader::new(stderr).lines();
        for _ in 0..2 {
            assert_eq!(lines.next_line().await?.as_deref(), Some("verifying …"));
        }
        lock.unlock()?;
        assert_eq!(child.wait().await?.code(), Some(0));
        Ok(())
    });
}

#[test]
fn ctrl_c_stops_what_takes_long() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let _lock = hold(&story)?;
        let mut child = story.command(&["prune"]).spawn()?;
        let stderr = child.stderr.take().context("stderr")?;
        let mut lines = BufReader::new(stderr).lines();
        assert_eq!(lines.next_line().await?.as_deref(), Some("pruning …"));
        let id = child.id().context("it runs")?.to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().await?;
        ensure!(sent.success());
        // It may tell of its progress once more.
        let mut last = String::new();
        while let Some(line) = lines.next_line().await? {
            last = line;
        }
        assert_eq!(last, "dragoman: stopped before it was done");
        assert_eq!(child.wait().await?.code(), Some(1));
        Ok(())
    });
}
