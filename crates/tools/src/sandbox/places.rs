//! Which places a command may write, which it may read, and which it never sees.

use std::path::{Path, PathBuf};

use crate::{Scope, path};

/// Under the home directory: what opens doors elsewhere.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".docker/config.json",
    ".docker/run",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".terraform.d/credentials.tfrc.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".local/share/keyrings",
    ".password-store",
    ".cowork",
    ".codex",
    ".claude",
    ".claude.json",
    ".gemini",
    ".local/share/opencode/auth.json",
];

/// What only root should read, and root is who may be running us.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
];

/// What a command may read where only named places can be opened (Landlock): the system's programs
/// and settings …
const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/proc",
    "/sys",
    "/var/lib/dpkg",
];

/// … and the user's own toolchains.
const READABLE_AT_HOME: &[&str] = &[
    ".asdf",
    ".bun",
    ".cache",
    ".cargo",
    ".config/git",
    ".deno",
    ".gem",
    ".gitconfig",
    ".gitignore",
    ".gradle",
    ".jdks",
    ".local/bin",
    ".local/lib",
    ".local/share",
    ".m2",
    ".mise",
    ".npm",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go",
];

/// How deep a readable directory is taken apart around what is hidden in it.
const DEPTH_MAX: usize = 6;
/// How many sockets are hidden one by one.
const SOCKETS_MAX: usize = 1_000;

/// The places of one call; all exist and are free of symbolic links.
#[derive(Clone, Debug)]
pub struct Places {
    pub directory: PathBuf,
    /// The workspace and what else was opened.
    pub writable: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
    /// Readable although it may lie in a hidden one.
    pub spill: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Places {
    pub fn of(scope: &Scope) -> std::io::Result<Self> {
        let directory = scope.directory.canonicalize()?;
        let extra = scope
            .extra
            .iter()
            .filter_map(|path| path.canonicalize().ok());
        let mut writable: Vec<PathBuf> = std::iter::once(directory.clone()).chain(extra).collect();
        // Nobody means the whole machine by a workspace.
        writable.retain(|path| path.parent().is_some() && path.is_dir());
        writable.dedup();
        let private = scope.private.iter();
        let private: Vec<PathBuf> = private
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let is_ours = |root: &PathBuf| {
            let mut private = private.iter();
            private.any(|own| root.starts_with(own) && !path::is_workspace_within(own, root))
        };
        if is_ours(&directory) {
            let message = "the workspace lies in the server's own data, which no command may see";
            return Err(std::io::Error::other(message));
        }
        writable.retain(|root| !is_ours(root));
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let credentials = home
            .iter()
            .flat_map(|home| CREDENTIALS.iter().map(|name| home.join(name)));
        let system = SYSTEM_SECRETS.iter().map(PathBuf::from);
        let wanted = private.iter().cloned().chain(credentials).chain(system);
        let mut hidden: Vec<PathBuf> = wanted.filter_map(|path| path.canonicalize().ok()).collect();
        hidden.extend(listening(&writable));
        hidden.sort();
        hidden.dedup();
        // A workspace is what it is even where a place of credentials was named the same.
        hidden.retain(|path| !writable.contains(path));
        Ok(Self {
            directory,
            writable,
            hidden,
            spill: scope
                .spill
                .as_ref()
                .and_then(|path| path.canonicalize().ok()),
            home,
        })
    }

    /// All that may be read, where what is hidden can only be left out.
    pub fn readable(&self) -> Vec<PathBuf> {
        let home = self
            .home
            .iter()
            .flat_map(|home| READABLE_AT_HOME.iter().map(|name| home.join(name)));
        let mut open = Vec::new();
        for path in READABLE.iter().map(PathBuf::from).chain(home) {
            if let Ok(path) = path.canonicalize() {
                self.open_around_hidden(path, DEPTH_MAX, &mut open);
            }
        }
        open.extend(self.spill.clone());
        open.sort();
        open.dedup();
        open
    }

    /// What of the writable places may be opened, where what is hidden can only be left out.
    pub fn writable_around_hidden(&self) -> Vec<PathBuf> {
        let mut open = Vec::new();
        for path in &self.writable {
            self.open_around_hidden(path.clone(), DEPTH_MAX, &mut open);
        }
        open
    }

    fn open_around_hidden(&self, path: PathBuf, depth: usize, open: &mut Vec<PathBuf>) {
        if self.hidden.contains(&path) {
            return;
        }
        if !self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            open.push(path);
            return;
        }
        if depth == 0 {
            return;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            // A link is followed to what it names, which has its own rule.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.open_around_hidden(entry.path(), depth - 1, open);
            }
        }
    }
}

/// Sockets that others listen on. A mount that is read-only does not keep anyone from connecting.
fn listening(writable: &[PathBuf]) -> Vec<PathBuf> {
    let text = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = text
        .lines()
        .filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let real = paths.filter_map(|path| path.canonicalize().ok());
    let others = real.filter(|path| !writable.iter().any(|root| path.starts_with(root)));
    let covered = |path: &PathBuf| ["/run", "/tmp"].iter().any(|root| path.starts_with(root));
    others
        .filter(|path| !covered(path))
        .take(SOCKETS_MAX)
        .collect()
}

/// A protected path that a link leads to, which cannot be held in place.
pub fn protected_link(scope: &Scope) -> Option<PathBuf> {
    let roots = std::iter::once(&scope.directory).chain(&scope.extra);
    let names = [
        ".git",
        ".git/hooks",
        ".git/config",
        ".git/config.worktree",
        ".git/commondir",
        ".git/worktrees",
        ".git/modules",
        ".cowork",
        ".agent",
    ];
    let mut paths = roots.flat_map(|root| names.map(|name| root.join(name)));
    paths.find(|path| path.is_symlink())
}

/// Whether a path is there, a dangling link included.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
