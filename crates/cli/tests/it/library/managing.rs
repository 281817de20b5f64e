//! Skills come by binary frame, packed by a tar that we did not write, and MCP servers by a configuration.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Asker, LIMIT, texts};
use crate::{Site, tell};

pub const WORKSPACE: &str = "000000000000000000000";

/// A skill's directory as `tar` packs it, and its hash as `sha256sum` says it.
pub fn packed(folder: &Path, name: &str, words: &str) -> anyhow::Result<(Vec<u8>, String)> {
    let directory = folder.join(name);
    std::fs::create_dir_all(directory.join("scripts"))?;
    let text = format!("---\nname: {name}\ndescription: Does {name}\n---\n{words}\n");
    std::fs::write(directory.join("SKILL.md"), text)?;
    std::fs::write(directory.join("scripts/run.sh"), "#!/bin/sh\n")?;
    pack(folder, name)
}

fn pack(folder: &Path, name: &str) -> anyhow::Result<(Vec<u8>, String)> {
    let archive: PathBuf = folder.join(format!("{name}.tar.gz"));
    let tar = Command::new("tar")
        .arg("-czf")
        .arg(&archive)
        .arg("-C")
        .arg(folder)
        .arg(name)
        .status()?;
    ensure!(tar.success(), "tar failed");
    let sum = Command::new("sha256sum").arg(&archive).output()?;
    let sum = String::from_utf8(sum.stdout)?;
    let sum = sum.split(' ').next().context("no sum")?.to_owned();
    Ok((std::fs::read(&archive)?, sum))
}

/// Uploads bytes in chunks of a few, and gives the upload's id.
pub async fn upload(asker: &mut Asker, bytes: &[u8], sum: &str) -> anyhow::Result<String> {
    let params = json!({
        "workspace_id": WORKSPACE, "file_name": "skill.tar.gz", "archive_format": "tar_gz",
        "compressed_size_bytes": bytes.len(), "sha256": sum,
    });
    let started = asker.ask("skills/upload/start", params).await?;
    let id = started["upload_id"].as_str().context("no id")?.to_owned();
    for (number, chunk) in bytes.chunks(100).enumerate() {
        let header = json!({
            "workspace_id": WORKSPACE, "upload_id": id, "offset": number * 100, "len": chunk.len(),
        });
        let header = header.to_string().into_bytes();
        let length = (header.len() as u32).to_be_bytes();
        let frame = [b"PSU1".as_slice(), &length, &header, chunk].concat();
        asker.client.send_bytes(frame).await?;
        let acked = asker.told("skills/upload/chunk_ack").await?;
        let next = acked["params"]["next_offset"].as_u64();
        ensure!(next == Some((number * 100 + chunk.len()) as u64), "{acked}");
    }
    let params = json!({ "workspace_id": WORKSPACE, "upload_id": id });
    let finished = asker.ask("skills/upload/finish", params).await?;
    ensure!(finished["status"] == "finalized", "{finished}");
    Ok(id)
}

pub fn from(upload: &str) -> Value {
    json!({
        "workspace_id": WORKSPACE, "source": { "type": "uploaded_archive", "upload_id": upload },
    })
}

#[test]
fn a_skill_is_uploaded_installed_updated_switched_and_uninstalled() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let folder = site.scratch.user().to_path_buf();
        let mut asker = Asker::connect(&site.server, "pioneer").await?;
        let mut other = Asker::connect(&site.server, "pioneer").await?;
        for each in [&mut asker, &mut other] {
            each.ask("workspace/default", json!({})).await?;
        }
        let (bytes, sum) = packed(&folder, "release", "first")?;
        let id = upload(&mut asker, &bytes, &sum).await?;
        // Nobody else can use it.
        other.refused("skills/install", from(&id), -32600).await?;
        let installed = asker.ask("skills/install", from(&id)).await?;
        let path = installed["skill"]["install_path"]
            .as_str()
            .context("no path")?;
        ensure!(
            Path::new(path).join("scripts/run.sh").is_file(),
            "{installed}"
        );
        let told = other.told("skills/changed").await?;
        ensure!(
            told["params"]["changes"][0]["change_type"] == "added",
            "{told}"
        );
        let before = installed["skill"]["fingerprint"].clone();
        ensure!(
            told["params"]["changes"][0]["fingerprint_after"] == before,
            "{told}"
        );
        // A second one of the name is an update, by who knows what it replaces.
        let (bytes, sum) = packed(&folder, "release", "second")?;
        let id = upload(&mut asker, &bytes, &sum).await?;
        asker.refused("skills/install", from(&id), -32600).await?;
        let mut update = from(&id);
        update["slug"] = json!("release");
        update["expected_previous_fingerprint"] = json!("other");
        asker
            .refused("skills/update", update.clone(), -32600)
            .await?;
        update["expected_previous_fingerprint"] = before;
        let updated = asker.ask("skills/update", update).await?;
        ensure!(updated["status"] == "updated", "{updated}");
        let text = std::fs::read_to_string(Path::new(path).join("SKILL.md"))?;
        ensure!(text.ends_with("second\n"), "{text}");
        let off = json!({ "workspace_id": WORKSPACE, "skill_slug": "release", "enabled": false });
        asker.ask("skills/policy/set", off).await?;
        let listed = asker
            .ask("skills/list", json!({ "workspace_id": WORKSPACE }))
            .await?;
        let mut skills = listed["skills"].as_array().into_iter().flatten();
        let ours = skills
            .find(|skill| skill["slug"] == "release")
            .context("not listed")?;
        ensure!(
            ours["status"] == "disabled" && ours["source_kind"] == "user",
            "{ours}"
        );
        let gone = json!({ "workspace_id": WORKSPACE, "slug": "release" });
        asker.ask("skills/uninstall", gone.clone()).await?;
        asker.refused("skills/uninstall", gone, -32602).await?;
        let listed = asker
            .ask("skills/list", json!({ "workspace_id": WORKSPACE }))
            .await?;
        ensure!(
            !texts(&listed["skills"], "slug")?.contains(&"release".to_owned()),
            "{listed}"
        );
        Ok(())
    });
}

#[test]
fn a_hostile_archive_changes_nothing() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let folder = site.scratch.user().to_path_buf();
        let mut asker = Asker::connect(&site.server, "pioneer").await?;
        asker.ask("workspace/default", json!({})).await?;
        packed(&folder, "linked", "x")?;
        std::os::unix::fs::symlink("/etc/passwd", folder.join("linked/link"))?;
        let (bytes, sum) = pack(&folder, "linked")?;
        let id = upload(&mut asker, &bytes, &sum).await?;
        let words = asker.refused("skills/install", from(&id), -32602).await?;
        ensure!(words.contains("no plain file"), "{words}");
        let (bytes, _) = packed(&folder, "other", "x")?;
        let id = upload(&mut asker, &bytes, &"0".repeat(64)).await;
        ensure!(id.is_err(), "another hash is taken");
        let skills = site.scratch.home().join("skills");
        let names = std::fs::read_dir(&skills).map_or(0, |entries| entries.count());
        assert_eq!(names, 0, "something was installed");
        Ok(())
    });
}

#[test]
fn servers_are_installed_switched_restarted_and_uninstalled() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut asker = Asker::connect(&site.server, "pioneer").await?;
        asker.ask("workspace/default", json!({})).await?;
        let config = json!({ "mcpServers": {
            "broken": { "command": "/bin/false", "env": { "TOKEN": "hush" } },
            "wrong": { "command": 7 },
        }});
        let params = json!({ "workspace_id": WORKSPACE, "config_json": config.to_string() });
        let installed = asker.ask("mcp/install", params).await?;
        ensure!(installed["status"] == "partial", "{installed}");
        let told = asker.told("mcp/changed").await?;
        ensure!(
            told["params"]["changed"][0]["action"] == "install",
            "{told}"
        );
        let one = json!({ "workspace_id": WORKSPACE, "name": "broken" });
        let accepted = asker.ask("mcp/server/restart", one.clone()).await?;
        ensure!(accepted["accepted"] == true, "{accepted}");
        loop {
            let told = asker.told("mcp/server/status_changed").await?;
            if told["params"]["server"]["status"] == "failed" {
                break;
            }
        }
        let details = json!({ "workspace_id": WORKSPACE, "server_id": "broken" });
        let details = asker.ask("mcp/server/details", details).await?;
        ensure!(
            details["management"]["health"]["last_error"].is_string(),
            "{details}"
        );
        ensure!(!details.to_string().contains("hush"), "{details}");
        let mut off = one.clone();
        off["enabled"] = json!(false);
        let switched = asker.ask("mcp/policy/set", off).await?;
        ensure!(switched["server"]["status"] == "disabled", "{switched}");
        asker
            .refused("mcp/server/restart", one.clone(), -32600)
            .await?;
        let listed = asker
            .ask("mcp/list", json!({ "workspace_id": WORKSPACE }))
            .await?;
        ensure!(
            listed["servers"][0]["policy"]["enabled"] == false,
            "{listed}"
        );
        asker.ask("mcp/uninstall", one.clone()).await?;
        asker.refused("mcp/uninstall", one, -32602).await?;
        let listed = asker
            .ask("mcp/list", json!({ "workspace_id": WORKSPACE }))
            .await?;
        ensure!(listed["servers"] == json!([]), "{listed}");
        Ok(())
    });
}
