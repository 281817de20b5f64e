//! Prompts of servers, as words that a person could have said.

use rmcp::model::{ClientRequest, GetPromptRequest, GetPromptRequestParams};
use serde_json::{Map, Value};
use vocabulary::{Refusal, Why};

use crate::connection::McpConnection;
use crate::limits::RESULT_CHARS_MAX;

impl McpConnection {
    /// A prompt with these arguments, in words.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
    ) -> Result<String, Refusal> {
        let arguments: Map<String, Value> = arguments
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let refused = |why: String| {
            let server = self.name();
            Refusal::new(
                Why::NotAvailable,
                format!("MCP server {server} does not give the prompt {name}: {why}"),
            )
        };
        let result = self.request(request).await.map_err(refused)?;
        let result = serde_json::to_value(result).unwrap_or_default();
        let words = words(&result);
        match words.chars().count() {
            0 => Err(refused("it has no text".to_owned())),
            1..=RESULT_CHARS_MAX => Ok(words),
            _ => Err(refused("it is too long".to_owned())),
        }
    }
}

fn words(result: &Value) -> String {
    let messages = result.get("messages").and_then(Value::as_array);
    let said = messages.into_iter().flatten().filter_map(|message| {
        let content = message.get("content")?;
        let text = content
            .get("text")
            .or_else(|| content.get("resource")?.get("text"))?;
        let text = text.as_str()?.trim();
        let is_model = message.get("role").and_then(Value::as_str) == Some("assistant");
        match (text, is_model) {
            ("", _) => None,
            (text, true) => Some(format!("(You answered:) {text}")),
            (text, false) => Some(text.to_owned()),
        }
    });
    said.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_is_told_in_the_order_of_its_messages() {
        let result = json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": " Look at this: "}},
            {"role": "user", "content": {"type": "resource", "resource": {"uri": "a:b", "text": "x"}}},
            {"role": "assistant", "content": {"type": "text", "text": "I see."}},
            {"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}},
        ]});
        assert_eq!(
            words(&result),
            "Look at this:\n\nx\n\n(You answered:) I see."
        );
        assert_eq!(words(&json!({"messages": 7})), "");
    }
}
