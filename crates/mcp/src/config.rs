//! Where servers are configured: five files, of which the stronger replace what the weaker say of a name.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tools::folders::{OTHER_AGENTS, OWN};
use vocabulary::{McpFile, McpLayer, McpServer};

use crate::{ConfiguredServer, McpOptions, files};

mod field;
pub mod portable;
pub mod spelling;

/// The file's name in every layer.
pub const FILE: &str = "mcp-servers.json";
/// Below the server's own data.
pub const USER_DIRECTORY: &str = "config";
/// For everyone on this machine.
const FILE_OF_SYSTEM: &str = "/etc/dragoman/mcp-servers.json";
/// Names a directory of what came with the program, for shells that start us in another's place.
const BUILTIN_DIRECTORY: &str = "COWORK_BUILTIN_DIR";

/// Workspaces whose files are remembered.
const REMEMBERED_MAX: usize = 64;
/// A file system that does not answer must not hold up who asks.
const READ_WAIT: Duration = Duration::from_secs(5);
/// A file that changed this short a time ago may change again without looking any different.
const SETTLED_AFTER: Duration = Duration::from_millis(50);

/// From the weakest to the strongest.
const BY_STRENGTH: [McpLayer; 5] = [
    McpLayer::System,
    McpLayer::UserLegacy,
    McpLayer::User,
    McpLayer::WorkspaceLegacy,
    McpLayer::Workspace,
];

impl McpOptions {
    /// As the environment of this process has it.
    pub fn of_process(home: &Path) -> Self {
        let builtin = std::env::var_os(BUILTIN_DIRECTORY).filter(|name| !name.is_empty());
        let builtin = builtin.map(|name| Path::new(&name).join(USER_DIRECTORY).join(FILE));
        let system = builtin.filter(|path| path.exists());
        Self {
            home: home.to_owned(),
            user: std::env::home_dir(),
            system: system.unwrap_or_else(|| PathBuf::from(FILE_OF_SYSTEM)),
            fenced: true,
        }
    }

    /// Of a tenant whose data lies here: neither the server's user nor the machine has servers for it.
    pub fn of_tenant(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            user: None,
            system: home.join(USER_DIRECTORY).join("system").join(FILE),
            fenced: true,
        }
    }

    /// The file of a layer; none where nobody has a home directory.
    pub fn file(&self, layer: McpLayer, workspace: &Path) -> Option<PathBuf> {
        Some(match layer {
            McpLayer::Workspace => workspace.join(OWN).join(FILE),
            McpLayer::WorkspaceLegacy => workspace.join(OTHER_AGENTS).join(FILE),
            McpLayer::User => self.home.join(USER_DIRECTORY).join(FILE),
            McpLayer::UserLegacy => self.user.as_ref()?.join(OTHER_AGENTS).join(FILE),
            McpLayer::System => self.system.clone(),
        })
    }
}

/// What the five files say.
#[derive(Debug, Default)]
pub struct McpConfiguration {
    /// Those that count, by name.
    pub servers: Arc<[ConfiguredServer]>,
    /// In the order of their layers.
    pub files: Vec<McpFile>,
    pub warnings: Vec<String>,
}

impl McpConfiguration {
    /// Reads all files of a workspace; blocks.
    pub fn read(options: &McpOptions, workspace: &Path) -> Self {
        let mut servers = BTreeMap::new();
        let (mut files, mut warnings) = (Vec::new(), Vec::new());
        for layer in BY_STRENGTH {
            let Some(path) = options.file(layer, workspace) else {
                continue;
            };
            let (file, found) = read_layer(layer, path);
            if let Some(error) = &file.parse_error {
                let (source, path) = (source_name(layer), file.path.display());
                warnings.push(format!(
                    "[MCP] Ignoring malformed {source} config at {path}: {error}"
                ));
            }
            let found = found.into_iter().map(|server| {
                let name = server.name.clone();
                (name, ConfiguredServer { server, layer })
            });
            servers.extend(found);
            files.push(file);
        }
        files.sort_by_key(|file| file.layer);
        Self {
            servers: servers.into_values().collect(),
            files,
            warnings,
        }
    }
}

fn read_layer(layer: McpLayer, path: PathBuf) -> (McpFile, Vec<McpServer>) {
    let (exists, read) = match files::read(&path) {
        Ok(None) => (false, Ok(Vec::new())),
        Ok(Some(bytes)) => (true, spelling::parse(&bytes)),
        Err(error) => (true, Err(format!("{FILE}: {error}"))),
    };
    let (servers, parse_error) = match read {
        Ok(servers) => (servers, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let file = McpFile {
        layer,
        path,
        exists,
        parse_error,
        server_count: u32::try_from(servers.len()).unwrap_or(u32::MAX),
    };
    (file, servers)
}

/// What people call a layer, and its clients too.
pub fn source_name(layer: McpLayer) -> &'static str {
    match layer {
        McpLayer::Workspace => "workspace",
        McpLayer::User => "user",
        McpLayer::System => "system",
        McpLayer::WorkspaceLegacy => "workspace_legacy",
        McpLayer::UserLegacy => "user_legacy",
    }
}

/// The configurations of workspaces, read again only when one of their files has changed.
#[derive(Default)]
pub struct ConfigurationCache {
    read: Mutex<HashMap<PathBuf, RememberedConfiguration>>,
}

#[derive(Clone)]
struct RememberedConfiguration {
    stamps: [Option<ConfigStamp>; 5],
    configuration: Arc<McpConfiguration>,
}

/// What makes us read a file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ConfigStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<Metadata> for ConfigStamp {
    fn from(found: Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

impl ConfigStamp {
    fn is_settled(&self) -> bool {
        let (seconds, nanos) = self.changed;
        let changed = Duration::new(
            u64::try_from(seconds).unwrap_or(0),
            u32::try_from(nanos).unwrap_or(0),
        );
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.is_ok_and(|now| now.saturating_sub(changed) > SETTLED_AFTER)
    }
}

impl ConfigurationCache {
    /// What the files say at this moment. Does not block the runtime.
    pub async fn get(
        self: &Arc<Self>,
        options: &McpOptions,
        workspace: &Path,
    ) -> Arc<McpConfiguration> {
        let (this, options, workspace) = (Arc::clone(self), options.clone(), workspace.to_owned());
        let reading = tokio::task::spawn_blocking(move || this.read(&options, &workspace));
        match tokio::time::timeout(READ_WAIT, reading).await {
            Ok(Ok(configuration)) => configuration,
            Ok(Err(_)) | Err(_) => Arc::new(McpConfiguration {
                warnings: vec!["[MCP] The files could not be read; try again".to_owned()],
                ..McpConfiguration::default()
            }),
        }
    }

    fn read(&self, options: &McpOptions, workspace: &Path) -> Arc<McpConfiguration> {
        // Looked at first: what changes while it is read is read again.
        let stamps = BY_STRENGTH.map(|layer| {
            let path = options.file(layer, workspace)?;
            path.metadata().ok().map(ConfigStamp::from)
        });
        let remembered = self.read.lock().get(workspace).cloned();
        if let Some(remembered) = remembered
            && remembered.stamps == stamps
        {
            return remembered.configuration;
        }
        let configuration = Arc::new(McpConfiguration::read(options, workspace));
        for warning in &configuration.warnings {
            // People are shown it with the servers.
            tracing::info!("{warning}");
        }
        let mut read = self.read.lock();
        if read.len() >= REMEMBERED_MAX {
            read.clear();
        }
        if stamps.iter().flatten().all(ConfigStamp::is_settled) {
            let remembered = RememberedConfiguration {
                stamps,
                configuration: Arc::clone(&configuration),
            };
            read.insert(workspace.to_owned(), remembered);
        }
        configuration
    }
}

#[cfg(test)]
mod tests;
