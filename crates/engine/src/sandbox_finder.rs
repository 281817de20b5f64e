//! What fences in commands and servers: found out once, by trying, when it is first needed.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OnceCell;
use tools::Sandbox;

use crate::{Config, SandboxSetting};

pub struct SandboxFinder {
    found: OnceCell<Arc<Sandbox>>,
    setting: SandboxSetting,
    home: PathBuf,
    ports: Vec<u16>,
}

impl SandboxFinder {
    pub fn new(config: &Config) -> Self {
        Self {
            found: OnceCell::new(),
            setting: config.sandbox,
            home: config.home.clone(),
            ports: config.ports.clone(),
        }
    }

    /// If somebody needed it already.
    pub fn found(&self) -> Option<&Arc<Sandbox>> {
        self.found.get()
    }

    /// Tries it out away from whoever serves others; `tell`: people hear of what it lacks.
    pub async fn find(&self, tell: bool) -> Arc<Sandbox> {
        let (setting, home, ports) = (self.setting, self.home.clone(), self.ports.clone());
        let find = || async move {
            let detect = move || {
                let (sandbox, network) = match setting {
                    SandboxSetting::Nothing => return Sandbox::nothing(),
                    SandboxSetting::Best { network } => (Sandbox::detect(), network),
                    SandboxSetting::Only { mode, network } => (Sandbox::only(mode), network),
                };
                let sandbox = sandbox.with_home(&home).with_network(network);
                sandbox.with_ports(ports)
            };
            let found = tokio::task::spawn_blocking(detect).await;
            let sandbox = found.unwrap_or_else(|_| Sandbox::nothing());
            for notice in sandbox.notices().into_iter().filter(|_| tell) {
                tracing::warn!("{notice}");
            }
            Arc::new(sandbox)
        };
        Arc::clone(self.found.get_or_init(find).await)
    }
}
