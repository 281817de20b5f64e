//! Skills and trust as their user meets them: on the command line, and in a client beside it.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::{DRAGOMAN, command};

async fn said(scratch: &Scratch, words: &[&str]) -> anyhow::Result<String> {
    let (well, said) = command::said(scratch, words).await?;
    ensure!(well, "{words:?}: {said}");
    Ok(said)
}

async fn complained(scratch: &Scratch, words: &[&str]) -> anyhow::Result<String> {
    let (well, said) = command::said(scratch, words).await?;
    ensure!(!well, "{words:?} went well: {said}");
    Ok(said)
}

/// The lines of the table, by their first two columns.
fn rows(table: &str) -> Vec<String> {
    let lines = table.lines().skip(1).take_while(|line| !line.is_empty());
    let columns = lines.map(|line| line.split("  ").filter(|cell| !cell.is_empty()));
    columns
        .map(|columns| columns.take(3).map(str::trim).collect::<Vec<_>>().join(" "))
        .collect()
}

#[tokio::test]
async fn a_skill_is_made_listed_switched_off_and_on() -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let built_in = |name: &str| format!("{name} built-in yes");
    let always = ["commit", "explain", "review", "test"].map(built_in);
    assert_eq!(rows(&said(&scratch, &["skills"]).await?), always);
    let made = said(&scratch, &["skills", "new", "release"]).await?;
    ensure!(made.contains("skills/release/SKILL.md"), "{made}");
    said(&scratch, &["skills", "new", "build", "--project"]).await?;
    let again = complained(&scratch, &["skills", "new", "release"]).await?;
    ensure!(again.contains("is in the way"), "{again}");
    let wrong = complained(&scratch, &["skills", "new", "Re lease"]).await?;
    ensure!(wrong.contains("small letters and digits"), "{wrong}");

    let listed = rows(&said(&scratch, &["skills", "list"]).await?);
    ensure!(
        listed.contains(&"release global yes".to_owned()),
        "{listed:?}"
    );
    ensure!(
        listed.contains(&"build project if trusted".to_owned()),
        "{listed:?}"
    );
    said(&scratch, &["skills", "disable", "release"]).await?;
    let listed = rows(&said(&scratch, &["skills"]).await?);
    ensure!(
        listed.contains(&"release global no".to_owned()),
        "{listed:?}"
    );
    let json = said(&scratch, &["skills", "list", "--json"]).await?;
    let json: Value = serde_json::from_str(&json)?;
    let release = json["skills"].as_array().and_then(|skills| {
        let mut skills = skills.iter();
        skills.find(|skill| skill["name"] == "release")
    });
    ensure!(
        release.is_some_and(|skill| skill["enabled"] == false),
        "{json}"
    );
    said(&scratch, &["skills", "enable", "release"]).await?;
    for (words, expected) in [
        (["skills", "disable", "relaese"], "did you mean release?"),
        (
            ["skills", "disable", "review"],
            "not one of your global skills",
        ),
        (
            ["skills", "enable", "build"],
            "not one of your global skills",
        ),
    ] {
        let why = complained(&scratch, &words).await?;
        ensure!(why.contains(expected), "{why}");
    }
    // What is wrong is named.
    std::fs::write(scratch.home().join("skills/release/SKILL.md"), "no")?;
    let listed = said(&scratch, &["skills"]).await?;
    let words = "skills/release/SKILL.md: it does not begin with lines between two ---";
    ensure!(
        listed.contains("Not used:") && listed.contains(words),
        "{listed}"
    );
    Ok(())
}

#[tokio::test]
async fn a_command_of_the_workspace_waits_for_trust_and_trust_can_be_revoked() -> anyhow::Result<()>
{
    let scratch = Scratch::new()?;
    assert_eq!(
        said(&scratch, &["trust"]).await?,
        "no workspace is trusted\n"
    );
    let commands = scratch.workspace().join(".cowork/commands");
    std::fs::create_dir_all(&commands)?;
    std::fs::write(commands.join("deploy.md"), "Push it.")?;
    let launch = Launch::new(DRAGOMAN, &scratch);
    let server = Process::start(&launch).await?;
    let url = format!("ws://127.0.0.1:{}/ws", server.port());
    let mut client = Client::connect(&url).await?;
    let hello = client
        .until(|frame| frame["type"] == "server_hello")
        .await?;
    let session = hello["sessionId"].clone();
    let run = json!({ "type": "execute_command", "sessionId": session, "name": "deploy" });
    let refused = |frame: &Value| frame["type"] == "error";

    client.send_json(&run).await?;
    let why = client.until(refused).await?;
    ensure!(why["code"] == "permission_denied", "{why}");
    let added = said(&scratch, &["trust", "add", "."]).await?;
    ensure!(added.contains(".cowork/commands/deploy.md"), "{added}");
    client.send_json(&run).await?;
    let busy = client.until(|frame| frame["busy"] == true).await?;
    ensure!(busy["cause"] == "command", "{busy}");
    client.until(|frame| frame["busy"] == false).await?;

    let listed = rows(&said(&scratch, &["trust", "list"]).await?);
    let place = scratch.workspace().canonicalize()?.display().to_string();
    assert_eq!(listed, [format!("{place} trusted -")]);
    std::fs::write(commands.join("deploy.md"), "Push it to them.")?;
    let json: Value = serde_json::from_str(&said(&scratch, &["trust", "list", "--json"]).await?)?;
    assert_eq!(json[0]["content"], "changed");
    said(&scratch, &["trust", "add", &place]).await?;
    said(&scratch, &["trust", "revoke", "."]).await?;
    client.send_json(&run).await?;
    client.until(refused).await?;
    let why = complained(&scratch, &["trust", "revoke", "."]).await?;
    ensure!(why.contains("is not trusted"), "{why}");
    Ok(())
}
