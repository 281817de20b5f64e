//! Commands of a client's own: a program and its arguments, run behind the fence to its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use vocabulary::{ExecOutput, OutputStream, PlanStep, Question, ToolOutput};

use crate::bash::run_within;
use crate::{Failure, Host, QuestionAnswer, SpawnRequest, ToolCx};

/// What a command wrote, as far as it is kept.
#[derive(Default)]
pub struct ExecStreams {
    kept: Mutex<(String, String)>,
    bytes_max: usize,
}

impl ExecStreams {
    /// Keeps so many bytes of each stream.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            kept: Mutex::default(),
            bytes_max,
        })
    }

    fn push(&self, stream: OutputStream, text: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match stream {
            OutputStream::Stdout => &mut kept.0,
            OutputStream::Stderr => &mut kept.1,
        };
        let room = self.bytes_max.saturating_sub(kept.len());
        kept.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn take(&self) -> (String, String) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *kept)
    }
}

#[async_trait]
impl Host for ExecStreams {
    async fn output(&self, stream: OutputStream, text: String) {
        self.push(stream, &text);
    }

    async fn ask(&self, _questions: Vec<Question>) -> Option<Vec<QuestionAnswer>> {
        None
    }

    async fn set_plan(&self, _steps: Vec<PlanStep>) {}

    async fn spawn(&self, _request: SpawnRequest) -> Result<String, Failure> {
        Err(Failure::Error("a command has no sub-agents".to_owned()))
    }
}

/// Runs it. `cx.host` is the streams; dropping this ends the command.
pub async fn run(
    cx: &ToolCx,
    streams: &ExecStreams,
    words: &[String],
    environment: &[(String, Option<String>)],
    time_max: Duration,
) -> Result<ExecOutput, String> {
    let line = line_of(words, environment);
    let ended = run_within(cx, &line, time_max).await;
    let output = match ended {
        Ok(output) | Err(Failure::Cancelled(output)) => output,
        Err(Failure::Error(error)) => return Err(error),
    };
    let exit_code = match output {
        ToolOutput::Command { exit_code, .. } => exit_code,
        ToolOutput::Text(_)
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_)
        | ToolOutput::Content(_) => return Err("the command's end was lost".to_owned()),
    };
    let (stdout, stderr) = streams.take();
    Ok(ExecOutput {
        exit_code,
        stdout,
        stderr,
    })
}

/// Whether a variable can have this name.
pub fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let begins = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    bytes.next().is_some_and(begins) && bytes.all(|byte| begins(byte) || byte.is_ascii_digit())
}

/// The line by which a shell becomes the command: nothing in its words is read by the shell.
fn line_of(words: &[String], environment: &[(String, Option<String>)]) -> String {
    let mut line = vec!["exec".to_owned()];
    if !environment.is_empty() {
        line.push("env".to_owned());
        // Options come first.
        for (name, _) in environment.iter().filter(|(_, value)| value.is_none()) {
            line.push(format!("-u {}", quoted(name)));
        }
        line.push("--".to_owned());
        for (name, value) in environment {
            if let Some(value) = value {
                line.push(quoted(&format!("{name}={value}")));
            }
        }
    }
    line.extend(words.iter().map(|word| quoted(word)));
    line.join(" ")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_command_is_read_by_the_shell() {
        let words = ["printf", "%s|", "a b", "$(x)", "it's", "; rm", ""].map(str::to_owned);
        let environment = [
            ("A".to_owned(), Some("1 2;'".to_owned())),
            ("HOME".to_owned(), None),
        ];
        let line = format!(
            "{{ {}; }}",
            line_of(&words, &environment).replace("exec ", "")
        );
        let ran = std::process::Command::new("bash")
            .args(["-c", &line])
            .output();
        let ran = ran.expect("bash");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "a b|$(x)|it's|; rm||");
        let shows = ["sh", "-c", "echo $A ${HOME-none}"].map(str::to_owned);
        let line = line_of(&shows, &environment);
        let ran = std::process::Command::new("bash")
            .args(["-c", &line])
            .output();
        assert_eq!(
            String::from_utf8_lossy(&ran.expect("bash").stdout),
            "1 2;' none\n"
        );
    }

    #[test]
    fn only_what_fits_of_a_stream_is_kept() {
        let streams = ExecStreams::new(5);
        streams.push(OutputStream::Stdout, "abc");
        streams.push(OutputStream::Stdout, "dé");
        streams.push(OutputStream::Stderr, "x");
        assert_eq!(streams.take(), ("abcd".to_owned(), "x".to_owned()));
    }

    #[test]
    fn a_variable_has_a_name_of_its_own_kind() {
        for name in ["A", "_x1", "GIT_DIR"] {
            assert!(is_variable(name), "{name}");
        }
        for name in ["", "1A", "A B", "-u", "A=B", "É"] {
            assert!(!is_variable(name), "{name}");
        }
    }
}
