//! A terminal for a command that wants one; what it shows goes to our output.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

const SIZE: Winsize = Winsize {
    ws_row: 40,
    ws_col: 120,
    ws_xpixel: 0,
    ws_ypixel: 0,
};
const READ_BYTES: usize = 16 * 1024;
/// How long the last words are awaited when no process is left.
const LAST_WORDS_MAX: Duration = Duration::from_secs(2);

/// The near end of a terminal.
pub struct Terminal {
    near: File,
}

impl Terminal {
    /// Makes one and gives its far end to a command as input and output.
    pub fn give(command: &mut Command) -> std::io::Result<Self> {
        let near =
            rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        rustix::pty::grantpt(&near)?;
        rustix::pty::unlockpt(&near)?;
        rustix::termios::tcsetwinsize(&near, SIZE)?;
        let name = rustix::pty::ptsname(&near, Vec::new())?;
        let path = name.to_string_lossy().into_owned();
        let far = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY)
            .open(path)?;
        command
            .stdin(far.try_clone()?)
            .stdout(far.try_clone()?)
            .stderr(far);
        Ok(Self {
            near: File::from(near),
        })
    }

    /// Where one types.
    pub fn typed(&self) -> Option<File> {
        self.near.try_clone().ok()
    }

    /// Copies what it shows until nobody holds the far end.
    pub fn show(mut self) -> Showing {
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; READ_BYTES];
            let mut output = std::io::stdout();
            // When the last holder is gone, reading fails.
            while let Ok(length @ 1..) = self.near.read(&mut buffer) {
                let shown = output
                    .write_all(&buffer[..length])
                    .and_then(|()| output.flush());
                if shown.is_err() {
                    break;
                }
            }
            let _ = ended.send(());
        });
        Showing { end }
    }
}

pub struct Showing {
    end: Receiver<()>,
}

impl Showing {
    pub fn wait(self) {
        let _ = self.end.recv_timeout(LAST_WORDS_MAX);
    }
}
