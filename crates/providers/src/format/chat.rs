//! OpenAI's Chat Completions: how a request is written, so that compatible servers take it too.

mod calls;
mod decode;
mod details;
mod messages;
mod stop;
mod think_tags;
mod usage;

use serde_json::{Value, json};

use super::{EffortStyle, Outgoing, RequestTarget, Wire, family};
use crate::{ModelRequest, ToolSpec};

pub(super) use decode::ChatDecoder;

pub(super) fn encode(request: &ModelRequest, target: &RequestTarget) -> Outgoing {
    let mut body = json!({
        "model": request.model,
        "messages": messages::messages(request, target),
        "stream": true,
    });
    if target.quirks.stream_options != Some(false) {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        if request.no_calls {
            body["tool_choice"] = json!("none");
        }
    }
    if let Some(tokens) = request.max_output_tokens {
        body[limit_field(&request.model)] = json!(tokens);
    }
    if let Some(effort) = &request.effort {
        let style = target.quirks.effort.unwrap_or(EffortStyle::ReasoningEffort);
        spell_effort(&mut body, style, effort);
    }
    // A router that is told so marks the prefix for the one maker who charges for marks.
    if target.quirks.cache_control == Some(true) && request.model.contains("claude") {
        body["cache_control"] = json!({ "type": "ephemeral" });
    }
    if let Some(verbosity) = family::openai_verbosity(request, None) {
        body["verbosity"] = json!(verbosity);
    }
    Outgoing {
        path: "chat/completions".to_owned(),
        headers: Wire::Chat.headers(),
        body,
    }
}

fn spell_effort(body: &mut Value, style: EffortStyle, effort: &str) {
    let thinks = !matches!(effort, "none" | "off");
    let switch = || json!({ "type": if thinks { "enabled" } else { "disabled" } });
    match style {
        EffortStyle::None => {}
        EffortStyle::ReasoningEffort => body["reasoning_effort"] = json!(effort),
        EffortStyle::Reasoning => body["reasoning"] = json!({ "effort": effort }),
        EffortStyle::ReasoningEnabled => body["reasoning"] = json!({ "enabled": thinks }),
        EffortStyle::Thinking => body["thinking"] = switch(),
        EffortStyle::ThinkingEffort => {
            body["thinking"] = switch();
            if thinks {
                body["reasoning_effort"] = json!(effort);
            }
        }
        EffortStyle::EnableThinking => body["enable_thinking"] = json!(thinks),
    }
}

/// Every compatible server knows `max_tokens` and not all know the newer name; OpenAI's thinking
/// models refuse the old one.
fn limit_field(model: &str) -> &'static str {
    match family::openai_reasons(model) {
        true => "max_completion_tokens",
        false => "max_tokens",
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    })
}
