//! A program behind the fence that lives long and is spoken to over its standard input and output.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::control;
use super::launcher::{STANDS, TERMINATE};
use super::{Fenced, HeldPaths};
use crate::bash::wait_until_gone;

/// How long a program may take to end by itself when its input ends.
const END_GRACE: Duration = Duration::from_secs(1);
/// Between the polite signal and the one that cannot be refused.
const TERMINATE_GRACE: Duration = Duration::from_millis(500);
/// How long the launcher may need to end everything.
const LAUNCHER_GRACE: Duration = Duration::from_secs(15);
/// How long the launcher may take to set up the fence.
const STANDS_MAX: Duration = Duration::from_secs(15);
const SIGTERM: i32 = 15;

/// The program with all that it starts. It ends when this is dropped; behind a launcher also when this
/// process dies.
pub struct PipedProgram {
    child: Box<dyn ChildWrapper>,
    is_launched: bool,
    held: Option<HeldPaths>,
    done: bool,
}

/// What the program reads. Behind a launcher, everything ends when this is dropped.
pub struct ProgramInput {
    pipe: Option<ChildStdin>,
    is_launched: bool,
}

/// The ends of its pipes.
pub struct ProgramPipes {
    pub input: ProgramInput,
    pub output: ChildStdout,
    pub errors: ChildStderr,
}

impl PipedProgram {
    /// Starts it with this environment and no other.
    pub fn spawn(
        fenced: Fenced,
        directory: &Path,
        environment: &[(OsString, OsString)],
    ) -> io::Result<(PipedProgram, ProgramPipes)> {
        let mut wrap = CommandWrap::with_new(&fenced.program, |program| {
            program
                .args(&fenced.arguments)
                .current_dir(directory)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .env_clear()
                .envs(environment.iter().map(|(name, value)| (name, value)))
                .envs(fenced.environment.iter().map(|(name, value)| (name, value)));
        });
        let mut child = wrap.wrap(ProcessGroup::leader()).spawn()?;
        let pipes = (
            child.stdin().take(),
            child.stdout().take(),
            child.stderr().take(),
        );
        let is_launched = fenced.is_launched;
        let program = PipedProgram {
            child,
            is_launched,
            held: fenced.held,
            done: false,
        };
        let (pipe, Some(output), Some(errors)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let input = ProgramInput { pipe, is_launched };
        let pipes = ProgramPipes {
            input,
            output,
            errors,
        };
        Ok((program, pipes))
    }

    /// Waits until the fence stands. Before that, nothing of the program has run.
    pub async fn stands(&self, output: &mut ChildStdout) -> bool {
        if !self.is_launched {
            return true;
        }
        let sign = timeout(STANDS_MAX, output.read_u8()).await;
        matches!(sign, Ok(Ok(STANDS)))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.inner_mut().try_wait().ok().flatten()
    }

    /// Waits for its end, but not for longer than this.
    pub async fn wait(&mut self, time_max: Duration) -> Option<ExitStatus> {
        let status = timeout(time_max, self.child.inner_mut().wait()).await;
        status.ok().and_then(Result::ok)
    }

    /// Ends everything: by the end of its input, politely, then for certain.
    pub async fn stop(mut self, mut input: ProgramInput) {
        input.end().await;
        if self.wait(END_GRACE).await.is_none() {
            self.terminate(&mut input).await;
            let _ = self.wait(TERMINATE_GRACE).await;
        }
        // The launcher ends everything now.
        drop(input);
        if self.is_launched {
            let _ = self.wait(LAUNCHER_GRACE).await;
        }
        // What it started may have outlived it.
        let _ = self.child.start_kill();
        let _ = self.wait(LAUNCHER_GRACE).await;
        self.done = true;
        if let Some(held) = self.held.take() {
            // It reads and writes files.
            let _ = tokio::task::spawn_blocking(move || held.finish()).await;
        }
    }

    async fn terminate(&mut self, input: &mut ProgramInput) {
        // Errors mean that nobody is left to be told.
        match (self.is_launched, &mut input.pipe) {
            (true, Some(pipe)) => {
                let _ = timeout(TERMINATE_GRACE, pipe.write_all(&[TERMINATE])).await;
            }
            (true, None) => {}
            (false, _) => drop(self.child.signal(SIGTERM)),
        }
    }
}

impl ProgramInput {
    /// Writes to the program. Behind a launcher this never waits for it.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        match self.is_launched {
            true => pipe.write_all(&control::input(bytes)).await?,
            false => pipe.write_all(bytes).await?,
        }
        pipe.flush().await
    }

    /// Says that no input follows.
    async fn end(&mut self) {
        match (self.is_launched, &mut self.pipe) {
            (true, Some(pipe)) => {
                let _ = timeout(TERMINATE_GRACE, pipe.write_all(&control::end_of_input())).await;
            }
            (true, None) => {}
            (false, pipe) => drop(pipe.take()),
        }
    }
}

/// When it is dropped there is no time for politeness.
impl Drop for PipedProgram {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if !self.is_launched {
            let _ = self.child.start_kill();
            return;
        }
        // The launcher ends everything as soon as the input is dropped, too; until then, what protects
        // the workspace must stay.
        if let (Some(held), Some(pid)) = (self.held.take(), self.child.id()) {
            std::thread::spawn(move || {
                wait_until_gone(pid);
                drop(held);
            });
        }
    }
}
