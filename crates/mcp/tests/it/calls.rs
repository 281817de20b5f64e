//! Calls of tools: what comes back, progress, cancelling, and what a person is asked first.

use serde_json::json;
use tools::{Failure, Judgement};
use vocabulary::{ContentBlock, McpLayer, Subject, ToolOutput};

use crate::workshop::{PATIENCE, Person, Workshop, error, names, script, text, tool};

#[tokio::test]
async fn a_tool_is_called_and_its_result_is_shown() {
    let workshop = Workshop::new();
    let offer = workshop.offer(&[script("one", &["--resources"])]).await;
    assert_eq!(offer.notes, [""; 0]);
    assert!(
        names(&offer).contains(&"mcp__one__echo"),
        "{:?}",
        names(&offer)
    );
    let said = workshop
        .call(&offer, "mcp__one__echo", json!({"text": "hello"}))
        .await;
    assert_eq!(text(said), "hello");

    let failed = workshop.call(&offer, "mcp__one__fail", json!({})).await;
    assert_eq!(error(failed), "it went wrong");
    let structured = workshop
        .call(&offer, "mcp__one__structured", json!({}))
        .await
        .unwrap();
    let sum = ContentBlock::Structured(json!({"sum": 3}));
    assert_eq!(structured, ToolOutput::Content(vec![sum]));
    let picture = workshop
        .call(&offer, "mcp__one__picture", json!({}))
        .await
        .unwrap();
    let ToolOutput::Content(blocks) = &picture else {
        panic!("{picture:?}");
    };
    assert!(
        matches!(&blocks[1], ContentBlock::Image { media_type, .. } if media_type == "image/png")
    );
    assert!(blocks[2].words().contains("cannot be shown"), "{blocks:?}");
    assert!(
        blocks[3].words().starts_with("[audio, audio/wav"),
        "{blocks:?}"
    );
    assert!(matches!(&blocks[4], ContentBlock::Resource { uri, .. } if uri == "test://a"));
    let not_an_object = workshop.call(&offer, "mcp__one__echo", json!("x")).await;
    assert!(error(not_an_object).contains("must be an object"));

    let input = json!({"server": "one"});
    let listed = workshop.call(&offer, "mcpListResources", input).await;
    assert_eq!(text(listed), "test://a A");
    let input = json!({"server": "one", "uri": "test://a"});
    let read = workshop.call(&offer, "mcpReadResource", input).await;
    assert_eq!(text(read), "content of a");
    let nobody = workshop
        .call(
            &offer,
            "mcpReadResource",
            json!({"server": "two", "uri": "x"}),
        )
        .await;
    assert!(error(nobody).ends_with("must be one of: one"));

    let prompts = workshop.servers.prompts(&workshop.place);
    assert_eq!((prompts.len(), prompts[0].name.as_str()), (1, "greet"));
    let arguments = vec![("who".to_owned(), "Ada".to_owned())];
    let said = workshop
        .servers
        .prompt(&workshop.place, &prompts[0], arguments)
        .await;
    assert_eq!(said.unwrap(), "Greet Ada!");
    workshop.servers.stop().await;
}

#[tokio::test]
async fn a_long_text_is_cut_and_kept_in_a_file() {
    let workshop = Workshop::new();
    let offer = workshop.offer(&[script("one", &[])]).await;
    let long = workshop
        .call(&offer, "mcp__one__huge", json!({"bytes": 300_000}))
        .await;
    let long = text(long);
    assert!(long.len() < 101_000, "{}", long.len());
    let path = long.split("all of it is in ").nth(1).unwrap();
    let path = path.split(", read on").next().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 300_000);
}

#[tokio::test]
async fn progress_is_told_and_a_call_can_be_cancelled() {
    let workshop = Workshop::new();
    let offer = workshop.offer(&[script("one", &[])]).await;
    let person = Person::new([]);
    let cx = workshop.cx(&person);
    let done = tool(&offer, "mcp__one__steps").run(&cx, json!({})).await;
    assert_eq!(text(done), "done");
    assert_eq!(
        person.told.lock().last().map(String::as_str),
        Some("working (3 of 3)")
    );

    let cancel = cx.cancel.clone();
    let stay = tool(&offer, "mcp__one__stay");
    let staying = tokio::spawn(async move { stay.run(&cx, json!({})).await });
    // Whoever is answered after it knows that the server has heard of it.
    workshop
        .call(&offer, "mcp__one__echo", json!({"text": ""}))
        .await
        .unwrap();
    cancel.cancel();
    let ended = tokio::time::timeout(PATIENCE, staying)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(ended, Err(Failure::Cancelled(_))), "{ended:?}");
    // The server hears of it before the next call.
    workshop
        .call(&offer, "mcp__one__echo", json!({"text": ""}))
        .await
        .unwrap();
    assert!(
        workshop
            .file("cancelled")
            .unwrap()
            .contains("the user cancelled")
    );
}

#[tokio::test]
async fn a_person_is_asked_unless_the_users_own_server_says_that_it_only_reads() {
    let workshop = Workshop::new();
    let mut workspace = script("two", &[]);
    workspace.layer = McpLayer::Workspace;
    let offer = workshop.offer(&[script("one", &[]), workspace]).await;
    let scope = workshop.cx(&Person::new([])).scope;
    let judged = |name: &str| tool(&offer, name).judge(&scope, &json!({"text": "hi"}));
    assert_eq!(judged("mcp__one__echo"), Judgement::Allow);
    let Judgement::Ask {
        command, dangerous, ..
    } = judged("mcp__two__echo")
    else {
        panic!("not asked");
    };
    assert_eq!(
        (command.as_str(), dangerous),
        (r#"mcp two.echo {"text":"hi"}"#, false)
    );
    let Judgement::Ask { dangerous, .. } = judged("mcp__one__crash") else {
        panic!("not asked");
    };
    assert!(dangerous);
    let echo = tool(&offer, "mcp__two__echo");
    assert_eq!(echo.grant_key(&json!({"text": "x"})), "mcp two.echo");
    let (server, tool) = ("two".to_owned(), "echo".to_owned());
    assert_eq!(echo.subject(&json!({})), Subject::Mcp { server, tool });
    assert!(echo.effects().runs);
}
