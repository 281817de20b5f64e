//! What threads have seen of files, kept while they sleep: a thread that wakes may change a file that it
//! read before, and need not read it again.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tools::SeenFiles;
use vocabulary::ThreadId;

/// Of more threads, the one that woke longest ago must read again.
const THREADS_MAX: usize = 64;

/// The newest first.
#[derive(Default)]
pub struct SeenByThreads(Mutex<VecDeque<(ThreadId, Arc<SeenFiles>)>>);

impl SeenByThreads {
    /// What this thread has seen, for as long as it is awake and longer.
    pub fn of(&self, thread: ThreadId) -> Arc<SeenFiles> {
        let mut all = self.0.lock();
        let known = all.iter().position(|(of, _)| *of == thread);
        let known = known.and_then(|at| all.remove(at));
        let seen = known.map_or_else(Arc::default, |(_, seen)| seen);
        all.push_front((thread, Arc::clone(&seen)));
        all.truncate(THREADS_MAX);
        seen
    }

    /// This thread has seen nothing: what it was told of files it knows no more.
    pub fn anew(&self, thread: ThreadId) -> Arc<SeenFiles> {
        self.0.lock().retain(|(of, _)| *of != thread);
        self.of(thread)
    }
}
