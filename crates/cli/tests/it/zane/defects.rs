//! The defects of the original that its clients suffer from, one by one (those of the socket itself are
//! beside the tests of returning).

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::Scratch;

use super::{LIMIT, Page, start};
use crate::tell;

async fn opened(scratch: &Scratch) -> anyhow::Result<(testkit::Process, Page, String)> {
    let server = start(scratch).await?;
    let mut page = Page::open(&server).await?;
    let cwd = scratch.workspace().canonicalize()?.display().to_string();
    let thread = page.start_thread(&cwd).await?;
    Ok((server, page, thread))
}

/// Section 6.3: an object where text is expected throws in the page.
#[test]
fn defect_3_an_error_has_its_message_as_text_and_as_the_object() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (_server, mut page, thread) = opened(&scratch).await?;
        page.say(&thread, "show me an error").await?;
        let error = page.until("error").await?;
        let params = &error["params"];
        assert_eq!(params["threadId"], thread.as_str());
        ensure!(params["message"].is_string(), "{error}");
        assert_eq!(params["error"]["message"], params["message"]);
        assert_eq!(page.rest().await?, "Failed");
        Ok(())
    });
}

/// Section 6.4: lists by directory make the page throw when somebody types a slash.
#[test]
fn defect_4_skills_are_a_flat_list_with_names_and_descriptions() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (server, mut page, _thread) = opened(&scratch).await?;
        let listed = page.ask("skills/list", json!({})).await?;
        let data = listed["data"].as_array().context("data")?;
        ensure!(!data.is_empty(), "some are built in");
        for skill in data {
            ensure!(
                skill["name"].is_string() && skill["description"].is_string(),
                "{skill}"
            );
        }
        // Before there is a thread there are none, and no error.
        let mut fresh = Page::open(&server).await?;
        let listed = fresh.ask("skills/list", json!({})).await?;
        assert_eq!(listed["data"], json!([]));
        Ok(())
    });
}

/// Section 6.5: without roots the original answers with an error, and what it finds is not where the page looks.
#[test]
fn defect_5_files_are_found_without_roots_and_told_as_data() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        scratch.write("zanefile.txt", "x")?;
        let place = scratch.workspace().join("src");
        std::fs::create_dir_all(&place)?;
        std::fs::write(place.join("amazed_analysis.rs"), "x")?;
        std::fs::write(scratch.workspace().join("zanefile.txt"), "x")?;
        let (server, mut page, _thread) = opened(&scratch).await?;
        let query = json!({ "query": "zan", "limit": 8 });
        let found = page.ask("fuzzyFileSearch", query.clone()).await?;
        let data = found["data"].as_array().context("data")?;
        assert_eq!(data[0]["path"], "zanefile.txt", "{found}");
        assert_eq!(data[0]["file_name"], "zanefile.txt");
        assert_eq!(data[0]["match_type"], "file");
        ensure!(
            data.iter()
                .any(|file| file["path"] == "src/amazed_analysis.rs")
        );
        assert_eq!(found["files"], found["data"]);
        let mut fresh = Page::open(&server).await?;
        let found = fresh.ask("fuzzyFileSearch", query).await?;
        assert_eq!(found["data"], json!([]), "no thread, no directory");
        Ok(())
    });
}

/// Section 6.6: other names and shapes than the page reads.
#[test]
fn defect_6_names_statuses_and_usage_are_where_the_page_reads_them() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (_server, mut page, thread) = opened(&scratch).await?;
        page.post(
            "thread/name/set",
            json!({ "threadId": thread, "name": "Mine" }),
        )
        .await?;
        let named = page.until("thread/name/updated").await?;
        assert_eq!(named["params"]["name"], "Mine");
        assert_eq!(named["params"]["threadName"], "Mine");
        page.say(&thread, "show me an approval").await?;
        let status = page.until("thread/status/changed").await?;
        assert_eq!(status["params"]["status"], "Active");
        let usage = page.until("thread/tokenUsage/updated").await?;
        ensure!(usage["params"]["inputTokens"].is_u64(), "{usage}");
        ensure!(usage["params"]["tokenUsage"]["total"]["inputTokens"].is_u64());
        Ok(())
    });
}

/// Section 6.7: a message that never ends stays "streaming", and later ones are drawn above it.
#[test]
fn defect_7_an_interrupted_message_is_completed_before_its_turn() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (_server, mut page, thread) = opened(&scratch).await?;
        let turn = page.say(&thread, "slow 2000").await?;
        page.until("item/agentMessage/delta").await?;
        page.ask(
            "turn/interrupt",
            json!({ "threadId": thread, "turnId": turn }),
        )
        .await?;
        assert_eq!(page.rest().await?, "Interrupted");
        assert_eq!(page.completed("agentMessage").len(), 1);
        Ok(())
    });
}

/// Section 6.8: the original listens on every address and asks nobody who they are.
#[test]
fn defect_8_nobody_is_reached_from_elsewhere_without_a_token() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let open = testkit::process::Launch::new(crate::DRAGOMAN, &scratch)
            .argument("--host=0.0.0.0")
            .argument("--listen=zane=0");
        let refused = testkit::Process::start(&open).await;
        ensure!(refused.is_err(), "it started");
        let launch =
            testkit::process::Launch::new(crate::DRAGOMAN, &scratch).argument("--listen=zane=0");
        let server = testkit::Process::start(&launch).await?;
        let url = &server.listeners().first().context("a listener")?.url;
        ensure!(url.contains("127.0.0.1"), "{url}");
        Ok(())
    });
}

/// S5: the client of the first versions shows the reason and nothing else, so the command stands in it.
#[test]
fn s5_the_reason_of_an_approval_begins_with_the_exact_command() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = start(&scratch).await?;
        let mut page = Page::open(&server).await?;
        let cwd = scratch.workspace().display().to_string();
        let untrusted = json!({ "cwd": cwd, "approvalPolicy": "untrusted" });
        let started = page.ask("thread/start", untrusted).await?;
        let thread = started["thread"]["id"]
            .as_str()
            .context("an id")?
            .to_owned();
        let command = "echo hello # a note\nrm -f zanefile.txt";
        let call = json!({ "command": command });
        page.say(&thread, &format!("tool bash {call}")).await?;
        let request = page.until("item/commandExecution/requestApproval").await?;
        let reason = request["params"]["reason"].as_str().context("a reason")?;
        let why = reason
            .strip_prefix(command)
            .context("the command, letter by letter")?;
        ensure!(why.starts_with("\n\n") && why.trim().len() > 10, "{reason}");
        assert_eq!(request["params"]["command"], command);
        page.answer(&request, json!({ "decision": "decline" }))
            .await?;
        page.rest().await?;
        Ok(())
    });
}

#[test]
fn limits_that_nobody_told_us_are_an_empty_shape_and_no_error() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (_server, mut page, _thread) = opened(&scratch).await?;
        let limits = page.ask("account/rateLimits/read", json!({})).await?;
        assert_eq!(limits["rateLimits"]["primary"], Value::Null);
        assert_eq!(limits["rateLimits"]["secondary"], Value::Null);
        let key = json!({ "idempotencyKey": "k" });
        let consumed = page
            .ask("account/rateLimitResetCredit/consume", key)
            .await?;
        assert_eq!(consumed["outcome"], "noCredit");
        Ok(())
    });
}
