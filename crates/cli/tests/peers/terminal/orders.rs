//! What a person orders with a slash, an exclamation mark or a key of its own.

use anyhow::ensure;
use testkit::service::{ScriptedReply, ServedService, Vendor};
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
        // What runs on is listed as long as it does.
        person
            .say(
                "tool bash {\"command\":\"echo $$ > pid; exec sleep 600\",\"background\":true}",
                "running as job 1",
            )
            .await?;
        person.rests().await?;
        person.say("/ps", "• echo $$ > pid; exec sleep 600").await?;
        person
            .say("/stop", "Stopping all background terminals")
            .await?;
        person.say("/ps", "No background terminals running").await?;
        desk.tap
            .sees("the command's end is told", |tapped| {
                let item = &tapped.frame["params"]["item"];
                tapped.frame["method"] == "item/completed" && item["source"] == "unifiedExecStartup"
            })
            .await?;
        person.say("echo still here", "• still here").await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        desk.judged().await
    });
}

#[test]
fn plan_mode_and_a_plan_that_is_approved() {
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
            .say("tool bash {\"command\":\"touch coded.txt\"}", "• Ran touch")
            .await?;
        person.rests().await?;
        ensure!(
            desk.scratch.workspace().join("coded.txt").exists(),
            "nothing may be changed when the plan is done"
        );
        person.leaves(&[]).await?;
        desk.judged().await
    });
}

/// What is chosen is in force from the next turn on, is what the client shows, and can be taken back.
#[test]
fn permissions_that_are_chosen_are_kept() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        let made = |name: &str| desk.scratch.workspace().join(name).exists();
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("/permissions", "Read Only").await?;
        // Nothing is offered that would be refused.
        person.sees("Approve for me (disabled)").await?;
        person.sees("Full Access (disabled)").await?;
        person
            .press("2", "Permission selection requested: Read Only")
            .await?;
        person
            .say(
                "tool bash {\"command\":\"touch read-only.txt\"}",
                "Read-only file system",
            )
            .await?;
        person.rests().await?;
        ensure!(!made("read-only.txt"), "it was written");
        person
            .say("/status", "Read Only (Ask for approval)")
            .await?;
        person.say("/permissions", "Read Only (current)").await?;
        person
            .press("1", "Permission selection requested: Ask for approval")
            .await?;
        person
            .say("tool bash {\"command\":\"touch free.txt\"}", "• Ran touch")
            .await?;
        person.rests().await?;
        ensure!(made("free.txt"), "it was not written");
        person.leaves(&[]).await?;
        desk.judged().await
    });
}

/// The model that is chosen does the next turn, with the effort that is chosen; a review is its words.
#[test]
fn a_model_is_chosen_and_reviews() {
    crate::tell(LIMIT, async {
        // The client asks for a title, too, at some moment of its own.
        let replies = std::iter::repeat_n(ScriptedReply::says("As good as new."), 9);
        let service = ServedService::start_with(Vendor::OpenAi, replies).await?;
        let desk = CodexDesk::open_beside(&service).await?;
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("/model", "1. Rehearsal (current)").await?;
        person.press("2", "Select Reasoning Level").await?;
        person.press("3", "• Model changed to ").await?;
        person.say("Who are you?", "• As good as new.").await?;
        person.rests().await?;
        desk.scratch.write("fresh.txt", "a fresh line\n")?;
        person.say("/review", "Select a review preset").await?;
        let second = format!("{}{}", key::DOWN, key::ENTER);
        person
            .press(&second, ">> Code review started: current changes <<")
            .await?;
        let between = |screen: &str| {
            let (_, begun) = screen.split_once("Code review started")?;
            Some(begun.split_once("Code review finished")?.0.to_owned())
        };
        person
            .until("the review's words", |screen| {
                between(screen).is_some_and(|words| words.contains("• As good as new."))
            })
            .await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        let asked = |words: &str| {
            let mut bodies = service.requests().into_iter();
            bodies.any(|body| {
                body["model"] == "gpt-6.1-sol"
                    && body["reasoning"]["effort"] == "high"
                    && body["input"].to_string().contains(words)
            })
        };
        ensure!(asked("Who are you?"), "another model was asked");
        ensure!(
            asked("uncommitted"),
            "another model has reviewed: {:#?}",
            service.requests()
        );
        ensure!(service.refusals().is_empty(), "{:?}", service.refusals());
        desk.judged().await
    });
}
