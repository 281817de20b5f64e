//! What a model is shown of what a user said and of what came of a call.

use std::sync::Arc;

use providers::{ResultBlock, UserMessage};
use vocabulary::{ContentBlock, Image, ToolOutcome, ToolOutput, UserInput};

use crate::limits::CONTEXT_RESULT_BYTES_MAX;

/// What the user said, as the model reads it.
pub fn user_message(input: UserInput, sees: bool) -> UserMessage {
    let mut said = UserMessage {
        text: input.text,
        images: Vec::new(),
    };
    match sees {
        true => said.images = input.images.into_iter().filter_map(image).collect(),
        false if input.images.is_empty() => {}
        false => {
            let note = "[a picture came with this message; this model cannot see pictures]";
            said.text = format!("{}\n\n{note}", said.text);
        }
    }
    said
}

fn image(image: Image) -> Option<providers::MessageImage> {
    match image {
        Image::Data { media_type, base64 } => {
            Some(providers::MessageImage::Data { media_type, base64 })
        }
        Image::Url(url) => Some(providers::MessageImage::Url(url)),
        // Read before it is accepted; a log has none.
        Image::Path(_) => None,
    }
}

pub fn is_error(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Succeeded(_) | ToolOutcome::Denied(_) => false,
        ToolOutcome::Failed { .. } | ToolOutcome::Interrupted(_) | ToolOutcome::NotRun { .. } => {
            true
        }
    }
}

/// What the model is shown of a result.
pub fn shown_to_model(outcome: &ToolOutcome, sees: bool) -> Vec<ResultBlock> {
    match outcome {
        ToolOutcome::Succeeded(output)
        | ToolOutcome::Denied(output)
        | ToolOutcome::Interrupted(output) => shown_output(output, sees),
        ToolOutcome::Failed { error } => vec![text_block(error.clone())],
        ToolOutcome::NotRun { why } => vec![text_block(why.clone())],
    }
}

fn shown_output(output: &ToolOutput, sees: bool) -> Vec<ResultBlock> {
    let text = match output {
        ToolOutput::Command {
            model_text: Some(text),
            ..
        } => text.clone(),
        // Of an older log.
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            duration_ms: _,
            model_text: None,
        } => serde_json::json!({ "stdout": stdout, "stderr": stderr, "exitCode": exit_code })
            .to_string(),
        ToolOutput::Content(blocks) => {
            return blocks
                .iter()
                .map(|block| shown_block(block, sees))
                .collect();
        }
        ToolOutput::Text(_) | ToolOutput::Files { .. } | ToolOutput::Json(_) => {
            output.words().into_owned()
        }
    };
    vec![text_block(text)]
}

fn shown_block(block: &ContentBlock, sees: bool) -> ResultBlock {
    match block {
        ContentBlock::Image { media_type, base64 } if sees => {
            ResultBlock::Image(providers::MessageImage::Data {
                media_type: media_type.clone(),
                base64: Arc::clone(base64),
            })
        }
        ContentBlock::Image { .. } => {
            ResultBlock::Text("[a picture; this model cannot see pictures]".to_owned())
        }
        ContentBlock::Resource { uri, .. } => text_block(format!("{uri}:\n{}", block.words())),
        ContentBlock::Text(_) | ContentBlock::Structured(_) => {
            text_block(block.words().into_owned())
        }
    }
}

fn text_block(mut text: String) -> ResultBlock {
    if text.len() > CONTEXT_RESULT_BYTES_MAX {
        let end = text.floor_char_boundary(CONTEXT_RESULT_BYTES_MAX);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{left_out} more bytes are left out here]"));
    }
    ResultBlock::Text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_an_older_log_is_read_as_it_was() {
        let older = serde_json::json!({
            "command": {"stdout": "a\n", "stderr": "", "exit_code": 3, "duration_ms": 5}
        });
        let older: ToolOutput = serde_json::from_value(older).expect("an output");
        let [ResultBlock::Text(shown)] = &shown_output(&older, true)[..] else {
            panic!("not one text")
        };
        let shown: serde_json::Value = serde_json::from_str(shown).expect("JSON");
        let expected = serde_json::json!({"stdout": "a\n", "stderr": "", "exitCode": 3});
        assert_eq!(shown, expected);
    }
}
