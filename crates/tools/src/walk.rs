//! Walks a directory tree with several threads at once, inside the scope and until cancelled.

use std::fs::FileType;
use std::path::Path;
use vocabulary::ToolOutput;

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use crate::path::Private;
use crate::{Failure, Scope};

/// More threads than this only wait for each other.
const THREADS_MAX: usize = 12;

/// A walk below the canonical path `root` that follows no links, leaves out what is private, and
/// takes only the directories and files that `wanted` does.
pub(crate) fn below(
    scope: &Scope,
    root: &Path,
    wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let private = Private::below(scope, root);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = WalkBuilder::new(root);
    builder
        .follow_links(false)
        .threads(threads.min(THREADS_MAX))
        .filter_entry(move |entry| !private.has(entry.path()) && wanted(entry));
    builder
}

/// One thread's part of the work.
pub(crate) trait Walker: Send {
    /// Takes one plain file; `false` ends the whole walk.
    fn file(&mut self, entry: &DirEntry) -> bool;

    /// Takes one directory, but not where the walk begins.
    fn directory(&mut self, _entry: &DirEntry) {}
}

/// Runs the walk with one walker in each thread, until it ends or is cancelled.
pub(crate) fn run<'s, W: Walker + 's>(
    builder: &WalkBuilder,
    cancel: &'s CancellationToken,
    walker: impl Fn() -> W + 's,
) {
    let mut threads = Threads { cancel, walker };
    builder.build_parallel().visit(&mut threads);
}

struct Threads<'s, F> {
    cancel: &'s CancellationToken,
    walker: F,
}

impl<'s, W: Walker + 's, F: Fn() -> W> ParallelVisitorBuilder<'s> for Threads<'s, F> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 's> {
        Box::new(WalkThread {
            cancel: self.cancel,
            walker: (self.walker)(),
        })
    }
}

struct WalkThread<'s, W> {
    cancel: &'s CancellationToken,
    walker: W,
}

impl<W: Walker> ParallelVisitor for WalkThread<'_, W> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        if self.cancel.is_cancelled() {
            return WalkState::Quit;
        }
        // A directory that cannot be read has no files for us.
        let Ok(entry) = entry else {
            return WalkState::Continue;
        };
        let is = |test: fn(&FileType) -> bool| entry.file_type().is_some_and(|kind| test(&kind));
        if is(FileType::is_dir) && entry.depth() > 0 {
            self.walker.directory(&entry);
        }
        match !is(FileType::is_file) || self.walker.file(&entry) {
            true => WalkState::Continue,
            false => WalkState::Quit,
        }
    }
}

/// What a walk that was cancelled answers.
pub(crate) fn cancelled() -> Failure {
    Failure::Cancelled(ToolOutput::Text("[cancelled]".to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::scratch::Scratch;

    struct Canceller<'a>(&'a CancellationToken, &'a AtomicUsize);

    impl Walker for Canceller<'_> {
        fn file(&mut self, _: &DirEntry) -> bool {
            self.0.cancel();
            self.1.fetch_add(1, Ordering::Relaxed);
            true
        }
    }

    #[test]
    fn a_walk_ends_where_it_is_cancelled() {
        let scratch = Scratch::new();
        for n in 0..500 {
            std::fs::write(scratch.path(&n.to_string()), "").unwrap();
        }
        let (cancel, count) = (CancellationToken::new(), AtomicUsize::new(0));
        let builder = below(&scratch.scope(), &scratch.path(""), |_| true);
        run(&builder, &cancel, || Canceller(&cancel, &count));
        // Each thread may be at one file just then.
        let count = count.into_inner();
        assert!((1..=THREADS_MAX).contains(&count), "{count}");
    }
}
