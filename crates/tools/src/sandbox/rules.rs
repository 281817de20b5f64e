//! The fence made of Landlock rules: what is not opened by one is closed.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

/// The newest rights that are asked for; an older kernel enforces those it knows.
const ABI_WANTED: ABI = ABI::V6;
/// Devices that every program may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// What is open of the network.
#[derive(Clone, Copy, Debug)]
pub enum Net<'a> {
    Closed,
    /// All but connections to these ports.
    But(&'a [u16]),
}

impl Net<'_> {
    fn handled(self) -> BitFlags<AccessNet> {
        match self {
            Net::Closed => AccessNet::from_all(ABI_WANTED),
            Net::But([]) => BitFlags::EMPTY,
            Net::But(_) => AccessNet::ConnectTcp.into(),
        }
    }

    /// There are no rules that forbid, so all the others are allowed one by one: some 65,000 in a few
    /// hundredths of a second, and only where the network is open.
    fn open(self) -> impl Iterator<Item = u16> {
        let closed: &[u16] = match self {
            Net::Closed | Net::But([]) => return None.into_iter().flatten(),
            Net::But(ports) => ports,
        };
        let closed = closed.to_vec();
        let open = (0..=u16::MAX).filter(move |port| !closed.contains(port));
        Some(open).into_iter().flatten()
    }
}

/// Closes everything but these places to this process and all that it starts.
pub fn restrict(writable: &[PathBuf], readable: &[PathBuf], net: Net) -> Result<(), String> {
    match enforce(writable, readable, DEVICES, net)? {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".to_owned()),
    }
}

/// Closes everything to writing but these places, as far as the kernel can; mounts do so anyway.
///
/// Not even /proc is open: root owns the settings of the kernel there, whatever it was deprived of.
pub fn restrict_writing(writable: &[PathBuf], net: Net) -> Result<(), String> {
    let everything = [PathBuf::from("/")];
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let writable: Vec<PathBuf> = writable.iter().chain(&shared).cloned().collect();
    enforce(&writable, &everything, &["/dev"], net).map(drop)
}

fn enforce(
    writable: &[PathBuf],
    readable: &[PathBuf],
    devices: &[&str],
    net: Net,
) -> Result<RulesetStatus, String> {
    let explain = |error: RulesetError| format!("Landlock: {error}");
    let all = AccessFs::from_all(ABI_WANTED);
    // Neither devices may be made in the workspace nor may those be used that are there.
    let write = all & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let read = AccessFs::from_read(ABI_WANTED);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let status = created(net)
        .and_then(|rules| rules.add_rules(path_beneath_rules(writable, write)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(devices, device)))
        .and_then(|rules| rules.add_rules(connections(net)))
        .and_then(|rules| rules.restrict_self())
        .map_err(explain)?;
    Ok(status.ruleset)
}

fn created(net: Net) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI_WANTED))?
        .scope(Scope::from_all(ABI_WANTED))?;
    match net.handled().is_empty() {
        true => rules.create(),
        false => rules.handle_access(net.handled())?.create(),
    }
}

fn connections(net: Net) -> impl Iterator<Item = Result<NetPort, RulesetError>> {
    net.open()
        .map(|port| Ok(NetPort::new(port, AccessNet::ConnectTcp)))
}
