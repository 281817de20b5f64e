//! The peers themselves: they answer as the live tests suppose, and the judge does judge.

use serde_json::{Value, json};
use testkit::http;
use testkit::peer::{Aimock, Llama, LlamaBuild, Llmock, SentBody, check_against_sdks};

fn chat(text: &str) -> Value {
    json!({ "model": "any", "messages": [{ "role": "user", "content": text }] })
}

#[tokio::test]
async fn the_scripted_model_keeps_to_its_script_also_after_a_kill() -> anyhow::Result<()> {
    let fixtures = json!([
        { "match": { "userMessage": "count" }, "response": { "content": "Three." } },
    ]);
    let mut aimock = Aimock::start(&fixtures).await?;
    let path = "/v1/chat/completions";
    let answer = http::json("POST", aimock.port(), path, Some(&chat("count them"))).await?;
    assert_eq!(answer["choices"][0]["message"]["content"], "Three.");
    let more = json!([{ "match": { "userMessage": "sing" }, "response": { "content": "La." } }]);
    aimock.add(&more).await?;
    let answer = http::json("POST", aimock.port(), path, Some(&chat("sing"))).await?;
    assert_eq!(answer["choices"][0]["message"]["content"], "La.");
    let refused = http::json("POST", aimock.port(), path, Some(&chat("dance"))).await;
    let refused = refused.expect_err("nothing matches");
    assert!(refused.to_string().contains("404"), "{refused:#}");
    assert_eq!(aimock.requests().await?.len(), 3);

    let place = aimock.url();
    aimock.kill9().await?;
    let gone = http::json("POST", aimock.port(), path, Some(&chat("count"))).await;
    gone.expect_err("nobody is there");
    aimock.revive().await?;
    assert_eq!(aimock.url(), place);
    let answer = http::json("POST", aimock.port(), path, Some(&chat("count"))).await?;
    assert_eq!(answer["choices"][0]["message"]["content"], "Three.");
    Ok(())
}

#[tokio::test]
async fn the_judge_finds_a_client_that_does_not_wait() -> anyhow::Result<()> {
    let judge = Llmock::start().await?;
    let (port, path) = (judge.port(), "/v1/chat/completions");
    let behaviors = json!([{ "type": "fail", "status": 429, "retry_after": 5 }]);
    judge.queue(&behaviors).await?;
    assert_eq!(judge.pending().await?, 1);
    let first = http::json("POST", port, path, Some(&chat("hello"))).await;
    assert!(first.expect_err("a 429").to_string().contains("429"));
    http::json("POST", port, path, Some(&chat("hello"))).await?;
    let verdict = judge.verdict().await?;
    assert!(!verdict.passed);
    assert_eq!((verdict.calls, verdict.attempts), (1, 2));
    assert_eq!(verdict.findings[0].code, "retry_after_ignored");
    judge.reset().await?;
    http::json("POST", port, path, Some(&chat("hello"))).await?;
    let verdict = judge.verdict().await?;
    assert!(verdict.passed && verdict.findings.is_empty(), "{verdict:?}");
    Ok(())
}

#[tokio::test]
async fn the_small_model_says_something_on_both_builds() -> anyhow::Result<()> {
    for build in [LlamaBuild::Current, LlamaBuild::Older] {
        let llama = Llama::start(build).await?;
        let (port, path) = (llama.port(), "/v1/chat/completions");
        let models = http::json("GET", port, "/v1/models", None).await?;
        assert_eq!(models["data"][0]["id"], llama.model());
        let mut request = chat("Say hello.");
        request["max_tokens"] = json!(8);
        let answer = http::json("POST", port, path, Some(&request)).await?;
        let said = answer["choices"][0]["message"]["content"].as_str();
        assert!(said.is_some_and(|said| !said.is_empty()), "{answer}");
        request["tools"] = json!([{ "type": "function", "function": {
            "name": "write",
            "parameters": { "type": "object", "properties": {
                "content": { "type": "string", "maxLength": 3_000 },
            } },
        } }]);
        let outcome = http::json("POST", port, path, Some(&request)).await;
        assert_eq!(outcome.is_ok(), build == LlamaBuild::Current, "{outcome:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_types_of_the_sdks_know_their_own_fields_and_no_others() -> anyhow::Result<()> {
    let message = json!({ "role": "user", "content": "hello" });
    let contents = json!([{ "role": "user", "parts": [{ "text": "hello" }] }]);
    let chat = json!({ "model": "any", "stream": true, "messages": [message] });
    let mut bodies = vec![
        (
            "openai",
            json!({ "model": "any", "stream": true, "input": [message] }),
        ),
        ("google", json!({ "contents": contents })),
    ];
    let mut limited = chat.clone();
    limited["max_tokens"] = json!(5);
    bodies.push(("anthropic", limited));
    bodies.extend(
        ["mistral", "openrouter", "deepseek", "moonshot", "llamacpp"].map(|id| (id, chat.clone())),
    );
    let sent = |(service, body): (&'static str, Value)| SentBody { service, body };
    let good: Vec<_> = bodies.iter().cloned().map(sent).collect();
    check_against_sdks(&good).await?;

    // A field too many, at the top or deep inside.
    for (at, (service, body)) in bodies.iter_mut().enumerate() {
        let deep = ["/input/0", "/messages/0", "/contents/0/parts/0"];
        let deep = deep.into_iter().find(|place| body.pointer(place).is_some());
        let place = if at % 2 == 0 { deep } else { Some("") };
        let place = place.and_then(|place| body.pointer_mut(place));
        place.unwrap_or_else(|| panic!("{service}"))["surprise"] = json!(1);
    }
    let bad: Vec<_> = bodies.iter().cloned().map(sent).collect();
    let told = check_against_sdks(&bad).await.expect_err("all are wrong");
    let told = told.to_string();
    for (service, _) in &bodies {
        let found = told
            .lines()
            .any(|line| line.starts_with(service) && line.contains("surprise"));
        assert!(found, "{service} takes a surprise:\n{told}");
    }
    Ok(())
}
