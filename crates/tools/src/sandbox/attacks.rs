//! Attempts to get out: the escape tests make them, and so does `dragoman sandbox check` on the machine of
//! whoever asks. So each is harmless where it succeeds: it aims at the ground made for it, leaves as it
//! was what it sets, or only opens.
//!
//! A script may say ESCAPED; the ground is looked at in any case. Variables: `$OUT` a directory outside,
//! `$WS` the workspace, `$PRIVATE` the server's own data, `$AT_HOME` a file in the home directory,
//! `$SERVER` its process, `$PORT` and `$TOKEN` its port and token, `$SOCKET` and `$ABSTRACT` its sockets,
//! `$PTRACE` the number of that system call.

pub struct Attack {
    pub name: &'static str,
    pub script: &'static str,
    /// Aims at protected paths inside the workspace.
    pub inside: bool,
    /// Landlock has no rule against it, and a filter of system calls cannot see which file is meant:
    /// there only what it could break is kept from it.
    pub beyond_landlock: bool,
    works: Works,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Works {
    Everywhere,
    /// Only root could do it unfenced.
    ForRoot,
    /// Needs more than this machine may have.
    Perhaps,
}

/// Programs that attempts are made with and that a machine may lack.
const PROGRAMS: &[&str] = &[
    "chrt", "git", "ionice", "perl", "prlimit", "renice", "taskset", "unshare",
];

impl Attack {
    /// What it needs and this machine does not have: then nothing can be said.
    pub fn missing(&self) -> Option<&'static str> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).exists());
        let words = self.script.split(|c: char| !c.is_alphanumeric());
        let needed = words.filter_map(|word| PROGRAMS.iter().find(|name| **name == word));
        needed.copied().find(|name| !is_there(name))
    }

    /// Whether it depends on what root is to commands.
    pub fn needs_root(&self) -> bool {
        self.works != Works::Everywhere
    }

    pub fn works_unfenced(&self) -> bool {
        match self.works {
            Works::Everywhere => true,
            Works::ForRoot => rustix::process::geteuid().is_root(),
            Works::Perhaps => false,
        }
    }
}

const fn outside(name: &'static str, script: &'static str) -> Attack {
    Attack {
        name,
        script,
        inside: false,
        beyond_landlock: false,
        works: Works::Everywhere,
    }
}

const fn inside(name: &'static str, script: &'static str) -> Attack {
    Attack {
        name,
        script,
        inside: true,
        beyond_landlock: false,
        works: Works::Everywhere,
    }
}

const fn as_root(name: &'static str, script: &'static str) -> Attack {
    Attack {
        name,
        script,
        inside: false,
        beyond_landlock: false,
        works: Works::ForRoot,
    }
}

const fn perhaps(name: &'static str, script: &'static str) -> Attack {
    Attack {
        name,
        script,
        inside: false,
        beyond_landlock: false,
        works: Works::Perhaps,
    }
}

const fn times(name: &'static str, script: &'static str) -> Attack {
    Attack {
        name,
        script,
        inside: false,
        beyond_landlock: true,
        works: Works::Everywhere,
    }
}

pub const ALL: &[Attack] = &[
    outside(
        "take a mode away outside",
        "chmod 0 $OUT/kept && echo ESCAPED",
    ),
    outside("lend one's rights", "chmod u+s $OUT/kept && echo ESCAPED"),
    outside(
        "lend one's rights by a file in the workspace",
        "echo x > lent; chmod u+s lent && echo ESCAPED",
    ),
    outside(
        "lend one's group by a file in the workspace",
        "echo x > lent; chmod g+s lent && echo ESCAPED",
    ),
    outside(
        "make a file that lends one's rights",
        "perl -MFcntl -e 'sysopen(F, \"lent\", O_CREAT|O_WRONLY, 04755) or die; print \"ESCAPED\" if -u \"lent\"'",
    ),
    // Writing elsewhere.
    outside("write outside", "echo x > $OUT/made"),
    outside("append to a file outside", "echo x >> $OUT/kept"),
    outside("truncate a file outside", ": > $OUT/kept"),
    outside("delete outside", "rm -rf $OUT/kept"),
    outside("rename outside", "mv $OUT/kept $OUT/taken"),
    outside("move a file out", "echo x > f; mv f $OUT/made"),
    outside("move a file in", "mv $OUT/kept ."),
    outside(
        "change a mode outside",
        "chmod 777 $OUT/kept && echo ESCAPED",
    ),
    times(
        "change times outside",
        "touch -d @5 $OUT/kept && echo ESCAPED",
    ),
    outside("up and over", "echo x > ../outside/made"),
    outside(
        "a directory with the same beginning",
        "echo x > $WS-secret/made",
    ),
    outside("make a directory outside", "mkdir $OUT/dir && echo ESCAPED"),
    as_root(
        "write to the system",
        "echo x > /etc/dragoman-test && rm /etc/dragoman-test && echo ESCAPED",
    ),
    // Links.
    outside(
        "through a symbolic link",
        "ln -s $OUT link; echo x > link/made",
    ),
    outside(
        "through a chain of links",
        "ln -s .. up; ln -s up/outside two; echo x > two/made",
    ),
    outside("through a hard link", "ln $OUT/kept hard && echo x > hard"),
    outside("a hard link made outside", "echo x > f; ln f $OUT/made"),
    outside(
        "a symbolic link made outside",
        "ln -s /etc/passwd $OUT/made",
    ),
    outside(
        "a link swapped between check and use",
        "mkdir d; (for i in $(seq 200); do rm -rf d; mkdir d; rm -rf d; ln -s $OUT d; done) & \
         for i in $(seq 400); do echo x > d/made; done 2>/dev/null; wait; echo x > d/made",
    ),
    // Through /proc.
    outside("/proc/self/root", "echo x > /proc/self/root$OUT/made"),
    outside(
        "the root of every process",
        "for p in /proc/[0-9]*; do echo x > $p/root$OUT/made; done 2>/dev/null",
    ),
    outside(
        "the root of the server",
        "cat /proc/$SERVER/root$PRIVATE/token",
    ),
    outside(
        "the environment of the server",
        "grep -q . /proc/$SERVER/environ && echo ESCAPED",
    ),
    outside(
        "the open files of the server",
        "for f in /proc/$SERVER/fd/*; do readlink $f && echo ESCAPED; done",
    ),
    as_root(
        "the memory of the server",
        "exec 3<>/proc/$SERVER/mem && echo ESCAPED",
    ),
    perhaps(
        "the memory of the launcher",
        "exec 3<>/proc/$PPID/mem && echo ESCAPED",
    ),
    as_root(
        "settings of the kernel",
        "echo 1 > /proc/sys/kernel/panic_on_warn_not && echo ESCAPED; v=$(cat /proc/sys/vm/swappiness) && echo $v > /proc/sys/vm/swappiness && echo ESCAPED",
    ),
    as_root(
        "settings of the kernel, opened to be read and written",
        "v=$(cat /proc/sys/vm/swappiness) && printf $v 1<>/proc/sys/vm/swappiness && echo ESCAPED",
    ),
    as_root(
        "what runs when a program crashes",
        "exec 3<>/proc/sys/kernel/core_pattern && echo ESCAPED",
    ),
    perhaps(
        "the kernel's emergency keys",
        "exec 3<>/proc/sysrq-trigger && echo ESCAPED",
    ),
    // Secrets.
    outside("read a file of the home directory", "cat $AT_HOME"),
    outside("read the server's token", "cat $PRIVATE/token"),
    outside("read it through a link", "ln -s $PRIVATE/token t; cat t"),
    outside(
        "read it through a hard link",
        "ln $PRIVATE/token t && cat t",
    ),
    outside("read it by another name", "cat ../ws/../private/./token"),
    // It lies in an open directory, which cannot be opened but for it.
    Attack {
        beyond_landlock: true,
        ..outside("read a saved key", "cat $EXTRA/$OWN/$AUTH/key")
    },
    outside("write to the server's data", "echo x > $PRIVATE/token"),
    outside(
        "move the server's data",
        "mv $PRIVATE taken && cat taken/token",
    ),
    as_root(
        "read the passwords of the system",
        "grep -q root /etc/shadow && echo ESCAPED",
    ),
    // Pipes and devices.
    outside(
        "write into a pipe outside",
        "timeout 2 bash -c 'echo x 1<>$OUT/pipe >&1' && echo ESCAPED",
    ),
    as_root("make a device", "mknod disk b 7 0 && echo ESCAPED"),
    as_root(
        "make a character device",
        "mknod memory c 1 1 && echo ESCAPED",
    ),
    perhaps(
        "read a disk",
        "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg; do head -c 1 $d > /dev/null && echo ESCAPED; done",
    ),
    // Network and sockets.
    outside(
        "the server's port with its own token",
        "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo \"Authorization: $TOKEN\" >&3 && echo ESCAPED",
    ),
    outside(
        "the server's port by datagrams",
        "perl -MSocket -e 'socket(S,PF_INET,SOCK_DGRAM,0) or die; send(S,\"x\",0,pack_sockaddr_in($ENV{UDP},inet_aton(\"127.0.0.1\"))) or die; '",
    ),
    outside(
        "a socket in a directory",
        "perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0) or die; connect(S,pack_sockaddr_un($ENV{SOCKET})) or die $!; print \"ESCAPED\"'",
    ),
    outside(
        "a socket without a path",
        "perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0) or die; connect(S,pack_sockaddr_un(\"\\0$ENV{ABSTRACT}\")) or die $!; print \"ESCAPED\"'",
    ),
    as_root(
        "raw packets",
        "perl -MSocket -e 'socket(S,PF_INET,SOCK_RAW,1) or die; print \"ESCAPED\"'",
    ),
    perhaps(
        "the hypervisor",
        "perl -MSocket -e 'socket(S,40,SOCK_STREAM,0) or die $!; print \"ESCAPED\"'",
    ),
    // Other processes and the kernel.
    outside("signal the server", "kill -0 $SERVER && echo ESCAPED"),
    outside(
        "limits of the server",
        "prlimit --pid $SERVER --core=0:0 && echo ESCAPED",
    ),
    outside(
        "limits of the launcher",
        "prlimit --pid $PPID --core=0:0 && echo ESCAPED",
    ),
    outside(
        "the priority of the server",
        "renice 0 -p $SERVER && echo ESCAPED",
    ),
    outside(
        "the priority of the launcher",
        "renice 0 -p $PPID && echo ESCAPED",
    ),
    outside(
        "the server's turn at the disk",
        "ionice -c 2 -n 4 -p $SERVER && echo ESCAPED",
    ),
    outside(
        "the launcher's turn at the processor",
        "chrt -o -p 0 $PPID && echo ESCAPED",
    ),
    outside(
        "the server's processors",
        "m=$(taskset -p $SERVER | sed 's/.*: //') && taskset -p $m $SERVER && echo ESCAPED",
    ),
    outside(
        "signal the server by input of its own",
        "perl -MFcntl -e 'open(F, \"<\", \"/dev/null\") or die; fcntl(F, 8, $ENV{SERVER} + 0) or die $!; print \"ESCAPED\"'",
    ),
    outside(
        "ptrace",
        "sleep 50 & perl -e 'exit(syscall($ENV{PTRACE}+0,16,$ARGV[0]+0,0,0) == 0 ? 0 : 1)' $! && echo ESCAPED; kill -9 %1",
    ),
    as_root(
        "mount",
        "mkdir m; mount -t tmpfs none m && umount m && echo ESCAPED",
    ),
    as_root(
        "a namespace of one's own",
        "unshare -m true && echo ESCAPED",
    ),
    perhaps("a user namespace", "unshare -Ur true && echo ESCAPED"),
    as_root("another root", "chroot / true && echo ESCAPED"),
    perhaps("become more than one is", "su -c 'echo ESCAPED' nobody"),
    // Protected paths in the workspace.
    inside("a hook", "echo x > .git/hooks/pre-commit"),
    inside("git's settings", "echo x >> .git/config"),
    inside("git's settings, by git", "git config core.fsmonitor ./evil"),
    inside(
        "git's settings by rename",
        "echo x > f; mv -f f .git/config",
    ),
    inside(
        "hooks by rename",
        "mkdir h; echo x > h/pre-commit; rm -rf .git/hooks; mv h .git/hooks",
    ),
    inside(
        "a hook through a link",
        "ln -s .git/hooks l; echo x > l/pre-commit",
    ),
    inside(
        "a hook through a hard link",
        "ln .git/hooks/kept hard && echo x > hard",
    ),
    inside(
        "the whole repository renamed",
        "mv .git old; mkdir -p .git/hooks; echo x > .git/config; echo x > .git/hooks/pre-commit",
    ),
    inside(
        "the whole repository copied",
        "cp -r .git old; rm -rf .git; mv old .git; echo x >> .git/config",
    ),
    inside(
        "settings from elsewhere",
        "mkdir e; cp .git/config e/; echo ../e > .git/commondir",
    ),
    inside(
        "our own settings",
        "mkdir -p $OWN; echo x > $OWN/config.toml",
    ),
    inside(
        "our own settings by a link",
        "mkdir e; echo x > e/config.toml; ln -s e $OWN",
    ),
    inside(
        "our own settings by rename",
        "mkdir e; echo x > e/x; mv -T e $OWN",
    ),
    inside("a skill that exists", "echo x > $OTHER_AGENTS/kept"),
    inside(
        "a skill by another path",
        "echo x > $WS/../ws/$OTHER_AGENTS/kept",
    ),
    inside(
        "protected in another open directory",
        "mkdir -p $EXTRA/$OWN; echo x > $EXTRA/$OWN/config.toml",
    ),
];
