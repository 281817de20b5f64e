//! Puts the parts together: store, models, tools, engine, listener; and takes them apart again.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use engine::Engine;
use providers::Provider;
use providers::rehearsal::{Rehearsal, Script};
use store::sqlite::SqliteStore;
use store::{SharedStore, StoreError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tools::Toolbox;
use vocabulary::ModelRef;

use crate::http::{self, Site};
use crate::limits::{GOODBYE_MAX, STOP_GRACE};

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub directory: PathBuf,
    pub home: PathBuf,
    pub port: u16,
    pub auto_approve: bool,
    pub raw_parts: bool,
    /// Text of a rehearsal script.
    pub rehearsal: Option<String>,
}

/// A server that listens.
pub struct Running {
    pub address: SocketAddr,
    engine: Engine,
    stop: CancellationToken,
    connections: TaskTracker,
    serving: JoinHandle<std::io::Result<()>>,
}

/// Starts serving. Nothing that can wait is done before the socket listens.
pub async fn start(settings: Settings) -> anyhow::Result<Running> {
    let listener = bind(settings.port).await?;
    let address = listener
        .local_addr()
        .context("the listener has no address")?;
    let store = open_store(&settings.home, &owner_label(address))?;
    let engine = assemble(&settings, store)?;
    let stop = CancellationToken::new();
    let connections = TaskTracker::new();
    let site = Site {
        engine: engine.clone(),
        settings: Arc::new(settings),
        stop: stop.clone(),
        connections: connections.clone(),
    };
    let ending = stop.clone();
    let serving = tokio::spawn(async move {
        axum::serve(listener, http::router(site))
            .with_graceful_shutdown(async move { ending.cancelled().await })
            .await
    });
    let recovering = engine.clone();
    tokio::spawn(async move {
        match recovering.recover().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "looked after turns that were cut off"),
            Err(refusal) => tracing::warn!(error = %refusal, "recovery failed"),
        }
    });
    Ok(Running {
        address,
        engine,
        stop,
        connections,
        serving,
    })
}

impl Running {
    pub fn url(&self) -> String {
        format!("ws://{}/ws", self.address)
    }

    /// Lets running turns come to rest, says goodbye to every client, and ends.
    pub async fn stop(self) {
        self.engine.stop(STOP_GRACE).await;
        self.stop.cancel();
        self.connections.close();
        if tokio::time::timeout(GOODBYE_MAX, self.connections.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                left = self.connections.len(),
                "some clients did not say goodbye"
            );
        }
        self.serving.abort();
    }
}

async fn bind(port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {address}; another server may be running there. \
             Choose another port with --port, or --port 0 for any free one"
        )
    })
}

fn owner_label(address: SocketAddr) -> String {
    format!("process {}, ws://{address}/ws", std::process::id())
}

/// Opens our database; another program's file of that name stays as it is and ours goes beside it.
fn open_store(home: &Path, label: &str) -> anyhow::Result<SharedStore> {
    create_private(home)?;
    let path = home.join("sessions.db");
    match SqliteStore::open(&path, label) {
        Ok(store) => Ok(Arc::new(store)),
        Err(StoreError::Foreign(what)) => {
            let ours = home.join("dragoman.db");
            tracing::warn!(
                "{} is {what}; using {} instead",
                path.display(),
                ours.display()
            );
            let store = SqliteStore::open(&ours, label)
                .with_context(|| format!("cannot open {}", ours.display()))?;
            Ok(Arc::new(store))
        }
        Err(error) => {
            Err(error).with_context(|| format!("cannot open the database {}", path.display()))
        }
    }
}

fn create_private(directory: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(|| format!("cannot create the data directory {}", directory.display()))
}

fn assemble(settings: &Settings, store: SharedStore) -> anyhow::Result<Engine> {
    if !settings.directory.is_dir() {
        bail!(
            "{} is not a directory; name one with --dir",
            settings.directory.display()
        );
    }
    let script = settings.rehearsal.as_deref().map(Script::parse).transpose();
    let rehearsal = Rehearsal::new(script.context("the rehearsal script cannot be used")?);
    let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(rehearsal)];
    let config = engine::Config {
        directory: settings.directory.clone(),
        home: settings.home.clone(),
        auto_approve: settings.auto_approve,
        default_model: ModelRef {
            provider: "rehearsal".to_owned(),
            model: "rehearsal-1".to_owned(),
        },
    };
    Ok(Engine::new(config, store, providers, Toolbox::builtin()))
}
