//! The network that the commands of one thread have in common where theirs is closed: a namespace with
//! nothing in it but its own loopback, so that one command reaches what another one serves.
//!
//! A process that only waits has the namespace until the server lets go of it. No command lives in the
//! user namespace that it belongs to, so none can change it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::id_map::unshare;
use super::launcher::{ARGUMENT, JOIN, NETWORK};

/// Of netlink: the length and kind of a request to change an interface, and of its answer.
const REQUEST_BYTES: u32 = 32;
const ERROR_AT: usize = 16;
const NEW_LINK: u16 = 16;
const REQUEST_AND_ACKNOWLEDGE: u16 = 5;
const INTERFACE_UP: u32 = 1;
/// The loopback is always the first interface of a namespace.
const LOOPBACK: u32 = 1;

/// A namespace that is there as long as this is.
#[derive(Debug)]
pub struct SharedNetwork {
    holder: Child,
}

impl SharedNetwork {
    /// Makes one; waits until it is there.
    pub fn make(launcher: &Path) -> Result<SharedNetwork, String> {
        let holder = Command::new(launcher)
            .args([ARGUMENT, NETWORK])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // What is typed to the server's terminal does not end it.
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut made = SharedNetwork { holder };
        let output = made.holder.stdout.as_mut();
        let read = output.map(|output| output.read_exact(&mut [0]));
        match read {
            Some(Ok(())) => Ok(made),
            Some(Err(_)) | None => Err("no namespace for the network could be made".to_owned()),
        }
    }

    /// Whether it is still there.
    pub fn is_there(&mut self) -> bool {
        matches!(self.holder.try_wait(), Ok(None))
    }

    pub fn holder(&self) -> u32 {
        self.holder.id()
    }
}

impl Drop for SharedNetwork {
    fn drop(&mut self) {
        // It has nothing to finish.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// The launcher's arguments for running a program in the network of a holder.
pub fn joining(holder: u32, program: &Path, arguments: Vec<OsString>) -> Vec<OsString> {
    let mut list = vec![ARGUMENT.into(), JOIN.into(), holder.to_string().into()];
    list.push(program.into());
    list.extend(arguments);
    list
}

/// The process that holds a network until its input closes.
pub fn hold() -> Result<i32, String> {
    enter_new().map_err(|error| format!("no namespace: {error}"))?;
    bring_up_loopback().map_err(|error| format!("no loopback: {error}"))?;
    let mut output = std::io::stdout();
    let told = output.write_all(b"\n").and_then(|()| output.flush());
    told.map_err(|error| error.to_string())?;
    let _ = std::io::stdin().read(&mut [0]);
    Ok(0)
}

/// Who may not have a network namespace otherwise gets one in a user namespace.
fn enter_new() -> std::io::Result<()> {
    if unshare(UnshareFlags::NEWNET).is_ok() {
        return Ok(());
    }
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn bring_up_loopback() -> rustix::io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut request = Vec::new();
    request.extend(REQUEST_BYTES.to_ne_bytes());
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Its number and who sends it; then the family and the kind of the interface: any.
    request.extend([0; 12]);
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend(INTERFACE_UP.to_ne_bytes());
    // Which flags are to change.
    request.extend(INTERFACE_UP.to_ne_bytes());
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let error = answer[..length].get(ERROR_AT..).and_then(|rest| {
        let number = rest.first_chunk().copied().map(i32::from_ne_bytes)?;
        Some(number.saturating_neg())
    });
    match error {
        Some(0) => Ok(()),
        Some(number) => Err(rustix::io::Errno::from_raw_os_error(number)),
        None => Err(rustix::io::Errno::PROTO),
    }
}

/// Enters a holder's network and becomes the program. Does not return but for saying why it failed; then
/// nothing has run.
pub fn join_and_become(holder: &str, program: &[OsString]) -> String {
    if let Err(error) = join(holder) {
        return format!("the thread's network cannot be entered: {error}");
    }
    let Some((name, arguments)) = program.split_first() else {
        return "there is no program to run".to_owned();
    };
    let error = Command::new(name).args(arguments).exec();
    format!("cannot start {}: {error}", name.to_string_lossy())
}

fn join(holder: &str) -> std::io::Result<()> {
    let namespaces = Path::new("/proc").join(holder).join("ns");
    let network = File::open(namespaces.join("net"))?;
    let enter =
        |file: &File, kind| rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind));
    // Whoever may not enter it as they are may in the user namespace that it belongs to.
    if enter(&network, LinkNameSpaceType::Network).is_ok() {
        return Ok(());
    }
    let user = File::open(namespaces.join("user"))?;
    enter(&user, LinkNameSpaceType::User)?;
    Ok(enter(&network, LinkNameSpaceType::Network)?)
}
