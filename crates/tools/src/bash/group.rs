//! A shell and all it started: followed, or ended as a whole.
//!
//! Behind a launcher that is all of it. Without one, it is what stayed in the shell's process group.

use std::ffi::OsStr;
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

use super::capture::{Capture, CapturedStreams};
use super::environment::{self, WritesTo};
use super::git_settings::{self, GitPrograms};
use crate::sandbox::launcher::{STANDS, TERMINATE};
use crate::sandbox::{Fenced, HeldPaths};
use crate::{Failure, Host, Scope};

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
const SIGTERM: i32 = 15;

/// The shell, with what fences it in.
pub(super) struct Group {
    child: Box<dyn ChildWrapper>,
    /// The launcher's ear; when it closes, the launcher ends everything.
    control: Option<ChildStdin>,
    is_launched: bool,
    held: Option<HeldPaths>,
    /// The fence stands, and the command has been started or is about to be.
    stands: Arc<AtomicBool>,
    /// Nothing is to be ended any more.
    done: bool,
}

/// The words that make a shell run a command line. Not a login shell: that would run the user's
/// profile, which is slow, differs from machine to machine, and may bring back the secrets that the
/// environment was freed of.
pub(super) fn words(command: &str) -> [&OsStr; 3] {
    ["bash", "-c", command].map(OsStr::new)
}

impl Group {
    pub fn spawn(
        scope: &Scope,
        fenced: Fenced,
        programs: GitPrograms,
        writes_to: WritesTo,
    ) -> Result<Group, Failure> {
        let mut wrap = CommandWrap::with_new(&fenced.program, |program| {
            program
                .args(&fenced.arguments)
                .current_dir(&scope.directory)
                .stdin(match fenced.is_launched {
                    true => Stdio::piped(),
                    false => Stdio::null(),
                })
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            environment::prepare(program, std::env::vars_os(), writes_to);
            git_settings::set(program, programs);
            program.envs(fenced.environment.iter().map(|(name, value)| (name, value)));
        });
        let mut child = wrap
            .wrap(ProcessGroup::leader())
            .spawn()
            .map_err(|error| Failure::Error(format!("bash: cannot start: {error}")))?;
        Ok(Group {
            control: child.stdin().take(),
            child,
            is_launched: fenced.is_launched,
            held: fenced.held,
            stands: Arc::new(AtomicBool::new(!fenced.is_launched)),
            done: false,
        })
    }

    /// The reading of both pipes into their captures and to the host.
    pub fn pump<'a>(
        &mut self,
        host: &'a dyn Host,
        streams: &'a mut CapturedStreams,
    ) -> Pumping<'a> {
        let CapturedStreams { stdout, stderr, .. } = streams;
        let (out, err) = (self.child.stdout().take(), self.child.stderr().take());
        let progress = Arc::new(AtomicU64::new(0));
        let counted = progress.clone();
        let stands = self.stands.clone();
        let future = async move {
            let (says, stood) = tokio::sync::oneshot::channel();
            tokio::join!(
                async {
                    let out = past_the_sign(out, &stands).await;
                    // Who reads the errors is in the same future.
                    let _ = says.send(stands.load(Ordering::Relaxed));
                    pump(out, Some(host), OutputStream::Stdout, stdout, &counted).await;
                },
                async {
                    // The errors of a fence that does not stand are not the command's: it is tried
                    // again, and nobody is shown why.
                    let shown = stood.await.unwrap_or(false).then_some(host);
                    pump(err, shown, OutputStream::Stderr, stderr, &counted).await;
                },
            );
        };
        Pumping {
            future: Box::pin(future),
            over: false,
            progress,
        }
    }

    /// Waits for the shell to end, and shortly for output that is still on its way.
    ///
    /// Only the shell is waited for: what it left in the background may run on.
    pub async fn follow(&mut self, pumping: &mut Pumping<'_>) -> std::io::Result<ExitStatus> {
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
    pub async fn stop(&mut self, pumping: &mut Pumping<'_>) {
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

fn wait_until_gone(pid: u32) {
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
pub(super) struct Pumping<'a> {
    future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    over: bool,
    /// Counts the pieces that were read.
    progress: Arc<AtomicU64>,
}

impl Pumping<'_> {
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

/// Reads one pipe to its end, and shows what comes to the host, if it is to see it.
async fn pump(
    pipe: Option<impl AsyncRead + Unpin>,
    host: Option<&dyn Host>,
    stream: OutputStream,
    capture: &mut Capture,
    progress: &AtomicU64,
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        progress.fetch_add(1, Ordering::Relaxed);
        let live = capture.push(&buffer[..length]);
        show(host, stream, live).await;
    }
    show(host, stream, capture.finish()).await;
}

async fn show(host: Option<&dyn Host>, stream: OutputStream, live: String) {
    if let (Some(host), false) = (host, live.is_empty()) {
        host.output(stream, live).await;
    }
}
