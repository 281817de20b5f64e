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

/// Calls that change another process, or one that is named by 0: oneself. The first argument names it.
/// Through limits and priorities alone, a command could stop whoever watches it.
const ON_PROCESSES: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

/// Calls that send to a thread's process whichever of its threads is named; the others want its first.
const SIGNALS_BY_THREAD: &[i64] = &[libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo];

/// Memory, queues and semaphores that all programs of a user share by number or by name. A namespace
/// has its own; elsewhere they are those of the machine, and stay when the command has ended.
const SHARED_BY_NAME: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Of Linux 6.6; the same number everywhere.
const FCHMODAT2: i64 = 452;
const F_SETOWN_EX: i32 = 15;
const IOPRIO_WHO_PROCESS: u64 = 1;
/// What of a socket's type is its kind; the rest are flags.
const SOCKET_KIND: u64 = 0xf;
/// Whoever runs such a file has the rights of its owner or group.
const LENT_RIGHTS: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Connects with the first data, and Landlock does not look at that.
const MSG_FASTOPEN: u64 = 0x2000_0000;
/// More threads than this are not guarded one by one: a filter has 4,096 instructions.
const THREADS_MAX: usize = 150;

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

/// What the filter depends on.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// There are namespaces, so that only kinds of sockets are refused that they do not hold, and the
    /// processes outside cannot be named.
    pub apart: bool,
    pub network: bool,
    /// Processes that no signal may reach.
    pub guarded: Vec<i32>,
    /// Their threads, where Landlock keeps no signal in; see [`guarded_threads`].
    pub threads: Vec<i32>,
}

/// Refuses them to this process and all that it starts.
pub fn restrict(filter: &Filter) -> Result<(), String> {
    // Their arguments cannot be seen; programs that are told so use the older calls.
    let absent: Rules = [libc::SYS_clone3, libc::SYS_openat2]
        .map(|call| (call, Vec::new()))
        .into();
    apply(absent, libc::ENOSYS)?;
    let explain = |error: seccompiler::BackendError| error.to_string();
    apply(refused(filter).map_err(explain)?, libc::EPERM)?;
    // Apart from the others, because of a filter's greatest length.
    match filter.threads.is_empty() {
        true => Ok(()),
        false => apply(
            signals_by_thread(&filter.threads).map_err(explain)?,
            libc::EPERM,
        ),
    }
}

/// The threads of these processes, by which they could be signalled. Those that start later are not
/// among them: only a kernel whose Landlock scopes signals holds entirely, and needs none of this.
pub fn guarded_threads(processes: &[i32]) -> Vec<i32> {
    let lists = processes
        .iter()
        .filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok());
    let names = lists.flatten().flatten().map(|entry| entry.file_name());
    let threads = names.filter_map(|name| name.to_str()?.parse::<i32>().ok());
    threads
        .filter(|thread| !processes.contains(thread))
        .take(THREADS_MAX)
        .collect()
}

fn signals_by_thread(threads: &[i32]) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for &call in SIGNALS_BY_THREAD {
        let list = threads
            .iter()
            .map(|&id| equals(0, u64::from(id.cast_unsigned())));
        rules.insert(call, list.collect::<Result<_, _>>()?);
        // Whoever they are for: no program uses these numbers, and the filter has its length.
        #[cfg(target_arch = "x86_64")]
        rules.insert(call | X32, Vec::new());
    }
    Ok(rules)
}

fn refused(filter: &Filter) -> Result<Rules, seccompiler::BackendError> {
    let (apart, guarded) = (filter.apart, &filter.guarded);
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
    rules.insert(libc::SYS_mknodat, nodes(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, nodes(1)?);
    rules.insert(libc::SYS_socket, sockets(apart, filter.network)?);
    rules.extend(sending()?);
    rules.extend(modes(apart)?);
    rules.extend(made_with_modes()?);
    rules.extend(on_processes(apart)?);
    if !apart {
        rules.extend(SHARED_BY_NAME.iter().map(|&call| (call, Vec::new())));
        // Who is told of input by a signal may be any process.
        let owners = [libc::F_SETOWN, F_SETOWN_EX].map(|request| equals(1, request as u64));
        rules.insert(
            libc::SYS_fcntl,
            owners.into_iter().collect::<Result<_, _>>()?,
        );
    }
    for &call in SIGNALS.iter().filter(|_| !guarded.is_empty()) {
        // All processes at once, and each guarded one with its group.
        let targets = guarded.iter().flat_map(|&pid| [pid, -pid]).chain([-1]);
        let list = targets.map(|pid| equals(0, u64::from(pid.cast_unsigned())));
        rules.insert(call, list.collect::<Result<_, _>>()?);
    }
    with_x32(&mut rules);
    Ok(rules)
}

/// The same calls by their other numbers.
fn with_x32(rules: &mut Rules) {
    #[cfg(target_arch = "x86_64")]
    for (call, list) in rules.clone() {
        rules.insert(call | X32, list);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = rules;
}

/// Only oneself may be changed, which 0 names.
fn on_processes(apart: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for &call in ON_PROCESSES {
        rules.insert(call, vec![differs(0, 0)?]);
    }
    if !apart {
        // Threads of one's own are named by number, too, so this is left where nobody else is seen.
        rules.insert(libc::SYS_sched_setaffinity, vec![differs(0, 0)?]);
    }
    let process = u64::from(libc::PRIO_PROCESS);
    rules.insert(
        libc::SYS_setpriority,
        vec![differs(0, process)?, differs(1, 0)?],
    );
    rules.insert(
        libc::SYS_ioprio_set,
        vec![differs(0, IOPRIO_WHO_PROCESS)?, differs(1, 0)?],
    );
    Ok(rules)
}

/// Nothing connects but by `connect`, where Landlock looks.
fn sending() -> Result<Rules, seccompiler::BackendError> {
    let calls = [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ];
    let mut rules = Rules::new();
    for (call, argument) in calls {
        let fast = masked(argument, MSG_FASTOPEN, MSG_FASTOPEN)?;
        rules.insert(call, vec![SeccompRule::new(vec![fast])?]);
    }
    Ok(rules)
}

/// Files that lend the rights of their owner or group are not made, either.
fn made_with_modes() -> Result<Rules, seccompiler::BackendError> {
    let mut opening = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    opening.push((libc::SYS_open, 1));
    let mut rules = Rules::new();
    for (call, flags) in opening {
        let mut list = Vec::new();
        for made in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            let made = u64::from(made.cast_unsigned());
            for bit in LENT_RIGHTS.map(u64::from) {
                let both = vec![masked(flags, made, made)?, masked(flags + 1, bit, bit)?];
                list.push(SeccompRule::new(both)?);
            }
        }
        rules.insert(call, list);
    }
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_creat, lent(1)?);
    Ok(rules)
}

fn lent(argument: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let bits = LENT_RIGHTS.map(u64::from);
    bits.into_iter()
        .map(|bit| SeccompRule::new(vec![masked(argument, bit, bit)?]))
        .collect()
}

/// Which file is meant cannot be seen here, but the mode can: refused is what lends the rights of the
/// owner or the group. Landlock knows no right to change a mode, so that without mounts also refused is
/// what lets everybody write, or locks the owner out.
fn modes(apart: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut calls = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_chmod, 1));
    let mut rules = Rules::new();
    for (call, argument) in calls {
        let mut list = lent(argument)?;
        if !apart {
            let (everybody, owner) = (u64::from(libc::S_IWOTH), u64::from(libc::S_IRUSR));
            list.push(SeccompRule::new(vec![masked(
                argument, everybody, everybody,
            )?])?);
            list.push(SeccompRule::new(vec![masked(argument, owner, 0)?])?);
        }
        rules.insert(call, list);
    }
    Ok(rules)
}

/// Devices, and files that lend rights.
fn nodes(argument: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut list = lent(argument)?;
    for kind in [libc::S_IFBLK, libc::S_IFCHR].map(u64::from) {
        let device = masked(argument, u64::from(libc::S_IFMT), kind)?;
        list.push(SeccompRule::new(vec![device])?);
    }
    Ok(list)
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
    let other = fine
        .into_iter()
        .map(|family| unequal(0, u64::from(family.cast_unsigned())));
    // MPTCP, SMC and their like reach a TCP port, and Landlock's rules for those do not see them.
    let stream = u64::from(libc::SOCK_STREAM.cast_unsigned());
    let not_tcp = vec![
        masked(1, SOCKET_KIND, stream)?,
        unequal(2, 0)?,
        unequal(2, u64::from(libc::IPPROTO_TCP.cast_unsigned()))?,
    ];
    Ok(vec![
        SeccompRule::new(other.collect::<Result<_, _>>()?)?,
        SeccompRule::new(not_tcp)?,
    ])
}

fn unequal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![unequal(argument, value)?])
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
    let program = compiled(rules, errno)?;
    seccompiler::apply_filter(&program).map_err(|error| explained(&error))
}

fn compiled(rules: Rules, errno: i32) -> Result<BpfProgram, String> {
    let architecture =
        TargetArch::try_from(std::env::consts::ARCH).map_err(|error| explained(&error))?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)
        .map_err(|error| explained(&error))?;
    BpfProgram::try_from(filter).map_err(|error| explained(&error))
}

fn explained(error: &dyn std::fmt::Display) -> String {
    format!("the filter of system calls: {error}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What the kernel takes.
    const INSTRUCTIONS_MAX: usize = 4096;

    #[test]
    fn every_filter_is_short_enough() {
        for (apart, network) in [(true, true), (true, false), (false, true), (false, false)] {
            let filter = Filter {
                apart,
                network,
                guarded: vec![10, 11],
                threads: Vec::new(),
            };
            let program = compiled(refused(&filter).unwrap(), libc::EPERM).unwrap();
            assert!(program.len() <= INSTRUCTIONS_MAX, "{}", program.len());
        }
        let most: Vec<i32> = (1..).take(THREADS_MAX).collect();
        let program = compiled(signals_by_thread(&most).unwrap(), libc::EPERM).unwrap();
        assert!(program.len() <= INSTRUCTIONS_MAX, "{}", program.len());
    }

    /// On kernels whose Landlock does not keep signals in.
    #[test]
    fn the_threads_of_guarded_processes_are_guarded() {
        let own = rustix::process::getpid().as_raw_pid();
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            let _ = end.recv();
        });
        let other = told.recv().unwrap();
        let guarded = guarded_threads(&[own]);
        assert!(guarded.contains(&other), "{guarded:?}");
        assert!(!guarded.contains(&own), "{guarded:?}");
        drop(ended);
        thread.join().unwrap();
    }
}
