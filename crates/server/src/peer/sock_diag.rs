//! One question to the kernel's socket table, and its answer (sock_diag(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};

use super::Uid;

const HEADER_BYTES: usize = 16;
const SOCKET_ID_BYTES: usize = 48;
/// `nlmsghdr` and `inet_diag_req_v2`.
const REQUEST_BYTES: usize = HEADER_BYTES + 8 + SOCKET_ID_BYTES;
/// Where things lie in an answer: `nlmsghdr`, then `inet_diag_msg`.
const SOCKET_ID_AT: usize = HEADER_BYTES + 4;
const UID_AT: usize = SOCKET_ID_AT + SOCKET_ID_BYTES + 12;
const INODE_AT: usize = UID_AT + 4;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// A socket to the kernel, opened once and kept: so a lookup needs no descriptor of its own, and
/// works when there are none left.
#[derive(Default)]
pub struct SockDiag(Mutex<Option<DiagSocket>>);

struct DiagSocket {
    socket: OwnedFd,
    /// Of the last question; its answer carries it too.
    number: u32,
}

impl SockDiag {
    /// The user who made the client's end of a connection; none if there is no such socket.
    pub fn user(&self, client: SocketAddr, server: SocketAddr) -> io::Result<Option<Uid>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Put back only after a whole exchange: what is left of a broken one answers nothing.
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => DiagSocket::open()?,
        };
        let user = connection.ask(client, server)?;
        *kept = Some(connection);
        Ok(user)
    }
}

impl DiagSocket {
    fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let family = AddressFamily::NETLINK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
        connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Self { socket, number: 0 })
    }

    fn ask(&mut self, client: SocketAddr, server: SocketAddr) -> io::Result<Option<Uid>> {
        self.number = self.number.wrapping_add(1);
        let question = request(client, server, self.number);
        send(&self.socket, &question, SendFlags::empty())?;
        let mut answer = [0; 512];
        // The kernel answers before `send` returns, so this never waits.
        let (_, length) = recv(&self.socket, &mut answer, RecvFlags::DONTWAIT)?;
        let answer = answer.get(..length).ok_or_else(garbled)?;
        read(answer, client, server, self.number)
    }
}

/// Asks for one socket by its own address and the one it is connected to.
fn request(client: SocketAddr, server: SocketAddr, number: u32) -> Vec<u8> {
    let (family, from, to) = match (client.ip(), server.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => (AF_INET, wide(from), wide(to)),
        (from, to) => (AF_INET6, sixteen(from), sixteen(to)),
    };
    let mut bytes = Vec::with_capacity(REQUEST_BYTES);
    bytes.extend((REQUEST_BYTES as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend(number.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend([family, IPPROTO_TCP, 0, 0]);
    // In any state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(client.port().to_be_bytes());
    bytes.extend(server.port().to_be_bytes());
    bytes.extend(from);
    bytes.extend(to);
    // By any interface, and whatever its cookie is.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes
}

fn wide(address: Ipv4Addr) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&address.octets());
    bytes
}

fn sixteen(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn read(
    answer: &[u8],
    client: SocketAddr,
    server: SocketAddr,
    number: u32,
) -> io::Result<Option<Uid>> {
    if u32_at(answer, 8)? != number {
        return Err(garbled());
    }
    match u16_at(answer, 4)? {
        SOCK_DIAG_BY_FAMILY => {}
        NLMSG_ERROR => {
            let code = (u32_at(answer, HEADER_BYTES)? as i32).wrapping_neg();
            let missing = code == rustix::io::Errno::NOENT.raw_os_error();
            return match missing {
                true => Ok(None),
                false => Err(io::Error::from_raw_os_error(code)),
            };
        }
        _ => return Err(garbled()),
    }
    // Where no connection matches, the kernel offers a listener on the client's port.
    let exact = socket_id(answer)? == (client, server);
    // A socket that its process has closed has no inode any more, and its user is told as 0.
    let open = u32_at(answer, INODE_AT)? != 0;
    let user = u32_at(answer, UID_AT)?;
    Ok((exact && open).then_some(user))
}

/// The two ends of the socket that an answer is about.
fn socket_id(answer: &[u8]) -> io::Result<(SocketAddr, SocketAddr)> {
    let family = *answer.get(HEADER_BYTES).ok_or_else(garbled)?;
    let end = |port_at: usize, address_at: usize| -> io::Result<SocketAddr> {
        let port = u16::from_be_bytes(bytes_at(answer, SOCKET_ID_AT + port_at)?);
        let at = SOCKET_ID_AT + address_at;
        let address = match family {
            AF_INET => IpAddr::V4(Ipv4Addr::from(bytes_at::<4>(answer, at)?)),
            AF_INET6 => Ipv6Addr::from(bytes_at::<16>(answer, at)?).to_canonical(),
            _ => return Err(garbled()),
        };
        Ok(SocketAddr::new(address, port))
    };
    Ok((end(0, 4)?, end(2, 20)?))
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    Ok(u16::from_ne_bytes(bytes_at(bytes, at)?))
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    Ok(u32::from_ne_bytes(bytes_at(bytes, at)?))
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let found = bytes
        .get(at..at + N)
        .and_then(|found| found.try_into().ok());
    found.ok_or_else(garbled)
}

fn garbled() -> io::Error {
    io::Error::other("the kernel's answer cannot be read")
}
