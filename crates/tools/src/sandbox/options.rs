//! What one command wants of the sandbox.

use std::path::PathBuf;

use super::{Limits, Mode, Sandbox, SharedNetwork};

impl Sandbox {
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Opens the network to commands, or closes it.
    pub fn with_network(self, network: bool) -> Self {
        Self { network, ..self }
    }

    /// Gives commands a terminal, or none. Without a launcher there is none.
    pub fn with_terminal(self, terminal: bool) -> Self {
        Self { terminal, ..self }
    }

    /// Lets a command be written to, or gives it no input.
    pub fn with_input(self, input: bool) -> Self {
        Self { input, ..self }
    }

    /// Starts commands in a directory of the workspace.
    pub fn with_directory(self, directory: Option<PathBuf>) -> Self {
        Self { directory, ..self }
    }

    /// Whether commands can have a network in common: theirs is closed, and the mode can do it.
    pub fn can_share_network(&self) -> bool {
        self.mode == Mode::Bubblewrap && self.has_launcher() && !self.network
    }

    /// A network for commands to have in common.
    pub fn shared_network(&self) -> Result<SharedNetwork, String> {
        match self.launcher().map_err(|error| error.to_string())? {
            Some(launcher) => SharedNetwork::make(&launcher),
            None => Err("there is no sandbox".to_owned()),
        }
    }

    /// Starts commands whose network is closed in the one of this holder.
    pub fn with_network_holder(self, network_holder: Option<u32>) -> Self {
        Self {
            network_holder,
            ..self
        }
    }

    /// The same without a fence: limits hold, and nothing is left behind.
    pub fn opened(self) -> Self {
        Self {
            mode: Mode::Nothing,
            network: true,
            ..self
        }
    }
}
