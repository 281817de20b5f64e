//! Whose process is at the other end of a local connection.
//!
//! The kernel knows: asked over `NETLINK_SOCK_DIAG` for exactly one socket, that of the client, it
//! tells the user who made it. One lookup in its hash table, however many sockets there are;
//! reading `/proc/net/tcp` would go through all of them.

use std::net::{IpAddr, SocketAddr};

/// A user's number.
pub type Uid = u32;

/// What "some user I cannot name to you" is called inside a user namespace: nobody in particular.
const OVERFLOW_UID: Uid = 65_534;

/// Who connected, as far as the machine can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    pub address: IpAddr,
    /// The user of its process, for a process of this machine.
    pub user: Option<Uid>,
}

impl Peer {
    /// Whether it is a process of our own user. Root is not, unless we are root: what runs as root
    /// and connects here is a proxy, as a rule, and speaks for others.
    pub fn is_own_user(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        own != OVERFLOW_UID && self.user == Some(own)
    }
}

/// Finds out who is at the other end of connections.
#[derive(Default)]
pub struct PeerLookup {
    #[cfg(target_os = "linux")]
    kernel: sock_diag::SockDiag,
}

impl PeerLookup {
    /// The peer of an accepted connection, both addresses as the accepted socket tells them.
    pub fn find(&self, client: SocketAddr, server: SocketAddr) -> Peer {
        let (client, server) = (canonical(client), canonical(server));
        let address = client.ip();
        let user = match address.is_loopback() {
            true => self.user(client, server),
            false => None,
        };
        Peer { address, user }
    }

    #[cfg(target_os = "linux")]
    fn user(&self, client: SocketAddr, server: SocketAddr) -> Option<Uid> {
        match self.kernel.user(client, server) {
            Ok(user) => user,
            Err(error) => {
                tracing::debug!(%error, "cannot ask the kernel who connected");
                None
            }
        }
    }

    /// Elsewhere nobody is known by their process, and everyone needs the token.
    #[cfg(not(target_os = "linux"))]
    fn user(&self, _client: SocketAddr, _server: SocketAddr) -> Option<Uid> {
        None
    }
}

/// An IPv4 address in IPv6's clothes is an IPv4 address, to the kernel's table too.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(target_os = "linux")]
mod sock_diag;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};

    use super::*;

    fn connected(listen: IpAddr, to: IpAddr) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((listen, 0)).expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let client = TcpStream::connect((to, port)).expect("a connection");
        (client, listener.accept().expect("the other end").0)
    }

    fn found(lookup: &PeerLookup, accepted: &TcpStream) -> Peer {
        let client = accepted.peer_addr().expect("an address");
        lookup.find(client, accepted.local_addr().expect("an address"))
    }

    #[test]
    fn the_user_of_a_connection_is_found_in_every_family() {
        let lookup = PeerLookup::default();
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let mapped = v4.to_ipv6_mapped();
        for (listen, to, address) in [
            (IpAddr::V4(v4), IpAddr::V4(v4), IpAddr::V4(v4)),
            (v6.into(), v6.into(), v6.into()),
            // One end or both speak IPv6 and mean IPv4.
            (Ipv6Addr::UNSPECIFIED.into(), v4.into(), v4.into()),
            (v4.into(), mapped.into(), v4.into()),
            (mapped.into(), mapped.into(), v4.into()),
        ] {
            let (_client, accepted) = connected(listen, to);
            let peer = found(&lookup, &accepted);
            let user = Some(rustix::process::geteuid().as_raw());
            assert_eq!(peer, Peer { address, user }, "{to} at {listen}");
            assert!(peer.is_own_user());
        }
    }

    #[test]
    fn a_socket_that_is_gone_belongs_to_nobody() {
        let lookup = PeerLookup::default();
        let (client, accepted) = connected(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
        // The kernel still knows the connection, and calls its user 0, which may be us.
        drop(client);
        assert_eq!(found(&lookup, &accepted).user, None);
    }

    #[test]
    fn a_client_that_has_said_all_it_wants_is_still_there() {
        let (client, accepted) = connected(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
        client.shutdown(Shutdown::Write).expect("half an end");
        assert!(found(&PeerLookup::default(), &accepted).is_own_user());
    }

    #[test]
    fn a_listener_on_the_clients_port_is_not_the_client() {
        let lookup = PeerLookup::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let client = listener.local_addr().expect("an address");
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        assert_eq!(lookup.find(client, server).user, None);
    }

    #[test]
    fn who_is_elsewhere_is_not_looked_for() {
        let (client, server) = ("192.0.2.7:5000", "192.0.2.1:7337");
        let peer = PeerLookup::default().find(
            client.parse().expect("an address"),
            server.parse().expect("an address"),
        );
        assert_eq!(peer.user, None);
        assert!(!peer.is_own_user());
    }
}
