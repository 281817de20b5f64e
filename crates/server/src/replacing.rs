//! Clients that name themselves: of two sockets of one client the newer one stays.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use vocabulary::{Caller, TenantId};

/// The longest name that counts; longer ones are nobody's.
const CLIENT_NAME_BYTES_MAX: usize = 200;

/// A name counts among the sockets of one member only.
type ClientName = (TenantId, String, String);

/// The newest socket of every client that has a name. There is no more of it than there are sockets.
#[derive(Clone, Default)]
pub struct NamedClients(Arc<Mutex<HashMap<ClientName, CancellationToken>>>);

/// One socket's place, as long as it lives.
pub struct NamedSocket {
    clients: NamedClients,
    name: ClientName,
    /// Comes when a newer socket of the same client is there.
    pub replaced: CancellationToken,
}

impl NamedClients {
    /// Takes the place of the socket that had this name, and tells it.
    pub fn enter(&self, caller: &Caller, name: &str) -> Option<NamedSocket> {
        if name.is_empty() || name.len() > CLIENT_NAME_BYTES_MAX {
            return None;
        }
        let tenant = caller.tenant.clone();
        let name = (tenant, caller.member.clone(), name.to_owned());
        let replaced = CancellationToken::new();
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(older) = newest.insert(name.clone(), replaced.clone()) {
            older.cancel();
        }
        drop(newest);
        Some(NamedSocket {
            clients: self.clone(),
            name,
            replaced,
        })
    }
}

impl Drop for NamedSocket {
    fn drop(&mut self) {
        let newest = &self.clients.0;
        let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
        // Who was replaced has no place any more; it is the newer one's.
        if !self.replaced.is_cancelled() {
            newest.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(member: &str) -> Caller {
        Caller {
            member: member.to_owned(),
            ..Caller::local()
        }
    }

    #[test]
    fn the_newer_socket_of_a_client_replaces_the_older_and_of_no_other() {
        let clients = NamedClients::default();
        let first = clients.enter(&caller("ann"), "tab").expect("a place");
        let other_tab = clients.enter(&caller("ann"), "tab-2").expect("a place");
        let other_member = clients.enter(&caller("bob"), "tab").expect("a place");
        assert!(!first.replaced.is_cancelled());
        let second = clients.enter(&caller("ann"), "tab").expect("a place");
        assert!(first.replaced.is_cancelled());
        drop(first);
        assert!(!second.replaced.is_cancelled());
        let third = clients.enter(&caller("ann"), "tab").expect("a place");
        assert!(second.replaced.is_cancelled(), "it kept its place");
        assert!(!other_tab.replaced.is_cancelled() && !other_member.replaced.is_cancelled());
        drop((second, third, other_tab, other_member));
        assert!(clients.0.lock().expect("held by nobody").is_empty());
        assert!(clients.enter(&caller("ann"), "").is_none());
        assert!(clients.enter(&caller("ann"), &"x".repeat(201)).is_none());
    }
}
