//! The fence made of Landlock rules: what is not opened by one is closed.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
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

/// Closes everything but these places to this process and all that it starts.
pub fn restrict(writable: &[PathBuf], readable: &[PathBuf], network: bool) -> Result<(), String> {
    let net = match network {
        true => BitFlags::EMPTY,
        false => AccessNet::from_all(ABI_WANTED),
    };
    match enforce(writable, readable, DEVICES, net)? {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".to_owned()),
    }
}

/// Closes everything to writing but these places, as far as the kernel can; mounts do so anyway.
pub fn restrict_writing(writable: &[PathBuf]) -> Result<(), String> {
    let everything = [PathBuf::from("/")];
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let writable: Vec<PathBuf> = writable.iter().chain(&shared).cloned().collect();
    enforce(&writable, &everything, &["/dev", "/proc"], BitFlags::EMPTY).map(drop)
}

fn enforce(
    writable: &[PathBuf],
    readable: &[PathBuf],
    devices: &[&str],
    net: BitFlags<AccessNet>,
) -> Result<RulesetStatus, String> {
    let explain = |error: landlock::RulesetError| format!("Landlock: {error}");
    let all = AccessFs::from_all(ABI_WANTED);
    // Neither devices may be made in the workspace nor may those be used that are there.
    let write = all & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let read = AccessFs::from_read(ABI_WANTED);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(ABI_WANTED)))
        .map_err(explain)?;
    if !net.is_empty() {
        rules = rules.handle_access(net).map_err(explain)?;
    }
    let status = rules
        .create()
        .and_then(|rules| rules.add_rules(path_beneath_rules(writable, write)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(devices, device)))
        .and_then(|rules| rules.restrict_self())
        .map_err(explain)?;
    Ok(status.ruleset)
}
