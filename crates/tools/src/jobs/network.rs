//! The network that the commands of a thread have in common.

use tokio::sync::Mutex;

use crate::Sandbox;
use crate::sandbox::{Mode, SharedNetwork};

/// What a command is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThreadNetwork {
    /// Its namespace is held by this process.
    Shared(u32),
    /// None is needed, or the sandbox knows none.
    None,
    /// Why there is none.
    Impossible(String),
}

impl ThreadNetwork {
    pub fn holder(&self) -> Option<u32> {
        match self {
            ThreadNetwork::Shared(holder) => Some(*holder),
            ThreadNetwork::None | ThreadNetwork::Impossible(_) => None,
        }
    }

    /// What must be known of a command in the background that others cannot reach.
    pub fn note(&self, mode: Mode, open: bool) -> Option<String> {
        match (self, mode) {
            (_, _) if open => None,
            (ThreadNetwork::Impossible(why), _) => Some(format!(
                "[other commands cannot reach its ports: {why}; test it within one command]"
            )),
            (_, Mode::Landlock) => Some(
                "[this sandbox (Landlock) has no sockets while the network is closed: it can serve \
                 nothing]"
                    .to_owned(),
            ),
            (ThreadNetwork::Shared(_) | ThreadNetwork::None, Mode::Bubblewrap | Mode::Nothing) => {
                None
            }
        }
    }
}

/// Makes it when the first command wants it, and has it until the thread has nothing to do.
#[derive(Default)]
pub(super) struct ThreadNetworks(Mutex<HeldNetwork>);

#[derive(Default)]
enum HeldNetwork {
    #[default]
    NotYet,
    Held(SharedNetwork),
    Impossible(String),
}

impl ThreadNetworks {
    pub async fn of(&self, sandbox: &Sandbox) -> ThreadNetwork {
        if !sandbox.can_share_network() {
            return ThreadNetwork::None;
        }
        let mut held = self.0.lock().await;
        match &mut *held {
            HeldNetwork::Held(network) => {
                if network.is_there() {
                    return ThreadNetwork::Shared(network.holder());
                }
            }
            HeldNetwork::Impossible(why) => return ThreadNetwork::Impossible(why.clone()),
            HeldNetwork::NotYet => {}
        }
        let sandbox = sandbox.clone();
        let made = tokio::task::spawn_blocking(move || sandbox.shared_network()).await;
        let made = made.unwrap_or_else(|error| Err(error.to_string()));
        let (state, told) = match made {
            Ok(network) => {
                let told = ThreadNetwork::Shared(network.holder());
                (HeldNetwork::Held(network), told)
            }
            Err(why) => (
                HeldNetwork::Impossible(why.clone()),
                ThreadNetwork::Impossible(why),
            ),
        };
        *held = state;
        told
    }

    /// Ends the process that holds it; the next command has another. One that is in use stays.
    pub fn let_go(&self) {
        let Ok(mut held) = self.0.try_lock() else {
            return;
        };
        if let HeldNetwork::Held(network) = std::mem::take(&mut *held) {
            // It is waited for until it has ended.
            tokio::task::spawn_blocking(move || drop(network));
        }
    }
}
