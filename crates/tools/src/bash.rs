//! The tool `bash`: runs a command line in the workspace, shows its output as it comes, and leaves
//! nothing running when it is cancelled.

mod capture;
mod environment;

use std::os::unix::process::ExitStatusExt;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::input::Fields;
use crate::{Class, Failure, Host, Judgement, Output, Scope, Stream, Tool, ToolCx, risk};
use capture::Capture;

const COMMAND_CHARS_MAX: usize = 100_000;
const STDOUT_CHARS_MAX: usize = 30_000;
const STDERR_CHARS_MAX: usize = 10_000;
/// A command that runs longer is ended.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Between the polite signal and the one that cannot be refused.
const TERMINATE_GRACE: Duration = Duration::from_millis(500);
/// How long output is awaited after the shell has ended; a background process may hold it for ever.
const OUTPUT_GRACE: Duration = Duration::from_millis(300);
const READ_BYTES: usize = 16 * 1024;
const SIGTERM: i32 = 15;
/// What shells answer for a command that was interrupted, and `timeout` for one that took too long.
const EXIT_CANCELLED: i32 = 130;
const EXIT_TIMED_OUT: i32 = 124;

pub(crate) struct Bash {
    time_max: Duration,
}

impl Default for Bash {
    fn default() -> Bash {
        Bash { time_max: TIME_MAX }
    }
}

#[async_trait]
impl Tool for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn description(&self) -> &'static str {
        "Runs a bash command in the workspace.\n\
         Each call is a new shell: directories and variables do not carry over. There is no input \
         and no terminal. Commands end after ten minutes; long output is cut."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "maxLength": COMMAND_CHARS_MAX},
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    fn class(&self) -> Class {
        Class::Command
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        match parse(input) {
            Ok(command) => risk::judge_command(scope, command),
            Err(_) => Judgement::Allow,
        }
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<Output, Failure> {
        let command = parse(&input)?;
        let mut group = Group::spawn(&cx.scope, command)?;
        run(cx, &mut group, self.time_max).await
    }
}

fn parse(input: &Value) -> Result<&str, Failure> {
    let fields = Fields::of("bash", input)?;
    let command = fields.filled_text("command", COMMAND_CHARS_MAX)?;
    if command.contains('\0') {
        return Err(fields.refuse("command", "a text without NUL"));
    }
    Ok(command)
}

/// Why the wait for a command is over.
enum End {
    Exited(std::io::Result<ExitStatus>),
    Cancelled,
    TimedOut,
}

async fn run(cx: &ToolCx, group: &mut Group, time_max: Duration) -> Result<Output, Failure> {
    let begun = Instant::now();
    let mut stdout = Capture::new(STDOUT_CHARS_MAX);
    let mut stderr = Capture::new(STDERR_CHARS_MAX);
    let (out, err) = (group.child.stdout().take(), group.child.stderr().take());
    let host = cx.host.as_ref();
    let end = {
        let pumping = async {
            tokio::join!(
                pump(out, host, Stream::Stdout, &mut stdout),
                pump(err, host, Stream::Stderr, &mut stderr),
            );
        };
        let mut pumping = Pumping::new(Box::pin(pumping));
        let end = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => End::Cancelled,
            () = tokio::time::sleep(time_max) => End::TimedOut,
            status = group.follow(&mut pumping) => End::Exited(status),
        };
        if !matches!(end, End::Exited(_)) {
            group.stop(&mut pumping).await;
        }
        end
    };
    group.done = true;
    let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let output = |exit_code: i32, note: Option<String>| Output::Command {
        stdout: stdout.into_text(),
        stderr: with_note(stderr.into_text(), note),
        exit_code,
        duration_ms,
    };
    match end {
        End::Exited(Ok(status)) => Ok(output(exit_code(status), None)),
        End::Exited(Err(error)) => Err(Failure::Error(format!("bash: lost the command: {error}"))),
        End::Cancelled => {
            let note = Some("Command aborted.".to_owned());
            Err(Failure::Cancelled(output(EXIT_CANCELLED, note)))
        }
        End::TimedOut => {
            let note = format!(
                "Command stopped: it ran longer than {} seconds. Do less at once, or start it in \
                 the background with its output in a file.",
                time_max.as_secs_f32()
            );
            Ok(output(EXIT_TIMED_OUT, Some(note)))
        }
    }
}

fn with_note(mut text: String, note: Option<String>) -> String {
    if let Some(note) = note {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note);
    }
    text
}

/// A signal is told as shells do.
fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}

/// Reads one pipe to its end.
async fn pump(
    pipe: Option<impl AsyncRead + Unpin>,
    host: &dyn Host,
    stream: Stream,
    capture: &mut Capture,
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        let live = capture.push(&buffer[..length]);
        if !live.is_empty() {
            host.output(stream, live).await;
        }
    }
    let live = capture.finish();
    if !live.is_empty() {
        host.output(stream, live).await;
    }
}

/// The reading of both pipes, which may be gone on with until it is over.
struct Pumping<'a> {
    future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    over: bool,
}

impl<'a> Pumping<'a> {
    fn new(future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) -> Pumping<'a> {
        Pumping {
            future,
            over: false,
        }
    }

    async fn go_on(&mut self) {
        if !self.over {
            self.future.as_mut().await;
            self.over = true;
        }
    }
}

/// The shell and all it started, as far as they stayed in its process group.
struct Group {
    child: Box<dyn ChildWrapper>,
    done: bool,
}

impl Group {
    /// Starts `bash -c`. Not a login shell: that would run the user's profile, which is slow, differs
    /// from machine to machine, and may bring back the secrets that the environment was freed of.
    fn spawn(scope: &Scope, command: &str) -> Result<Group, Failure> {
        let mut wrap = CommandWrap::with_new("bash", |bash| {
            bash.arg("-c")
                .arg(command)
                .current_dir(&scope.directory)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            environment::prepare(bash);
        });
        let child = wrap
            .wrap(ProcessGroup::leader())
            .spawn()
            .map_err(|error| Failure::Error(format!("bash: cannot start: {error}")))?;
        Ok(Group { child, done: false })
    }

    /// Waits for the shell to end, and shortly for output that is still on its way.
    ///
    /// Only the shell is waited for: what it left in the background may run on.
    async fn follow(&mut self, pumping: &mut Pumping<'_>) -> std::io::Result<ExitStatus> {
        let shell = self.child.inner_mut();
        let status = tokio::select! {
            status = shell.wait() => Some(status),
            () = pumping.go_on() => None,
        };
        // The output may be closed long before the shell ends.
        let status = match status {
            Some(status) => status?,
            None => shell.wait().await?,
        };
        let _ = tokio::time::timeout(OUTPUT_GRACE, pumping.go_on()).await;
        Ok(status)
    }

    /// Ends the whole group: politely, then for certain.
    async fn stop(&mut self, pumping: &mut Pumping<'_>) {
        // Errors mean that nobody is left to be told.
        let _ = self.child.signal(SIGTERM);
        let _ = tokio::time::timeout(TERMINATE_GRACE, self.follow(pumping)).await;
        let _ = self.child.start_kill();
        let _ = self.child.inner_mut().wait().await;
        let _ = tokio::time::timeout(OUTPUT_GRACE, pumping.go_on()).await;
    }
}

/// When the run itself is dropped there is no time for politeness.
impl Drop for Group {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.child.start_kill();
        }
    }
}

#[cfg(test)]
mod tests;
