//! The official terminal client of Codex, in a terminal, against a real server: what a person does, and
//! what they see. Every frame goes through a tap and is held against the client's own schemas.

mod branches;
mod desk;
mod orders;

use std::time::Duration;

use anyhow::ensure;
use testkit::terminal::key;

use desk::{CodexDesk, STOPPED};

const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn chat_approvals_a_question_and_stopping() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        for folder in ["one", "two", "three", "four"] {
            std::fs::create_dir(desk.scratch.workspace().join(folder))?;
        }
        let there = |folder: &str| desk.scratch.workspace().join(folder).exists();
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("echo bonjour", "• bonjour").await?;
        // Once, for the session, no, and no with an end to the turn.
        let remove = |what: &str| format!("tool bash {{\"command\":\"rm -rf {what}\"}}");
        // What is asked for is shown as it would run, whatever it consists of.
        let lines = "one # all of it\\necho \\\"two  words\\\"; ls";
        person
            .say(&remove(lines), "$ rm -rf one # all of it")
            .await?;
        person.sees("\n  echo \"two  words\"; ls\n").await?;
        person
            .press("d", "You did not approve codex to run rm -rf one")
            .await?;
        person.rests().await?;
        person.say(&remove("one"), "$ rm -rf one").await?;
        person
            .press("y", "You approved codex to run rm -rf one this time")
            .await?;
        person.rests().await?;
        ensure!(!there("one"), "it did not run");
        person.say(&remove("two"), "$ rm -rf two").await?;
        person
            .press("a", "rm -rf two every time this session")
            .await?;
        person.rests().await?;
        std::fs::create_dir(desk.scratch.workspace().join("two"))?;
        person.say(&remove("two"), "• Ran rm -rf two").await?;
        person
            .until("it runs without a question", |_| !there("two"))
            .await?;
        person.rests().await?;
        person.say(&remove("three"), "$ rm -rf three").await?;
        person
            .press("d", "You did not approve codex to run rm -rf three")
            .await?;
        person.rests().await?;
        person.say(&remove("four"), "$ rm -rf four").await?;
        person
            .press(key::ESCAPE, "You canceled the request to run rm -rf four")
            .await?;
        person.rests().await?;
        ensure!(there("three") && there("four"), "it ran all the same");
        person
            .say("show me a question", "Which colour do you like best?")
            .await?;
        person
            .press(key::ENTER, "Your answer reached me: Blue")
            .await?;
        person.rests().await?;
        // Words while a turn runs reach it, and Escape ends one.
        let wait = "tool bash {\"command\":\"until test -e go; do sleep 0.1; done\"}";
        person.say(wait, "Running until test -e go").await?;
        person.say("echo and more", "echo and more").await?;
        desk.takes("turn/steer").await?;
        desk.scratch.write("go", "")?;
        person.sees("• and more").await?;
        person.rests().await?;
        person.say("slow 3000", "w25 w26").await?;
        person.press(key::ESCAPE, "w25 w26").await?;
        person.rests().await?;
        person.sees(STOPPED).await?;
        person.leaves(&[STOPPED]).await?;
        desk.judged().await
    });
}

#[test]
fn the_menus_of_a_session() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        desk.scratch.write(
            ".agent/skills/tidy-up/SKILL.md",
            "---\nname: tidy-up\ndescription: Use when tidying up.\n---\nTidy.\n",
        )?;
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("/mcp", "No MCP servers configured").await?;
        person.say("/hooks", "Hooks").await?;
        person.press(key::ESCAPE, "Ask Codex").await?;
        person
            .say("/status", "Model provider:      rehearsal")
            .await?;
        person.say("/skills", "Skills").await?;
        person.press(key::ESCAPE, "Ask Codex").await?;
        person.leaves(&[]).await?;
        desk.judged().await
    });
}

#[test]
fn a_killed_server_and_a_second_terminal() {
    crate::tell(LIMIT, async {
        let mut desk = CodexDesk::open().await?;
        let mut first = desk.sit_down(&[])?;
        first.ready().await?;
        first.say("echo remember me", "• remember me").await?;
        first.rests().await?;
        let thread = desk.thread()?;
        let mut second = desk.sit_down(&["resume", &thread])?;
        second.sees("• remember me").await?;
        // What is asked in one is asked in both, and either answers.
        std::fs::create_dir(desk.scratch.workspace().join("old"))?;
        first
            .say("tool bash {\"command\":\"rm -rf old\"}", "$ rm -rf old")
            .await?;
        second.sees("$ rm -rf old").await?;
        second.press("y", "• Ran rm -rf old").await?;
        first.sees("• Ran rm -rf old").await?;
        first.rests().await?;
        second.leaves(&[]).await?;
        first.say("slow 3000", "w25 w26").await?;
        desk.server.kill9().await?;
        desk.server.restart().await?;
        desk.tap.lead_to(desk.server.port());
        first
            .sees("the server stopped while this turn was running")
            .await?;
        first.say("echo back again", "• back again").await?;
        first
            .leaves(&["■ the server stopped while this turn was running"])
            .await?;
        desk.judged().await
    });
}

#[test]
fn dragoman_tui_starts_a_server_for_the_client_and_ends_with_it() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        let mut person = desk.sit_down_by_ourselves(&[])?;
        person.ready().await?;
        person.say("echo by ourselves", "• by ourselves").await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        // The other server has the thread, too: they share their data.
        let log = desk.scratch.home().join("tui.log");
        ensure!(log.is_file(), "no log aside");
        // Whatever the client ends with is what we end with.
        let mut person = desk.sit_down_by_ourselves(&["--no-such-flag"])?;
        person.sees("unexpected argument").await?;
        assert_eq!(person.ended().await?, Some(2));
        Ok(())
    });
}
