//! Claude behind a scripted service that refuses what the real one refuses: thinking in a way that a
//! model lacks, limits beyond its own, too many cache marks, thoughts behind other words than theirs.

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::Home;
use super::server::{Asked, Server};
use crate::{Block, Message, ModelRequest, Part, Provider, ProviderError};

/// What the service knows of its models.
struct Rules {
    model: &'static str,
    output: u64,
    thinking: &'static [&'static str],
    efforts: &'static [&'static str],
    /// A thought is taken only behind what it was thought behind.
    bound: bool,
}

const RULES: [Rules; 5] = [
    Rules {
        model: "claude-opus-5-5",
        output: 128_000,
        thinking: &["adaptive"],
        efforts: &["low", "medium", "high", "xhigh", "max"],
        bound: true,
    },
    Rules {
        model: "claude-haiku-5-5",
        output: 128_000,
        thinking: &["adaptive", "disabled"],
        efforts: &["low", "medium", "high", "xhigh", "max"],
        bound: false,
    },
    Rules {
        model: "claude-sonnet-5",
        output: 128_000,
        thinking: &["adaptive", "disabled", "enabled"],
        efforts: &["low", "medium", "high", "xhigh", "max"],
        bound: false,
    },
    Rules {
        model: "claude-sonnet-4-6",
        output: 128_000,
        thinking: &["adaptive", "disabled", "enabled"],
        efforts: &["low", "medium", "high", "max"],
        bound: false,
    },
    Rules {
        model: "claude-haiku-4-5",
        output: 64_000,
        thinking: &["enabled", "disabled"],
        efforts: &[],
        bound: false,
    },
];

const CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// Why the request is refused.
fn fault(asked: &Asked, body: &Value) -> Result<(), String> {
    let model = body["model"].as_str().unwrap_or_default();
    let rules = RULES.iter().find(|rules| rules.model == model);
    let rules = rules.ok_or("there is no such model")?;
    let limit = body["max_tokens"].as_u64().ok_or("max_tokens is missing")?;
    if limit > rules.output {
        return Err(format!("max_tokens: {limit} > {}", rules.output));
    }
    let thinking = &body["thinking"];
    let kind = thinking["type"].as_str();
    if kind.is_some_and(|kind| !rules.thinking.contains(&kind)) {
        return Err(format!("thinking.type {kind:?} is not supported"));
    }
    let budget = thinking["budget_tokens"].as_u64();
    if budget.is_some_and(|budget| budget < 1_024 || budget >= limit) {
        return Err(format!("budget_tokens {budget:?} of {limit}"));
    }
    let effort = body["output_config"]["effort"].as_str();
    if effort.is_some_and(|effort| !rules.efforts.contains(&effort)) {
        return Err(format!("effort {effort:?} is not supported"));
    }
    if body.to_string().matches("\"cache_control\"").count() > 4 {
        return Err("more than four blocks with cache_control".to_owned());
    }
    let betas = asked.header("anthropic-beta").unwrap_or_default();
    let binding = &thinking["block_binding"];
    if !binding.is_null() && (!betas.contains(CONTROLS) || kind != Some("adaptive")) {
        return Err("block_binding: extra inputs are not permitted".to_owned());
    }
    let drops = binding["prefix_mismatch_behavior"] == "drop_block";
    let signed = body["messages"].to_string().contains("\"signature\"");
    let fits = body["messages"].to_string().contains(&signature(body));
    if rules.bound && signed && !fits && !drops {
        return Err("The block is bound to a different conversation".to_owned());
    }
    Ok(())
}

fn signature(body: &Value) -> String {
    format!(
        "behind {}",
        body["system"][0]["text"].as_str().unwrap_or("")
    )
}

fn reply(asked: &Asked) -> (u16, String) {
    let body = asked.json();
    if let Err(words) = fault(asked, &body) {
        let error = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": words } });
        return (400, error.to_string());
    }
    let answer = json!({ "type": "message", "stop_reason": "end_turn", "content": [
        { "type": "thinking", "thinking": "Hm.", "signature": signature(&body) },
        { "type": "text", "text": "Yes." },
    ] });
    (200, format!("data: {answer}\n\n"))
}

fn home(server: &Server) -> Home {
    let home = Home::new()
        .set("ANTHROPIC_BASE_URL", &server.url)
        .set("ANTHROPIC_API_KEY", "key-a");
    let models = RULES.iter().map(|rules| {
        let (model, output, efforts) = (rules.model, rules.output, rules.efforts);
        let off = rules.thinking.contains(&"disabled").then_some(&"none");
        let budgets: &[&str] = match efforts {
            [] => &["low", "medium", "high"],
            _ => &[],
        };
        let efforts: Vec<_> = off.into_iter().chain(efforts).chain(budgets).collect();
        format!(
            "[[provider.model]]\nid = {model:?}\noutput = {output}\nefforts = {efforts:?}\n\
             default_effort = \"medium\"\n"
        )
    });
    let models: String = models.collect();
    home.write(
        "config/catalog.toml",
        &format!("[[provider]]\nid = \"anthropic\"\n{models}"),
    );
    home
}

async fn ask(provider: &dyn Provider, request: ModelRequest) -> Result<Vec<Block>, ProviderError> {
    let mut parts = provider.stream(request).await?;
    let mut blocks = Vec::new();
    while let Some(part) = parts.next().await {
        match part? {
            Part::ReasoningEnd { native, .. } => blocks.push(Block::Reasoning {
                text: "Hm.".to_owned(),
                native,
            }),
            Part::TextEnd { native, .. } => blocks.push(Block::Text {
                text: "Yes.".to_owned(),
                native,
            }),
            _ => {}
        }
    }
    Ok(blocks)
}

#[tokio::test]
async fn every_model_takes_every_effort_that_a_person_may_wish() {
    let server = Server::start(reply).await;
    let home = home(&server);
    let models = home.open();
    let provider = models.provider("anthropic").expect("the provider");
    let wishes = [
        None,
        Some("none"),
        Some("minimal"),
        Some("low"),
        Some("medium"),
        Some("high"),
        Some("xhigh"),
        Some("max"),
    ];
    for rules in RULES {
        for wish in wishes {
            let request = ModelRequest {
                model: rules.model.to_owned(),
                messages: vec![Message::user("hi").into()],
                effort: wish.map(str::to_owned),
                ..ModelRequest::default()
            };
            let answer = ask(provider.as_ref(), request).await;
            let model = rules.model;
            assert!(answer.is_ok(), "{model}, {wish:?}: {answer:?}");
        }
    }
    for asked in server.asked("/v1/messages") {
        let body = asked.json();
        let rules = RULES.iter().find(|rules| body["model"] == rules.model);
        // All that the model can write, whatever was wished.
        assert_eq!(body["max_tokens"], rules.expect("a model").output);
    }
}

/// A new release brings another system prompt; an old thread goes on.
#[tokio::test]
async fn a_thread_outlives_another_system_prompt() {
    let server = Server::start(reply).await;
    let home = home(&server);
    let models = home.open();
    let provider = models.provider("anthropic").expect("the provider");
    for rules in RULES {
        let mut request = ModelRequest {
            model: rules.model.to_owned(),
            system: "Be brief.".to_owned(),
            messages: vec![Message::user("hi").into()],
            ..ModelRequest::default()
        };
        let said = ask(provider.as_ref(), request.clone()).await;
        let said = said.expect("a first answer");
        request.messages.push(Message::Assistant(said).into());
        request.messages.push(Message::user("and?").into());
        for system in ["Be brief.", "Be very brief."] {
            request.system = system.to_owned();
            let answer = ask(provider.as_ref(), request.clone()).await;
            let model = rules.model;
            assert!(answer.is_ok(), "{model}, {system:?}: {answer:?}");
        }
    }
    let asked = server.asked("/v1/messages");
    let replayed = asked.iter().filter(|asked| asked.body.contains("behind"));
    assert_eq!(replayed.count(), 2 * RULES.len(), "thoughts went back");
}
