//! What a model is shown of what a user said and of what came of a call.

use std::sync::Arc;

use providers::{ResultBlock, UserMessage};
use vocabulary::{ContentBlock, Image, ToolOutcome, ToolOutput, UploadedFile, UserInput};

use crate::limits::CONTEXT_RESULT_BYTES_MAX;

/// What the user said, as the model reads it.
pub fn user_message(input: UserInput, sees: bool) -> UserMessage {
    let mut said = UserMessage {
        text: input.text,
        ..UserMessage::default()
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

/// What the model is told of a file that a client gave it.
pub fn uploaded(file: &UploadedFile) -> String {
    let path = file.path.to_string_lossy();
    format!(
        "[From the server: the user uploaded a file, {} ({} bytes). Read it where it matters for what \
         they say.]",
        tools::shown::line(&path),
        file.bytes
    )
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
            let mut shown: Vec<_> = blocks
                .iter()
                .map(|block| shown_block(block, sees))
                .collect();
            shorten_together(&mut shown);
            return shown;
        }
        ToolOutput::Text(_) | ToolOutput::Files { .. } | ToolOutput::Json(_) => {
            output.words().into_owned()
        }
    };
    vec![text_block(text)]
}

/// Several texts are no longer than one may be: each gets what those before it left.
fn shorten_together(blocks: &mut [ResultBlock]) {
    let mut room = CONTEXT_RESULT_BYTES_MAX;
    for block in blocks {
        if let ResultBlock::Text(text) = block {
            *text = shortened(std::mem::take(text), room);
            room = room.saturating_sub(text.len());
        }
    }
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
        ContentBlock::Document {
            name,
            media_type,
            base64,
            text,
        } => ResultBlock::Document(providers::DocumentFile {
            name: name.clone(),
            media_type: media_type.clone(),
            base64: Arc::clone(base64),
            text: text.clone(),
        }),
        ContentBlock::Resource { uri, .. } => text_block(format!("{uri}:\n{}", block.words())),
        ContentBlock::Text(_) | ContentBlock::Structured(_) => {
            text_block(block.words().into_owned())
        }
    }
}

fn text_block(text: String) -> ResultBlock {
    ResultBlock::Text(shortened(text, CONTEXT_RESULT_BYTES_MAX))
}

/// A long text is shown from its beginning and to its end, in whole lines.
fn shortened(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    // A line that is longer than that is cut all the same.
    let head = text[..head].rfind('\n').map_or(head, |end| end + 1);
    let tail = text[tail..].find('\n').map_or(tail, |end| tail + end + 1);
    let left_out = tail - head;
    let (head, tail) = (text[..head].trim_end_matches('\n'), &text[tail..]);
    format!("{head}\n[… {left_out} bytes are left out here; ask for a part of it …]\n{tail}")
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

    #[test]
    fn a_long_result_is_shown_from_its_beginning_and_to_its_end_in_whole_lines() {
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n}")).collect();
        let text = lines.join("\n");
        let shown = shortened(text.clone(), CONTEXT_RESULT_BYTES_MAX);
        assert!(shown.len() <= CONTEXT_RESULT_BYTES_MAX + 100);
        let (head, tail) = shown.split_once("\n[… ").expect("a note");
        let (note, tail) = tail.split_once("…]\n").expect("a note");
        assert!(text.starts_with(&format!("{head}\n")) && text.ends_with(&format!("\n{tail}")));
        let left_out: usize = note
            .split(' ')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("n");
        assert_eq!(head.len() + 1 + left_out + tail.len(), text.len());
        let one_line = shortened("é".repeat(100), 21);
        assert!(
            one_line.starts_with("éé") && one_line.ends_with("éé"),
            "{one_line}"
        );
    }

    #[test]
    fn the_texts_of_one_result_share_its_limit() {
        let half = ContentBlock::Text("a\n".repeat(CONTEXT_RESULT_BYTES_MAX / 3));
        let output = ToolOutput::Content(vec![half.clone(), half.clone(), half]);
        let shown = shown_output(&output, true);
        let bytes = |block: &ResultBlock| match block {
            ResultBlock::Text(text) => text.len(),
            ResultBlock::Image(_) | ResultBlock::Document(_) => 0,
        };
        let bytes: Vec<usize> = shown.iter().map(bytes).collect();
        assert!(
            bytes.iter().sum::<usize>() < CONTEXT_RESULT_BYTES_MAX + 200,
            "{bytes:?}"
        );
    }
}
