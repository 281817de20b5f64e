//! A checker that is a command: run behind the fence like any other, without the network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use vocabulary::{Subject, ToolOutput};

use super::{CheckEnd, CheckKind, CheckRule, CheckRun, Checker, Problem, problems};
use crate::change::FileBeforeFormat;
use crate::{Failure, Scope, SeenFiles, ToolCx, bash};

/// What shells answer where a program cannot be run, or is not there.
const EXIT_NO_PROGRAM: [i32; 2] = [126, 127];

/// Runs the command of a rule.
pub struct CommandChecker {
    rule: CheckRule,
}

impl CommandChecker {
    pub fn new(rule: CheckRule) -> CommandChecker {
        CommandChecker { rule }
    }

    fn end(&self, directory: &Path, output: &Result<ToolOutput, Failure>) -> CheckEnd {
        let output = match output {
            Ok(output) => output,
            Err(Failure::Cancelled(_)) => return CheckEnd::Cancelled,
            Err(Failure::Error(_)) => return CheckEnd::CouldNotRun,
        };
        let ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            duration_ms,
            ..
        } = output
        else {
            return CheckEnd::CouldNotRun;
        };
        let took_all = u128::from(*duration_ms) >= self.rule.timeout.as_millis();
        match *exit_code {
            0 => CheckEnd::Passed,
            bash::EXIT_TIMED_OUT if took_all => CheckEnd::TimedOut,
            code if EXIT_NO_PROGRAM.contains(&code) => CheckEnd::CouldNotRun,
            exit_code => CheckEnd::Failed {
                exit_code,
                problems: complaints(directory, stdout, stderr),
            },
        }
    }
}

/// Never empty: a check that fails without a word fails all the same.
fn complaints(directory: &Path, stdout: &str, stderr: &str) -> Vec<Problem> {
    let both = format!("{stdout}\n{stderr}");
    let mut problems = problems::read(directory, &both);
    if problems.is_empty() {
        problems.push(Problem {
            path: None,
            line: None,
            message: "it wrote nothing".to_owned(),
        });
    }
    problems
}

#[async_trait]
impl Checker for CommandChecker {
    fn rule(&self) -> &CheckRule {
        &self.rule
    }

    fn subject(&self, files: &[PathBuf]) -> Subject {
        Subject::Command {
            line: self.rule.line(files),
            directory: None,
        }
    }

    async fn check(&self, cx: &ToolCx, files: &[PathBuf]) -> CheckRun {
        let before = match self.rule.kind {
            CheckKind::Format => before(&cx.scope, &cx.seen, files).await,
            CheckKind::Check => Vec::new(),
        };
        let line = self.rule.line(files);
        let output = bash::run_within(cx, &line, self.rule.timeout).await;
        CheckRun {
            end: self.end(&cx.scope.directory, &output),
            output,
            formatted: after(&cx.scope, &cx.seen, before).await,
        }
    }
}

async fn before(scope: &Scope, seen: &Arc<SeenFiles>, files: &[PathBuf]) -> Vec<FileBeforeFormat> {
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|file| scope.directory.join(file))
        .collect();
    let seen = Arc::clone(seen);
    let take = move || {
        let taken = paths.iter().map(|path| FileBeforeFormat::take(&seen, path));
        taken.flatten().collect()
    };
    tokio::task::spawn_blocking(take).await.unwrap_or_default()
}

/// What a formatter changed is known to the conversation, as it is told of it.
async fn after(scope: &Scope, seen: &Arc<SeenFiles>, before: Vec<FileBeforeFormat>) -> Vec<String> {
    if before.is_empty() {
        return Vec::new();
    }
    let (scope, seen) = (scope.clone(), Arc::clone(seen));
    let compare = move || {
        let changed = before.iter().map(|file| file.compare(&scope, &seen));
        changed.flatten().collect()
    };
    tokio::task::spawn_blocking(compare)
        .await
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::edit::EditTool;
    use crate::scratch::{Scratch, Witness};
    use crate::write::WriteTool;
    use crate::{Tool, checks};

    fn checker(kind: &str, run: &str) -> CommandChecker {
        let text = format!("[[{kind}]]\nfiles = '*'\nrun = {run:?}\n");
        CommandChecker::new(checks::in_workspace(&text).unwrap().remove(0))
    }

    async fn end(scratch: &Scratch, checker: &CommandChecker) -> CheckEnd {
        let cx = scratch.cx(&Arc::default());
        checker.check(&cx, &[PathBuf::from("a.txt")]).await.end
    }

    #[tokio::test]
    async fn a_command_passes_fails_or_is_not_there() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a.txt"), "one\nFIXME two\n").unwrap();
        let grep = checker("check", "! grep -Hn FIXME {files}");
        let CheckEnd::Failed {
            exit_code: 1,
            problems,
        } = end(&scratch, &grep).await
        else {
            panic!("it passed")
        };
        assert_eq!(problems[0].to_string(), "a.txt:2: FIXME two");
        std::fs::write(scratch.path("a.txt"), "one\n").unwrap();
        assert_eq!(end(&scratch, &grep).await, CheckEnd::Passed);
        let missing = checker("check", "no-such-program-here");
        assert_eq!(end(&scratch, &missing).await, CheckEnd::CouldNotRun);
        let silent = checker("check", "exit 3");
        let CheckEnd::Failed { problems, .. } = end(&scratch, &silent).await else {
            panic!("it passed")
        };
        assert_eq!(problems[0].message, "it wrote nothing");
    }

    #[tokio::test]
    async fn a_command_is_stopped_in_time_and_when_it_is_cancelled() {
        let scratch = Scratch::new();
        let mut slow = checker("check", "echo on; sleep 60");
        slow.rule.timeout = Duration::from_millis(200);
        assert_eq!(end(&scratch, &slow).await, CheckEnd::TimedOut);

        slow.rule.timeout = Duration::from_secs(60);
        let host: Arc<Witness> = Arc::default();
        let cx = scratch.cx(&host);
        let cancel = cx.cancel.clone();
        let stop = async {
            host.wait_for(|heard| heard.contains("on")).await;
            cancel.cancel();
        };
        let (checked, ()) = tokio::join!(slow.check(&cx, &[]), stop);
        assert_eq!(checked.end, CheckEnd::Cancelled);
    }

    #[tokio::test]
    async fn what_a_formatter_changed_can_be_edited_at_once() {
        let scratch = Scratch::new();
        let cx = scratch.cx(&Arc::default());
        let content = "first=1\nsecond=2\n";
        let input = json!({"filePath": "a.txt", "content": content});
        WriteTool.run(&cx, input).await.unwrap();
        let format = checker("format", "sed -i 's/=/ = /' {files}");
        let files = [PathBuf::from("a.txt")];
        let checked = format.check(&cx, &files).await;
        assert_eq!(checked.end, CheckEnd::Passed);
        assert_eq!(
            checked.formatted,
            ["a.txt:1-2\n1\tfirst = 1\n2\tsecond = 2"]
        );
        let input =
            json!({"filePath": "a.txt", "oldString": "second = 2", "newString": "third = 3"});
        EditTool.run(&cx, input).await.unwrap();
        let input = json!({"filePath": "a.txt", "content": "all of it\n"});
        WriteTool.run(&cx, input).await.unwrap();
        let same = checker("format", "true").check(&cx, &files).await;
        assert_eq!(same.formatted, [""; 0]);
    }

    #[tokio::test]
    async fn what_others_changed_before_it_was_formatted_stays_unknown() {
        let scratch = Scratch::new();
        let cx = scratch.cx(&Arc::default());
        let input = json!({"filePath": "a.txt", "content": "a=1\n"});
        WriteTool.run(&cx, input).await.unwrap();
        std::fs::write(scratch.path("a.txt"), "somebody=2\n").unwrap();
        let format = checker("format", "sed -i 's/=/ = /' {files}");
        format.check(&cx, &[PathBuf::from("a.txt")]).await;
        let input = json!({"filePath": "a.txt", "content": "lost\n"});
        let refused = WriteTool.run(&cx, input).await;
        let Err(Failure::Error(why)) = refused else {
            panic!("it was overwritten")
        };
        assert!(why.contains("changed since you read it"), "{why}");
    }
}
