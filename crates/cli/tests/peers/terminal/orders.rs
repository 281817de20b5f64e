//! What a person orders with a slash, an exclamation mark or a key of its own.

use anyhow::ensure;
use testkit::terminal::key;

use super::LIMIT;
use super::desk::CodexDesk;

#[test]
fn compaction_review_a_command_of_ones_own_a_diff_and_stopping_terminals() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("echo bonjour", "• bonjour").await?;
        person.rests().await?;
        person
            .say("!echo from-shell", "You ran echo from-shell")
            .await?;
        person.sees("└ from-shell").await?;
        desk.scratch.write("fresh.txt", "a fresh line\n")?;
        person.say("/diff", "a fresh line").await?;
        person.press("q", "You ran echo from-shell").await?;
        person.say("/review", "Select a review preset").await?;
        let second = format!("{}{}", key::DOWN, key::ENTER);
        person.press(&second, "Code review started").await?;
        person.sees("Code review finished").await?;
        person.say("/compact", "Context compacted").await?;
        person
            .say("/stop", "Stopping all background terminals")
            .await?;
        person.say("echo still here", "• still here").await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        desk.judged().await
    });
}

#[test]
fn plan_mode_permissions_and_the_model() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("echo bonjour", "• bonjour").await?;
        person.rests().await?;
        person.press(key::BACK_TAB, "Plan mode").await?;
        // Nothing is changed while a plan is made, whatever the model tries.
        person
            .say(
                "tool bash {\"command\":\"touch planned.txt\"}",
                "Tool result",
            )
            .await?;
        person.rests().await?;
        ensure!(
            !desk.scratch.workspace().join("planned.txt").exists(),
            "plan mode let a file be made"
        );
        let plan = "echo <proposed_plan>\n- Look around first\n</proposed_plan>";
        person.paste_and_send(plan).await?;
        person.sees("Look around first").await?;
        person.sees("Implement this plan?").await?;
        person.press(key::ENTER, "Implement the plan").await?;
        person.rests().await?;
        person.misses("Plan mode (shift+tab").await?;
        person
            .say("/permissions", "Update Model Permissions")
            .await?;
        person.press(key::ESCAPE, "Ask Codex").await?;
        person.say("/model", "Select Model and Effort").await?;
        person.press(key::ENTER, "Ask Codex").await?;
        person
            .say("echo the same model", "• the same model")
            .await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        desk.judged().await
    });
}
