//! Work that blocks: done beside, with a word on how far it is when it takes long, stopped by Ctrl-C.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use checkpoints::{WorkControl, WorkProgress};
use tokio::sync::watch;
use tokio::time::Instant;

use super::words;

/// Work says how far it is after this time, and then again and again.
const TOLD_AFTER: Duration = Duration::from_secs(1);
const TOLD_EVERY: Duration = Duration::from_secs(3);
/// A line that is written over costs nobody a page.
const TOLD_EVERY_ON_TERMINAL: Duration = Duration::from_millis(200);

/// Does what is over at once.
pub async fn quiet<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.context("the work was interrupted")?
}

/// Does what may take long.
pub async fn told<T: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce(&WorkControl<'_>) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let (progress, seen) = watch::channel(WorkProgress::default());
    let cancel = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&cancel);
    let mut done = tokio::task::spawn_blocking(move || {
        let progress = |now: WorkProgress| {
            progress.send_replace(now);
        };
        let (cancel, progress) = (&*cancel, &progress);
        work(&WorkControl { cancel, progress })
    });
    let mut line = ProgressLine::new(doing);
    let mut next = Instant::now() + TOLD_AFTER;
    loop {
        tokio::select! {
            outcome = &mut done => {
                line.end();
                return outcome.context("the work was interrupted")?;
            }
            () = tokio::time::sleep_until(next) => {
                line.show(*seen.borrow());
                next = Instant::now() + line.every();
            }
            heard = tokio::signal::ctrl_c() => {
                heard.context("cannot hear Ctrl-C")?;
                if stop.swap(true, Ordering::Relaxed) {
                    line.end();
                    bail!("told twice to stop; left at once");
                }
            }
        }
    }
}

/// How far the work is, on standard error: one line that changes, or a new one now and then.
struct ProgressLine {
    doing: &'static str,
    terminal: bool,
    shown: bool,
}

impl ProgressLine {
    fn new(doing: &'static str) -> Self {
        Self {
            doing,
            terminal: std::io::stderr().is_terminal(),
            shown: false,
        }
    }

    fn every(&self) -> Duration {
        match self.terminal {
            true => TOLD_EVERY_ON_TERMINAL,
            false => TOLD_EVERY,
        }
    }

    fn show(&mut self, progress: WorkProgress) {
        let text = text(self.doing, progress);
        self.shown = true;
        // Nobody reading is fine.
        let _ = match self.terminal {
            true => write!(std::io::stderr(), "\r\x1b[K{text}"),
            false => writeln!(std::io::stderr(), "{text}"),
        };
    }

    fn end(&mut self) {
        if self.shown && self.terminal {
            // Nobody reading is fine.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn text(doing: &str, progress: WorkProgress) -> String {
    let WorkProgress { done, total, bytes } = progress;
    let mut text = match total {
        _ if progress == WorkProgress::default() => return format!("{doing} …"),
        Some(total) => format!("{doing}: {done} of {total}"),
        None => format!("{doing}: {done}"),
    };
    if bytes > 0 {
        text = format!("{text}, {}", words::size(bytes));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_what_is_known_of_it() {
        let told = |done, total, bytes| text("verifying", WorkProgress { done, total, bytes });
        assert_eq!(told(0, None, 0), "verifying …");
        assert_eq!(told(4096, None, 0), "verifying: 4096");
        assert_eq!(told(7, Some(9), 3 << 20), "verifying: 7 of 9, 3.0 MiB");
    }
}
