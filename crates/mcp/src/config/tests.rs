//! Which files there are, what counts of them, and what hostile ones come to.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::*;

struct Ground {
    scratch: tempfile::TempDir,
    options: McpOptions,
    workspace: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let at = |name: &str| scratch.path().join(name);
        Self {
            options: McpOptions {
                home: at("home"),
                user: Some(at("user")),
                system: at("system/mcp-servers.json"),
                fenced: true,
            },
            workspace: at("ws"),
            scratch,
        }
    }

    fn path(&self, layer: McpLayer) -> PathBuf {
        let path = self.options.file(layer, &self.workspace);
        let path = path.expect("there is a home directory");
        let directory = path.parent().expect("a directory");
        std::fs::create_dir_all(directory).expect("directories");
        path
    }

    fn write(&self, layer: McpLayer, text: &str) {
        std::fs::write(self.path(layer), text).expect("written");
    }

    fn read(&self) -> McpConfiguration {
        McpConfiguration::read(&self.options, &self.workspace)
    }
}

fn file(servers: &[(&str, &str)]) -> String {
    let servers = servers.iter().map(|(name, command)| {
        let transport = json!({ "type": "stdio", "command": command });
        json!({ "name": name, "transport": transport })
    });
    let servers: Vec<Value> = servers.collect();
    json!({ "servers": servers }).to_string()
}

fn commands(configuration: &McpConfiguration) -> Vec<(String, McpLayer)> {
    let servers = configuration.servers.iter();
    servers
        .map(|each| (each.server.name.clone(), each.layer))
        .collect()
}

const ALL: [McpLayer; 5] = [
    McpLayer::Workspace,
    McpLayer::User,
    McpLayer::System,
    McpLayer::WorkspaceLegacy,
    McpLayer::UserLegacy,
];

#[test]
fn the_files_lie_where_they_are_documented() {
    let ground = Ground::new();
    let files = ground.read().files;
    let found: Vec<_> = files
        .iter()
        .map(|file| {
            let path = file.path.strip_prefix(ground.scratch.path());
            (file.layer, path.expect("inside").to_str().expect("text"))
        })
        .collect();
    let expected = [
        (McpLayer::Workspace, "ws/.cowork/mcp-servers.json"),
        (McpLayer::User, "home/config/mcp-servers.json"),
        (McpLayer::System, "system/mcp-servers.json"),
        (McpLayer::WorkspaceLegacy, "ws/.agent/mcp-servers.json"),
        (McpLayer::UserLegacy, "user/.agent/mcp-servers.json"),
    ];
    assert_eq!(found, expected);
    assert!(files.iter().all(|file| !file.exists));
}

#[test]
fn the_stronger_layer_says_what_a_name_means() {
    let ground = Ground::new();
    // Each has a server of its own, and all have those of the weaker ones.
    let names = ["a", "b", "c", "d", "e"];
    for (position, layer) in BY_STRENGTH.into_iter().enumerate() {
        let servers: Vec<_> = names[position..].iter().map(|name| (*name, "x")).collect();
        ground.write(layer, &file(&servers));
    }
    let configuration = ground.read();
    let expected: Vec<_> = names
        .map(str::to_owned)
        .into_iter()
        .zip(BY_STRENGTH)
        .collect();
    assert_eq!(commands(&configuration), expected);
    assert_eq!(configuration.warnings, [""; 0]);
    let counts: Vec<_> = configuration
        .files
        .iter()
        .map(|file| (file.layer, file.server_count))
        .collect();
    let counted = [
        (McpLayer::Workspace, 1),
        (McpLayer::User, 3),
        (McpLayer::System, 5),
        (McpLayer::WorkspaceLegacy, 2),
        (McpLayer::UserLegacy, 4),
    ];
    assert_eq!(counts, counted);
}

#[test]
fn nothing_of_a_malformed_file_counts_and_the_others_do() {
    for malformed in ALL {
        let ground = Ground::new();
        for layer in ALL {
            ground.write(layer, &file(&[("same", "x"), (source_name(layer), "x")]));
        }
        let broken = file(&[("same", "x"), ("same", "y")]);
        ground.write(malformed, &broken);
        let configuration = ground.read();
        assert_eq!(configuration.servers.len(), 5);
        let (source, path) = (source_name(malformed), ground.path(malformed));
        let error = "mcp-servers.json: servers.1.name: an earlier server has the same name";
        let warning = format!(
            "[MCP] Ignoring malformed {source} config at {}: {error}",
            path.display()
        );
        assert_eq!(configuration.warnings, [warning]);
        for file in &configuration.files {
            let is_malformed = file.layer == malformed;
            assert_eq!(file.server_count, if is_malformed { 0 } else { 2 });
            assert_eq!(file.parse_error.as_deref(), is_malformed.then_some(error));
            assert!(file.exists);
        }
    }
}

type MakeHostile<'a> = &'a dyn Fn(&Path);

#[test]
fn hostile_files_are_warnings() {
    let pipe = |path: &Path| {
        let kind = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).expect("a pipe");
    };
    let large = |path: &Path| {
        std::fs::write(path, vec![b' '; 10 << 20]).expect("written");
    };
    let circle = |path: &Path| symlink(path, path).expect("a link");
    let directory = |path: &Path| std::fs::create_dir(path).expect("a directory");
    let device = |path: &Path| symlink("/dev/zero", path).expect("a link");
    let closed = |path: &Path| {
        std::fs::write(path, "{").expect("written");
    };
    let cases: [(MakeHostile<'_>, &str); 6] = [
        (&pipe, "it is not a file"),
        (&large, "it is larger than 1048576 bytes"),
        (&circle, "links lead in a circle"),
        (&directory, "it is not a file"),
        (&device, "it is not a file"),
        (
            &closed,
            "invalid JSON: EOF while parsing an object at line 1 column 1",
        ),
    ];
    for (make, error) in cases {
        let ground = Ground::new();
        ground.write(McpLayer::User, &file(&[("fine", "x")]));
        make(&ground.path(McpLayer::Workspace));
        let configuration = ground.read();
        assert_eq!(
            commands(&configuration),
            [("fine".to_owned(), McpLayer::User)]
        );
        let workspace = &configuration.files[0];
        let error = format!("mcp-servers.json: {error}");
        assert_eq!(workspace.parse_error.as_ref(), Some(&error));
        assert!(workspace.exists);
        assert_eq!(configuration.warnings.len(), 1);
    }
}

#[test]
fn a_workspace_whose_folder_is_no_folder_has_no_file() {
    let ground = Ground::new();
    std::fs::create_dir(&ground.workspace).expect("a directory");
    std::fs::write(ground.workspace.join(".cowork"), "").expect("written");
    let configuration = ground.read();
    assert!(!configuration.files[0].exists);
    assert_eq!(configuration.warnings, [""; 0]);
}

#[tokio::test]
async fn files_are_read_again_only_when_they_changed() {
    let ground = Ground::new();
    let cache = Arc::new(ConfigurationCache::default());
    let get = || cache.get(&ground.options, &ground.workspace);
    assert!(get().await.servers.is_empty());
    assert!(Arc::ptr_eq(&get().await, &get().await));

    // A change of the same size, at once: it must be seen.
    ground.write(McpLayer::Workspace, &file(&[("a", "x")]));
    assert_eq!(commands(&*get().await)[0].0, "a");
    ground.write(McpLayer::Workspace, &file(&[("b", "x")]));
    assert_eq!(commands(&*get().await)[0].0, "b");

    let path = ground.path(McpLayer::Workspace);
    let stamp = ConfigStamp::from(path.metadata().expect("there"));
    while !stamp.is_settled() {
        tokio::task::yield_now().await;
    }
    let settled = get().await;
    assert!(Arc::ptr_eq(&settled, &get().await));
    std::fs::remove_file(path).expect("removed");
    assert!(get().await.servers.is_empty());
}

#[test]
fn a_tenant_has_no_server_of_the_user_or_of_the_machine() {
    let mut ground = Ground::new();
    for (layer, name) in [
        (McpLayer::System, "of-the-machine"),
        (McpLayer::UserLegacy, "of-the-user"),
        (McpLayer::User, "of-the-server"),
        (McpLayer::Workspace, "of-the-workspace"),
    ] {
        ground.write(layer, &file(&[(name, "run")]));
    }
    assert_eq!(commands(&ground.read()).len(), 4);
    ground.options = McpOptions::of_tenant(&ground.scratch.path().join("home/tenants/north"));
    ground.write(McpLayer::User, &file(&[("of-the-north", "run")]));
    let names: Vec<String> = commands(&ground.read())
        .into_iter()
        .map(|each| each.0)
        .collect();
    assert_eq!(names, ["of-the-north", "of-the-workspace"]);
}
