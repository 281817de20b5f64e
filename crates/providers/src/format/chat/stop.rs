//! `finish_reason`: which ends are good, and what the others mean.

use serde_json::Value;

use crate::format::failure;
use crate::{ErrorKind, ProviderError, StopCause};

/// How the answer ended, or why it did not. `choice` is where the reason stands.
pub(super) fn cause(reason: &str, choice: &Value) -> Result<StopCause, ProviderError> {
    let trouble = |kind, what: &str| {
        let message = format!("{what} ({})", failure::clean(reason));
        Err(ProviderError::new(kind, message))
    };
    match reason {
        "length" | "max_tokens" => Ok(StopCause::Length),
        "tool_calls" | "function_call" => Ok(StopCause::ToolUse),
        "content_filter" | "sensitive" => Err(failure::refused("its answer was filtered")),
        // Mistral and Z.ai: the answer ran into the end of what the model can hold.
        "model_length" | "model_context_window_exceeded" => trouble(
            ErrorKind::ContextTooLong,
            "the conversation and its answer are longer than the model can hold",
        ),
        // DeepSeek, Z.ai, and servers that were stopped.
        "insufficient_system_resource" | "network_error" | "abort" => {
            trouble(ErrorKind::Overloaded, "the service gave up on its answer")
        }
        "error" if choice["error"].is_object() => Err(failure::told(choice)),
        "error" => Err(unexplained(choice)),
        _ => Ok(StopCause::Stop),
    }
}

/// Mostly a slip of the model, such as a call that its service could not read: it is asked again.
fn unexplained(choice: &Value) -> ProviderError {
    let reason = choice["native_finish_reason"].as_str().unwrap_or("error");
    let message = format!(
        "the service ended the answer with an error it does not explain ({})",
        failure::clean(reason)
    );
    ProviderError::new(ErrorKind::Malformed, message)
}
