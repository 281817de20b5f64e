//! The allocator of the `dragoman` binary, for the C libraries in it as well.
//!
//! The system's keeps what many threads have freed until the process ends: after 10,000 turns of 40
//! threads that was 31 MiB. This one gives it back, and is faster. `.cargo/config.toml` says how it
//! shares its memory among threads; a build without that works as well, and holds a little more.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// From now on freed memory goes back to the system although nobody allocates. That takes a thread, so
/// only a process that serves asks for it: one that is about to enter a sandbox must have no other.
pub fn give_back_when_idle() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::debug!(%error, "freed memory goes back only when more is needed");
    }
}
