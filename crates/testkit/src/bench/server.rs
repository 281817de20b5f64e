//! The server under test, and what the kernel says of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::process::Launch;
use crate::{Process, Scratch, http};

/// What every bench is given.
pub struct Bench {
    pub binary: PathBuf,
    pub size: Size,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Full,
    Quick,
    /// So little that the numbers say nothing: only whether a bench runs to its end.
    Tiny,
}

/// A tiny run does a fiftieth of a quick one.
const TINY_SHARE: usize = 50;

impl Bench {
    /// How often or how many: less in a quick run.
    pub fn count(&self, full: usize, quick: usize) -> usize {
        match self.size {
            Size::Full => full,
            Size::Quick => quick,
            Size::Tiny => (quick / TINY_SHARE).max(2),
        }
    }

    /// Lets the server come to rest; a tiny run measures nothing, and does not wait for it.
    pub async fn rest(&self, time: Duration) {
        if self.size != Size::Tiny {
            tokio::time::sleep(time).await;
        }
    }

    /// Lets the kernel forget what it holds of the binary, so that it is read as after a boot. Of a file
    /// that was just written it keeps large pieces, and maps them whole: the same server then seems to
    /// hold 3 MiB more.
    pub fn forget_binary(&self) -> anyhow::Result<()> {
        let file = std::fs::File::open(&self.binary)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        Ok(())
    }

    pub async fn server(&self) -> anyhow::Result<Server> {
        self.server_with(&[]).await
    }

    /// One with further environment variables.
    pub async fn server_with(&self, variables: &[(&str, String)]) -> anyhow::Result<Server> {
        let scratch = Scratch::new()?;
        let mut launch = Launch::new(&self.binary, &scratch);
        for (name, value) in variables {
            launch = launch.variable(name, value);
        }
        let mut process = Process::start(&launch).await?;
        process.hush();
        Ok(Server { scratch, process })
    }
}

/// A running server with a home of its own.
pub struct Server {
    pub scratch: Scratch,
    pub process: Process,
}

impl Server {
    pub fn port(&self) -> u16 {
        self.process.port()
    }

    /// Stops it in good order and starts it again; says how long that took to `/readyz`.
    pub async fn restart(&mut self) -> anyhow::Result<Duration> {
        self.process.terminate().await?;
        let started = Instant::now();
        self.process.restart().await?;
        self.process.hush();
        self.ready().await?;
        Ok(started.elapsed())
    }

    pub async fn ready(&self) -> anyhow::Result<()> {
        match http::get(self.port(), "/readyz").await? {
            (200, _) => Ok(()),
            (status, body) => bail!("/readyz says {status}: {body}"),
        }
    }

    /// What it holds in memory.
    pub fn resident_kib(&self) -> anyhow::Result<f64> {
        self.number("status", "VmRSS:")
    }

    /// The most it ever held in memory.
    pub fn resident_kib_peak(&self) -> anyhow::Result<f64> {
        self.number("status", "VmHWM:")
    }

    /// What it has given to the disk.
    pub fn written_bytes(&self) -> anyhow::Result<f64> {
        self.number("io", "write_bytes:")
    }

    /// How much processor time it has used, on all cores.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        let mut nanos = 0;
        for task in std::fs::read_dir(self.proc("task")?)? {
            // A thread may end while we look.
            let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            nanos += text
                .split(' ')
                .next()
                .and_then(|nanos| nanos.parse::<u64>().ok())
                .unwrap_or(0);
        }
        Ok(Duration::from_nanos(nanos))
    }

    fn proc(&self, file: &str) -> anyhow::Result<PathBuf> {
        let id = self.process.id().context("the server has ended")?;
        Ok(PathBuf::from(format!("/proc/{id}/{file}")))
    }

    fn number(&self, file: &str, name: &str) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(self.proc(file)?)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        let number = number.with_context(|| format!("no {name} in /proc/…/{file}"))?;
        Ok(number.parse()?)
    }
}

pub fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
