//! What fences in the servers that are child processes.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use tools::Sandbox;
use vocabulary::McpTransport;

use crate::ConfiguredServer;

/// A sandbox, and what it hides.
#[derive(Clone)]
pub struct Fence {
    pub(crate) sandbox: Arc<Sandbox>,
    /// Never to be read or written: the server's own data.
    pub(crate) private: Vec<PathBuf>,
    /// Whether servers of a workspace are held by it.
    pub(crate) holds: bool,
    /// Where others share the machine: the places that may be open to any server of these, wherever it
    /// is configured. Without a sandbox none of them runs.
    pub(crate) own_places: Option<Vec<PathBuf>>,
}

impl Fence {
    pub fn new(sandbox: Arc<Sandbox>, private: Vec<PathBuf>) -> Self {
        Self {
            sandbox,
            private,
            holds: true,
            own_places: None,
        }
    }

    /// For servers of a tenant that shares the machine with others.
    pub fn confined(self, own_places: Vec<PathBuf>) -> Self {
        Self {
            own_places: Some(own_places),
            ..self
        }
    }
}

type FindFence = dyn Fn() -> BoxFuture<'static, Fence> + Send + Sync;

/// Where the fence comes from: it is found out when the first server needs it.
#[derive(Clone)]
pub(crate) struct FenceSource {
    home: PathBuf,
    find: Arc<OnceLock<Box<FindFence>>>,
}

impl FenceSource {
    pub fn new(home: PathBuf) -> Self {
        Self {
            home,
            find: Arc::default(),
        }
    }

    /// The first counts.
    pub fn set(&self, find: Box<FindFence>) {
        let _ = self.find.set(find);
    }

    /// The fence of a server that is a child process.
    pub async fn find(&self, server: &ConfiguredServer) -> Option<Fence> {
        match server.server.transport {
            McpTransport::Http { .. } | McpTransport::Sse { .. } => None,
            McpTransport::Stdio { .. } => Some(match self.find.get() {
                Some(find) => find().await,
                None => self.detect().await,
            }),
        }
    }

    async fn detect(&self) -> Fence {
        let home = self.home.clone();
        let detect = move || Sandbox::detect().with_home(&home);
        let sandbox = tokio::task::spawn_blocking(detect).await;
        let sandbox = sandbox.unwrap_or_else(|_| Sandbox::nothing());
        Fence::new(Arc::new(sandbox), vec![self.home.clone()])
    }
}
