//! The filter of system calls: what no command of an agent needs, and what would reach around the fence.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Keys of the user that lie in the kernel.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_fanotify_init,
    // Around this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Calls that name a process to be signalled, first.
const SIGNALS: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
];

/// Of Linux 6.6; the same number everywhere.
const FCHMODAT2: i64 = 452;

const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Bit that marks the calls of x32, a second set of numbers for the same.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Refuses them to this process and all that it starts.
///
/// `apart`: there is a network namespace, so that only kinds of sockets are refused that it does not
/// hold. `guarded`: processes that no signal may reach.
pub fn restrict(apart: bool, network: bool, guarded: &[i32]) -> Result<(), String> {
    // Its arguments cannot be seen; programs that are told so use the older call.
    let absent: Rules = [(libc::SYS_clone3, Vec::new())].into();
    apply(absent, libc::ENOSYS)?;
    let rules = refused(apart, network, guarded).map_err(|error| error.to_string())?;
    apply(rules, libc::EPERM)
}

fn refused(
    apart: bool,
    network: bool,
    guarded: &[i32],
) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED
        .iter()
        .chain(REFUSED_HERE)
        .map(|&call| (call, Vec::new()))
        .collect();
    let mut any_flag = Vec::new();
    for bit in (0..32)
        .map(|bit| 1u64 << bit)
        .filter(|bit| NAMESPACES as u64 & bit != 0)
    {
        any_flag.push(SeccompRule::new(vec![masked(0, bit, bit)?])?);
    }
    rules.insert(libc::SYS_clone, any_flag);
    // Typing into the terminal of whoever started us.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| equals(1, request));
    rules.insert(
        libc::SYS_ioctl,
        typing.into_iter().collect::<Result<_, _>>()?,
    );
    let mut devices = Vec::new();
    for kind in [libc::S_IFBLK, libc::S_IFCHR].map(u64::from) {
        devices.push(SeccompRule::new(vec![masked(
            2,
            u64::from(libc::S_IFMT),
            kind,
        )?])?);
    }
    rules.insert(libc::SYS_mknodat, devices);
    #[cfg(target_arch = "x86_64")]
    {
        let mut devices = Vec::new();
        for kind in [libc::S_IFBLK, libc::S_IFCHR].map(u64::from) {
            devices.push(SeccompRule::new(vec![masked(
                1,
                u64::from(libc::S_IFMT),
                kind,
            )?])?);
        }
        rules.insert(libc::SYS_mknod, devices);
    }
    rules.insert(libc::SYS_socket, sockets(apart, network)?);
    if !apart {
        rules.extend(modes()?);
    }
    for &call in SIGNALS.iter().filter(|_| !guarded.is_empty()) {
        // All processes at once, and each guarded one with its group.
        let targets = guarded.iter().flat_map(|&pid| [pid, -pid]).chain([-1]);
        let list = targets.map(|pid| equals(0, u64::from(pid.cast_unsigned())));
        rules.insert(call, list.collect::<Result<_, _>>()?);
    }
    #[cfg(target_arch = "x86_64")]
    for (call, list) in rules.clone() {
        rules.insert(call | X32, list);
    }
    Ok(rules)
}

/// Landlock knows no right to change a mode. Which file is meant cannot be seen here, but the mode can:
/// refused is what lends the owner's rights, lets everybody write, or locks the owner out.
fn modes() -> Result<Rules, seccompiler::BackendError> {
    let mut calls = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_chmod, 1));
    let mut rules = Rules::new();
    for (call, argument) in calls {
        let mut list = Vec::new();
        for bit in [libc::S_ISUID, libc::S_ISGID, libc::S_IWOTH].map(u64::from) {
            list.push(SeccompRule::new(vec![masked(argument, bit, bit)?])?);
        }
        list.push(SeccompRule::new(vec![masked(
            argument,
            u64::from(libc::S_IRUSR),
            0,
        )?])?);
        rules.insert(call, list);
    }
    Ok(rules)
}

/// The kinds of sockets that are refused; none listed means all.
fn sockets(apart: bool, network: bool) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let fine: Vec<i32> = match (apart, network) {
        (true, _) => internet.into_iter().chain([libc::AF_UNIX]).collect(),
        // A socket in a directory could not be told from one of the system.
        (false, true) => internet.to_vec(),
        (false, false) => return Ok(Vec::new()),
    };
    let other = fine.into_iter().map(|family| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    Ok(vec![SeccompRule::new(other.collect::<Result<_, _>>()?)?])
}

fn equals(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition =
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
    SeccompRule::new(vec![condition])
}

fn masked(
    argument: u8,
    mask: u64,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let operation = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
}

fn apply(rules: Rules, errno: i32) -> Result<(), String> {
    let explain = |error: &dyn std::fmt::Display| format!("the filter of system calls: {error}");
    let architecture =
        TargetArch::try_from(std::env::consts::ARCH).map_err(|error| explain(&error))?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)
        .map_err(|error| explain(&error))?;
    let program = BpfProgram::try_from(filter).map_err(|error| explain(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| explain(&error))
}
