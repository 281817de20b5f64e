//! A shell and all it started: followed, or ended as a whole.
//!
//! Behind a launcher that is all of it. Without one, it is what stayed in the shell's process group.

use std::ffi::OsStr;
use std::path::Path;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vocabulary::OutputStream;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::time::timeout;

use super::command::CommandRecord;
use super::environment::{self, WritesTo};
use super::git_settings::{self, GitPrograms};
use crate::Failure;
use crate::sandbox::control;
use crate::sandbox::launcher::{STANDS, TERMINATE};
use crate::sandbox::{Fenced, HeldPaths};

/// Between the polite signal and the one that cannot be refused.
const TERMINATE_GRACE: Duration = Duration::from_millis(500);
/// How long the next piece of output is awaited after the shell has ended; a process in the
/// background may hold the output for ever.
const OUTPUT_GRACE: Duration = Duration::from_millis(300);
/// How long output is awaited in all, after the shell has ended.
const OUTPUT_GRACE_MAX: Duration = Duration::from_secs(5);
/// How long the launcher may need to end everything.
const LAUNCHER_GRACE: Duration = Duration::from_secs(15);
const GONE_PAUSE: Duration = Duration::from_millis(5);
const READ_BYTES: usize = 16 * 1024;
/// How long a command may take to read what is written to it.
const WRITE_MAX: Duration = Duration::from_secs(5);
const SIGTERM: i32 = 15;

/// The shell, with what fences it in.
pub(super) struct Group {
    child: Box<dyn ChildWrapper>,
    /// The launcher's ear; when it closes, the launcher ends everything.
    control: Option<ChildStdin>,
    /// Where the command itself reads, if there is no launcher between.
    input: Option<ChildStdin>,
    is_launched: bool,
    held: Option<HeldPaths>,
    /// The fence stands, and the command has been started or is about to be.
    stands: Arc<AtomicBool>,
    /// Nothing is to be ended any more.
    done: bool,
}

/// How a command is started, apart from its fence.
#[derive(Clone, Copy)]
pub(super) struct GroupStart<'a> {
    pub directory: &'a Path,
    pub programs: GitPrograms,
    pub writes_to: WritesTo,
    /// Whether it can be written to.
    pub input: bool,
}

/// The words that make a shell run a command line. Not a login shell: that would run the user's
/// profile, which is slow, differs from machine to machine, and may bring back the secrets that the
/// environment was freed of.
pub(super) fn words(command: &str) -> [&OsStr; 3] {
    ["bash", "-c", command].map(OsStr::new)
}

impl Group {
    pub fn spawn(fenced: Fenced, start: GroupStart<'_>) -> Result<Group, Failure> {
        let mut wrap = CommandWrap::with_new(&fenced.program, |program| {
            program
                .args(&fenced.arguments)
                .current_dir(start.directory)
                .stdin(match fenced.is_launched || start.input {
                    true => Stdio::piped(),
                    false => Stdio::null(),
                })
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            environment::prepare(program, std::env::vars_os(), start.writes_to);
            git_settings::set(program, start.programs);
            program.envs(fenced.environment.iter().map(|(name, value)| (name, value)));
        });
        let mut child = wrap
            .wrap(ProcessGroup::leader())
            .spawn()
            .map_err(|error| Failure::Error(format!("bash: cannot start: {error}")))?;
        let (control, input) = match fenced.is_launched {
            true => (child.stdin().take(), None),
            false => (None, child.stdin().take()),
        };
        Ok(Group {
            control,
            input,
            child,
            is_launched: fenced.is_launched,
            held: fenced.held,
            stands: Arc::new(AtomicBool::new(!fenced.is_launched)),
            done: false,
        })
    }

    /// The reading of both pipes into the record.
    pub fn pump(&mut self, record: &Arc<CommandRecord>) -> Pumping {
        let record = Arc::clone(record);
        let (out, err) = (self.child.stdout().take(), self.child.stderr().take());
        let progress = Arc::new(AtomicU64::new(0));
        let counted = progress.clone();
        let stands = self.stands.clone();
        let future = async move {
            let (says, stood) = tokio::sync::oneshot::channel();
            tokio::join!(
                async {
                    let out = past_the_sign(out, &stands).await;
                    let stands = stands.load(Ordering::Relaxed);
                    if stands {
                        record.starts();
                    }
                    // Who reads the errors is in the same future.
                    let _ = says.send(stands);
                    pump(out, &record, OutputStream::Stdout, stands, &counted).await;
                },
                async {
                    // The errors of a fence that does not stand are not the command's: it is tried
                    // again, and nobody is shown why.
                    let shown = stood.await.unwrap_or(false);
                    pump(err, &record, OutputStream::Stderr, shown, &counted).await;
                },
            );
        };
        Pumping {
            future: Box::pin(future),
            over: false,
            progress,
        }
    }

    /// Writes to the command, or says why that cannot be.
    pub async fn write(&mut self, bytes: &[u8], close: bool) -> Result<(), String> {
        let gone = |error: std::io::Error| format!("it does not read any more: {error}");
        let write = async {
            match (&mut self.control, &mut self.input) {
                (Some(control), _) => {
                    control.write_all(&control::input(bytes)).await?;
                    match close {
                        true => control.write_all(&control::end_of_input()).await,
                        false => Ok(()),
                    }
                }
                (None, Some(input)) => input.write_all(bytes).await,
                (None, None) => Err(std::io::ErrorKind::BrokenPipe.into()),
            }
        };
        let written = timeout(WRITE_MAX, write).await;
        let written = written.map_err(|_| "it does not read what was written before".to_owned())?;
        if close {
            self.input = None;
        }
        written.map_err(gone)
    }

    /// Waits for the shell to end, and shortly for output that is still on its way.
    ///
    /// Only the shell is waited for: what it left in the background may run on.
    pub async fn follow(&mut self, pumping: &mut Pumping) -> std::io::Result<ExitStatus> {
        let shell = self.child.inner_mut();
        let ended = tokio::select! {
            status = shell.wait() => Some(status),
            () = pumping.go_on() => None,
        };
        // The output may be closed long before the shell ends.
        let status = match ended {
            Some(status) => status?,
            None => shell.wait().await?,
        };
        pumping.drain().await;
        Ok(status)
    }

    /// Ends everything: politely, then for certain.
    pub async fn stop(&mut self, pumping: &mut Pumping) {
        // Errors mean that nobody is left to be told.
        match &mut self.control {
            Some(control) => drop(control.write_all(&[TERMINATE]).await),
            None => drop(self.child.signal(SIGTERM)),
        }
        let _ = timeout(TERMINATE_GRACE, self.follow(pumping)).await;
        if self.control.take().is_some() {
            let _ = timeout(LAUNCHER_GRACE, self.follow(pumping)).await;
        }
        let _ = self.child.start_kill();
        let _ = self.child.inner_mut().wait().await;
        pumping.drain().await;
        self.done = true;
    }

    /// Whether the fence was set up. If not, nothing of the command has run.
    pub fn stands(&self) -> bool {
        self.stands.load(Ordering::Relaxed)
    }

    /// Makes the workspace what it is to be after the command, and gives what there is to tell of it.
    /// Only when everything has ended.
    pub async fn finish(&mut self) -> Vec<String> {
        let Some(held) = self.held.take() else {
            return Vec::new();
        };
        // It reads and writes files.
        let finished = tokio::task::spawn_blocking(move || held.finish()).await;
        finished.unwrap_or_default()
    }

    /// Leaves alone what still runs in the background; a launcher has left nothing.
    pub fn let_go(&mut self) {
        self.done = true;
    }
}

/// When the run itself is dropped there is no time for politeness.
impl Drop for Group {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if !self.is_launched {
            let _ = self.child.start_kill();
            return;
        }
        // The launcher ends everything now; until then, what protects the workspace must stay.
        drop(self.control.take());
        if let (Some(held), Some(pid)) = (self.held.take(), self.child.id()) {
            std::thread::spawn(move || {
                wait_until_gone(pid);
                drop(held);
            });
        }
    }
}

pub(crate) fn wait_until_gone(pid: u32) {
    let begun = Instant::now();
    let is_there = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while is_there() && begun.elapsed() < LAUNCHER_GRACE {
        std::thread::sleep(GONE_PAUSE);
    }
}

/// The reading of both pipes, which can be left and gone on with.
pub(super) struct Pumping {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    over: bool,
    /// Counts the pieces that were read.
    progress: Arc<AtomicU64>,
}

impl Pumping {
    /// Whether both pipes were read to their end.
    pub fn is_over(&self) -> bool {
        self.over
    }

    async fn go_on(&mut self) {
        if !self.over {
            self.future.as_mut().await;
            self.over = true;
        }
    }

    /// Goes on as long as pieces keep coming, within reason.
    async fn drain(&mut self) {
        let begun = Instant::now();
        while !self.over && begun.elapsed() < OUTPUT_GRACE_MAX {
            let before = self.progress.load(Ordering::Relaxed);
            let _ = timeout(OUTPUT_GRACE, self.go_on()).await;
            if self.progress.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

/// Takes the launcher's sign that the fence stands off the output.
async fn past_the_sign<P: AsyncRead + Unpin>(pipe: Option<P>, stands: &AtomicBool) -> Option<P> {
    let mut pipe = pipe?;
    if !stands.load(Ordering::Relaxed) {
        let sign = pipe.read_u8().await;
        stands.store(sign.is_ok_and(|sign| sign == STANDS), Ordering::Relaxed);
    }
    Some(pipe)
}

/// Reads one pipe to its end, into the record.
async fn pump(
    pipe: Option<impl AsyncRead + Unpin>,
    record: &CommandRecord,
    stream: OutputStream,
    shown: bool,
    progress: &AtomicU64,
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        progress.fetch_add(1, Ordering::Relaxed);
        record.take(stream, &buffer[..length], shown).await;
    }
    record.finish(stream, shown).await;
}
