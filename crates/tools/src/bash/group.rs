//! A shell and all it started: a process group that is followed, or ended as a whole.

use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use super::capture::Capture;
use super::environment;
use crate::{Failure, Host, Scope, Stream};

/// Between the polite signal and the one that cannot be refused.
const TERMINATE_GRACE: Duration = Duration::from_millis(500);
/// How long the next piece of output is awaited after the shell has ended; a process in the
/// background may hold the output for ever.
const OUTPUT_GRACE: Duration = Duration::from_millis(300);
/// How long output is awaited in all, after the shell has ended.
const OUTPUT_GRACE_MAX: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 16 * 1024;
const SIGTERM: i32 = 15;

/// The shell and what it started, as far as that stayed in its process group.
pub(super) struct Group {
    child: Box<dyn ChildWrapper>,
    /// Nothing is to be ended any more.
    done: bool,
}

impl Group {
    /// Starts `bash -c`. Not a login shell: that would run the user's profile, which is slow, differs
    /// from machine to machine, and may bring back the secrets that the environment was freed of.
    pub fn spawn(scope: &Scope, command: &str) -> Result<Group, Failure> {
        let mut wrap = CommandWrap::with_new("bash", |bash| {
            bash.arg("-c")
                .arg(command)
                .current_dir(&scope.directory)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            environment::prepare(bash, std::env::vars_os().map(|(name, _)| name));
        });
        let child = wrap
            .wrap(ProcessGroup::leader())
            .spawn()
            .map_err(|error| Failure::Error(format!("bash: cannot start: {error}")))?;
        Ok(Group { child, done: false })
    }

    /// The reading of both pipes into their captures and to the host.
    pub fn pump<'a>(
        &mut self,
        host: &'a dyn Host,
        stdout: &'a mut Capture,
        stderr: &'a mut Capture,
    ) -> Pumping<'a> {
        let (out, err) = (self.child.stdout().take(), self.child.stderr().take());
        let progress = Arc::new(AtomicU64::new(0));
        let counted = progress.clone();
        let future = async move {
            tokio::join!(
                pump(out, host, Stream::Stdout, stdout, &counted),
                pump(err, host, Stream::Stderr, stderr, &counted),
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

    /// Ends the whole group: politely, then for certain.
    pub async fn stop(&mut self, pumping: &mut Pumping<'_>) {
        // Errors mean that nobody is left to be told.
        let _ = self.child.signal(SIGTERM);
        let _ = timeout(TERMINATE_GRACE, self.follow(pumping)).await;
        let _ = self.child.start_kill();
        let _ = self.child.inner_mut().wait().await;
        pumping.drain().await;
        self.done = true;
    }

    /// Leaves what still runs in the background alone.
    pub fn let_go(&mut self) {
        self.done = true;
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

/// Reads one pipe to its end.
async fn pump(
    pipe: Option<impl AsyncRead + Unpin>,
    host: &dyn Host,
    stream: Stream,
    capture: &mut Capture,
    progress: &AtomicU64,
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        progress.fetch_add(1, Ordering::Relaxed);
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
