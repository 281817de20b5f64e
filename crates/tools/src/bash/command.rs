//! A command that has been started. It runs in a task of its own, so that whoever waits for it can leave it
//! to the thread's jobs; when nobody has it any more, it ends.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use vocabulary::OutputStream;

use super::capture::CapturedStreams;
use super::group::{Group, Pumping};
use super::ordered::KeptOutput;
use super::report::CommandEnd;
use crate::{Failure, Host};

/// What is to be written to a command and it was not given yet.
const WRITES_MAX: usize = 16;
/// What shells answer for a command that was asked to end.
const EXIT_TERMINATED: i32 = 143;
const OUTPUT_HELD: &str = "[a process in the background still holds the output; what it writes \
    from now on is lost]";
const LOST: &str = "the command was lost";

/// How far a command is.
#[derive(Clone, Debug)]
pub(crate) enum CommandProgress {
    /// Its fence is being set up.
    Starting,
    Running,
    Ended(Result<CommandEnd, NoEnd>),
}

/// Why nothing is known of a command's end.
#[derive(Clone, Debug)]
pub(crate) enum NoEnd {
    /// The fence was not set up: the command has not run.
    NotFenced(String),
    Failed(Failure),
}

/// Who ends a command before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// The turn that waits for it was cancelled.
    Cancelled,
    /// The model, the end of its thread, or its age, in words.
    Others(&'static str),
}

/// What is to be written to a command.
struct CommandWrite {
    bytes: Vec<u8>,
    close: bool,
    done: oneshot::Sender<Result<(), String>>,
}

/// What others want of a command.
struct CommandOrders {
    writes: mpsc::Receiver<CommandWrite>,
    end: watch::Receiver<Option<EndedBy>>,
}

/// What became of waiting for a command.
pub(crate) enum Waited {
    Ended(Result<CommandEnd, NoEnd>),
    Cancelled,
    TimedOut,
}

/// What is known of a command while it runs.
pub(super) struct CommandRecord {
    streams: Mutex<CapturedStreams>,
    /// Who is shown what it writes, as it comes.
    host: Mutex<Option<Arc<dyn Host>>>,
    progress: watch::Sender<CommandProgress>,
}

impl CommandRecord {
    fn streams(&self) -> MutexGuard<'_, CapturedStreams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self) -> MutexGuard<'_, Option<Arc<dyn Host>>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fence stands.
    pub fn starts(&self) {
        self.progress.send_replace(CommandProgress::Running);
    }

    pub async fn take(&self, stream: OutputStream, bytes: &[u8], shown: bool) {
        let live = match stream {
            OutputStream::Stdout => self.streams().stdout.push(bytes),
            OutputStream::Stderr => self.streams().stderr.push(bytes),
        };
        self.show(stream, live, shown).await;
    }

    pub async fn finish(&self, stream: OutputStream, shown: bool) {
        let live = match stream {
            OutputStream::Stdout => self.streams().stdout.finish(),
            OutputStream::Stderr => self.streams().stderr.finish(),
        };
        self.show(stream, live, shown).await;
    }

    async fn show(&self, stream: OutputStream, live: String, shown: bool) {
        let host = self.host().clone();
        if let (Some(host), true, false) = (host, shown, live.is_empty()) {
            host.output(stream, live).await;
        }
    }
}

/// A command and all that it started.
pub(crate) struct RunningCommand {
    record: Arc<CommandRecord>,
    writes: mpsc::Sender<CommandWrite>,
    end: watch::Sender<Option<EndedBy>>,
    pub begun: Instant,
    /// Ends it when it is dropped.
    _task: AbortOnDropHandle<()>,
}

impl RunningCommand {
    pub(super) fn start(group: Group, host: Arc<dyn Host>) -> RunningCommand {
        let record = Arc::new(CommandRecord {
            streams: Mutex::new(CapturedStreams::new()),
            host: Mutex::new(Some(host)),
            progress: watch::Sender::new(CommandProgress::Starting),
        });
        let (writes, heard) = mpsc::channel(WRITES_MAX);
        let end = watch::Sender::new(None);
        let orders = CommandOrders {
            writes: heard,
            end: end.subscribe(),
        };
        let begun = Instant::now();
        let task = tokio::spawn(follow(group, Arc::clone(&record), orders, begun));
        RunningCommand {
            record,
            writes,
            end,
            begun,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub fn progress(&self) -> watch::Receiver<CommandProgress> {
        self.record.progress.subscribe()
    }

    /// Its end, if it has come.
    pub fn end(&self) -> Option<Result<CommandEnd, NoEnd>> {
        match &*self.record.progress.borrow() {
            CommandProgress::Ended(end) => Some(end.clone()),
            CommandProgress::Starting | CommandProgress::Running => None,
        }
    }

    /// Waits until its fence stands or cannot be set up.
    pub async fn starts(&self) {
        let mut progress = self.progress();
        let is_over = |progress: &CommandProgress| !matches!(progress, CommandProgress::Starting);
        // It is there as long as this.
        let _ = progress.wait_for(is_over).await;
    }

    /// Waits for its end.
    pub async fn ended(&self) -> Result<CommandEnd, NoEnd> {
        ended(self.progress()).await
    }

    /// Waits for its end, but not for longer than this.
    pub async fn wait(&self, cancel: &CancellationToken, time_max: Duration) -> Waited {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Waited::Cancelled,
            end = self.ended() => Waited::Ended(end),
            () = tokio::time::sleep(time_max) => Waited::TimedOut,
        }
    }

    /// Has it ended with all that it started. Who says so first is named.
    pub fn ask_to_end(&self, who: EndedBy) {
        self.end.send_if_modified(|end| {
            let is_first = end.is_none();
            end.get_or_insert(who);
            is_first
        });
    }

    /// Ends it with all that it started, and waits for that.
    pub async fn end_by(&self, who: EndedBy) -> Result<CommandEnd, NoEnd> {
        self.ask_to_end(who);
        self.ended().await
    }

    /// Writes to it, or says why that cannot be.
    pub async fn write(&self, bytes: Vec<u8>, close: bool) -> Result<(), String> {
        let (done, written) = oneshot::channel();
        let write = CommandWrite { bytes, close, done };
        let gone = || "it has ended".to_owned();
        self.writes.send(write).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }

    /// All that it wrote; only after its end.
    pub(super) fn take_streams(&self) -> CapturedStreams {
        std::mem::replace(&mut *self.record.streams(), CapturedStreams::new())
    }

    /// What it wrote since the last look.
    pub fn look(&self) -> KeptOutput {
        self.record.streams().look()
    }

    /// Nobody watches it any more: what it writes is kept for the next look.
    pub fn run_in_background(&self) {
        *self.record.host() = None;
        self.record.streams().keep_only_end();
    }
}

/// Waits for the end of a command.
pub(crate) async fn ended(
    mut progress: watch::Receiver<CommandProgress>,
) -> Result<CommandEnd, NoEnd> {
    let is_end = |progress: &CommandProgress| matches!(progress, CommandProgress::Ended(_));
    match progress.wait_for(is_end).await.as_deref() {
        Ok(CommandProgress::Ended(end)) => end.clone(),
        Ok(CommandProgress::Starting | CommandProgress::Running) | Err(_) => {
            Err(NoEnd::Failed(Failure::Error(format!("bash: {LOST}"))))
        }
    }
}

/// Why a command is not followed any more.
enum FollowEnd {
    Exited(std::io::Result<ExitStatus>),
    Ended(EndedBy),
}

async fn follow(
    mut group: Group,
    record: Arc<CommandRecord>,
    mut orders: CommandOrders,
    begun: Instant,
) {
    let mut pumping = group.pump(&record);
    let end = obey(&mut group, &mut pumping, &mut orders).await;
    // From here on nothing is written to it.
    orders.writes.close();
    match end {
        FollowEnd::Exited(Ok(_)) => group.let_go(),
        FollowEnd::Exited(Err(_)) | FollowEnd::Ended(_) => group.stop(&mut pumping).await,
    }
    let output_held = !pumping.is_over();
    drop(pumping);
    let end = match end {
        FollowEnd::Exited(Ok(_)) if !group.stands() => {
            let trouble = record.streams().look().text;
            Err(NoEnd::NotFenced(trouble.trim().to_owned()))
        }
        end => told(end, begun.elapsed()),
    };
    let end = match end {
        Ok(mut end) => {
            if output_held && end.ended_by.is_none() {
                end.notes.push(OUTPUT_HELD.to_owned());
            }
            end.notes.splice(..0, group.finish().await);
            Ok(end)
        }
        Err(no_end) => Err(no_end),
    };
    record.progress.send_replace(CommandProgress::Ended(end));
}

/// Follows it and does what others want meanwhile.
async fn obey(group: &mut Group, pumping: &mut Pumping, orders: &mut CommandOrders) -> FollowEnd {
    loop {
        tokio::select! {
            biased;
            Some(who) = wanted_end(&mut orders.end) => return FollowEnd::Ended(who),
            Some(write) = orders.writes.recv() => {
                let written = group.write(&write.bytes, write.close).await;
                // Who does not wait for it any more need not know.
                let _ = write.done.send(written);
            }
            status = group.follow(pumping) => return FollowEnd::Exited(status),
        }
    }
}

async fn wanted_end(end: &mut watch::Receiver<Option<EndedBy>>) -> Option<EndedBy> {
    let wanted = end.wait_for(Option::is_some).await;
    wanted.ok().and_then(|who| *who)
}

fn told(end: FollowEnd, duration: Duration) -> Result<CommandEnd, NoEnd> {
    match end {
        FollowEnd::Exited(Ok(status)) => Ok(CommandEnd {
            exit_code: super::exit_code(status),
            duration,
            ended_by: None,
            notes: Vec::new(),
        }),
        FollowEnd::Exited(Err(error)) => {
            let failure = Failure::Error(format!("bash: {LOST}: {error}"));
            Err(NoEnd::Failed(failure))
        }
        FollowEnd::Ended(EndedBy::Cancelled) => Ok(CommandEnd::cancelled(duration)),
        FollowEnd::Ended(EndedBy::Others(why)) => Ok(CommandEnd {
            exit_code: EXIT_TERMINATED,
            duration,
            ended_by: Some(why),
            notes: Vec::new(),
        }),
    }
}
