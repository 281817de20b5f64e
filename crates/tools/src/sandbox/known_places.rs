//! The lists of places: what opens doors elsewhere, and what programs need to work at all.

/// Under the home directory: what opens doors elsewhere. The home directory is closed as a whole but
/// for toolchains; this list is for what lies among those, and for a workspace that holds it.
pub const CREDENTIALS: &[&str] = &[
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
    ".cache/huggingface",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".gradle/init.d",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".terraform.d/credentials.tfrc.json",
    ".config/age",
    ".config/gcloud",
    ".config/gh",
    ".config/github-copilot",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".mozilla",
    ".local/share/keyrings",
    ".password-store",
    ".bash_history",
    ".zsh_history",
    crate::folders::OWN,
    ".codex",
    ".claude",
    ".claude.json",
    ".gemini",
    ".local/share/opencode/auth.json",
];

/// What only root should read, and root is who may be running us.
pub const SYSTEM_SECRETS: &[&str] = &[
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
/// and settings.
pub const READABLE: &[&str] = &[
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

/// What a command has of its own inside of namespaces, whatever the machine has there.
pub const OWN_INSIDE: &[&str] = &["/dev", "/run", "/tmp"];

/// What the operator says for everyone on this machine; it may name secrets.
pub const SETTINGS_OF_MACHINE: &str = "/etc/dragoman";

/// Of what is readable at home: who the user is.
pub const PERSONAL_AT_HOME: &[&str] = &[".config/git", ".gitconfig", ".gitignore"];

/// The user's own toolchains and what they keep.
pub const READABLE_AT_HOME: &[&str] = &[
    ".asdf",
    ".bun",
    ".cabal",
    ".cache/Cypress",
    ".cache/bazel",
    ".cache/bazelisk",
    ".cache/bun",
    ".cache/ccache",
    ".cache/composer",
    ".cache/coursier",
    ".cache/deno",
    ".cache/electron",
    ".cache/fontconfig",
    ".cache/go-build",
    ".cache/golangci-lint",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".cache/sccache",
    ".cache/turbo",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
    ".cargo",
    ".config/git",
    ".deno",
    ".dotnet",
    ".elan",
    ".foundry",
    ".gem",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".goenv",
    ".gradle",
    ".jdks",
    ".jenv",
    ".julia",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".m2",
    ".mise",
    ".nix-profile",
    ".nodenv",
    ".npm",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".pnpm-store",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".stack",
    ".swiftly",
    ".volta",
    ".yarn",
    "anaconda3",
    "go",
    "miniconda3",
    "miniforge3",
];

/// What is not for reading as files: it tells of processes, devices and sessions, and holds their secrets.
pub const NOT_FOR_READING: &[&str] = &["/dev", "/proc", "/run", "/sys"];

/// Where everyone's libraries, their headers and their documents lie. Programs look there by themselves.
pub const LIBRARIES: &[&str] = &[
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/go",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/share",
    "/usr/src",
    "/nix/store",
];

/// Where toolchains keep themselves and what projects depend on, under the home directory.
pub const LIBRARIES_AT_HOME: &[&str] = &[
    ".bun/install",
    ".cabal/packages",
    ".cache/deno",
    ".cache/go-build",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches/modules-2",
    ".julia/packages",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".nuget/packages",
    ".nvm/versions",
    ".pnpm-store",
    ".pyenv/versions",
    ".rbenv/versions",
    ".rustup/toolchains",
    "go/pkg/mod",
];

/// Variables by which users say that such a place lies elsewhere, and where in it.
pub const LIBRARY_VARIABLES: &[(&str, &str)] = &[
    ("CARGO_HOME", "git"),
    ("CARGO_HOME", "registry"),
    ("GOMODCACHE", ""),
    ("GOPATH", "pkg/mod"),
    ("GOROOT", "src"),
    ("NVM_DIR", "versions"),
    ("PYENV_ROOT", "versions"),
    ("RUSTUP_HOME", "toolchains"),
    ("VIRTUAL_ENV", "lib"),
];

/// Variables by which users say that a toolchain lies elsewhere.
pub const TOOLCHAIN_VARIABLES: &[&str] = &[
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_INSTALL",
    "GEM_HOME",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Of /proc, what only root could use, and what tells of the machine rather than of a process: made
/// read-only …
pub const PROC_READ_ONLY: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/bus",
    "/proc/driver",
    "/proc/dynamic_debug",
    "/proc/fs",
    "/proc/irq",
    "/proc/mtrr",
    "/proc/scsi",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// … or covered.
pub const PROC_COVERED: &[&str] = &[
    "/proc/kcore",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/timer_list",
];
