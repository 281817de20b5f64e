//! Which crate may use which: the table of ARCHITECTURE.md.

use super::Finding;

/// A crate and the crates of this workspace it may use.
const TABLE: [(&str, &[&str]); 18] = [
    ("vocabulary", &[]),
    ("dialects", &["vocabulary"]),
    (
        "engine",
        &[
            "vocabulary",
            "store",
            "providers",
            "tools",
            "mcp",
            "acp",
            "snapshots",
            "observability",
            "identity",
            "push",
        ],
    ),
    ("push", &[]),
    ("callback", &[]),
    ("providers", &["vocabulary", "callback"]),
    ("tools", &["vocabulary"]),
    ("mcp", &["vocabulary", "tools", "callback"]),
    ("acp", &["tools"]),
    ("checkpoints", &["vocabulary"]),
    ("snapshots", &["vocabulary", "checkpoints"]),
    ("store", &["vocabulary"]),
    ("observability", &["vocabulary"]),
    ("identity", &["vocabulary", "store"]),
    (
        "server",
        &[
            "vocabulary",
            "dialects",
            "engine",
            "providers",
            "tools",
            "mcp",
            "store",
            "observability",
            "identity",
        ],
    ),
    (
        "cli",
        &[
            "vocabulary",
            "engine",
            "providers",
            "tools",
            "mcp",
            "checkpoints",
            "store",
            "server",
            "observability",
            "identity",
        ],
    ),
    ("terminal", &["dialects"]),
    // It reaches a server as a client does: over a socket.
    ("testkit", &[]),
];

/// In tests every crate may also use this one.
const TESTKIT: &str = "testkit";
/// In tests these crates may also use those: transcripts are held against the schemas, and what a
/// crate does through another is looked at there.
const IN_TESTS: [(&str, &str); 2] = [("cli", "dialects"), ("engine", "checkpoints")];

pub fn check(manifests: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in manifests {
        check_manifest(path, text, &mut findings);
    }
    findings
}

fn check_manifest(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let name = path.split('/').nth(1).unwrap_or_default();
    let Some((_, allowed)) = TABLE.iter().find(|(known, _)| *known == name) else {
        let what = format!(
            "crate `{name}` is not in the table; add it to ARCHITECTURE.md and xtask/src/tidy/layers.rs"
        );
        findings.push(Finding::error(path, 1, what));
        return;
    };
    for (section, dependency, line) in dependencies(text) {
        if !section.ends_with("dev-dependencies") && asks_for_testing(text, line) {
            let what = format!(
                "`{dependency}` with the feature `testing` in [{section}]; what is made for tests belongs in [dev-dependencies]"
            );
            findings.push(Finding::error(path, line, what));
        }
        let ours = TABLE.iter().any(|(known, _)| *known == dependency);
        let dev = section.ends_with("dev-dependencies")
            && (dependency == TESTKIT || IN_TESTS.contains(&(name, dependency)));
        if ours && !dev && !allowed.contains(&dependency) {
            let what = format!(
                "`{name}` may not use `{dependency}` in [{section}]; {}",
                advice(allowed)
            );
            findings.push(Finding::error(path, line, what));
        }
    }
}

/// Whether the dependency on this line, from 1, is compiled with its test doubles.
fn asks_for_testing(text: &str, line: usize) -> bool {
    let line = text.lines().nth(line - 1).unwrap_or_default();
    line.contains("\"testing\"")
}

fn advice(allowed: &[&str]) -> String {
    match allowed {
        [] => "it uses no crate of this workspace".to_owned(),
        allowed => format!("it may use {}", allowed.join(", ")),
    }
}

/// Each dependency with its section and line.
fn dependencies(text: &str) -> Vec<(&str, &str, usize)> {
    let mut section = "";
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = header;
            // `[dependencies.engine]` is a section and a name at once.
            if let Some((before, name)) = header.rsplit_once('.')
                && before.ends_with("dependencies")
            {
                found.push((before, name, index + 1));
            }
        } else if section.ends_with("dependencies") && !line.starts_with('#') {
            let end = line.find(|char: char| " .=".contains(char));
            let name = &line[..end.unwrap_or(0)];
            if !name.is_empty() {
                found.push((section, name, index + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Vec<String> {
        let manifest = (format!("crates/{name}/Cargo.toml"), text.to_owned());
        check(&[manifest]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let text = "[package]\nname = \"dialects\"\n\n[dependencies]\nvocabulary.workspace = true\nengine.workspace = true\n";
        assert_eq!(
            found("dialects", text),
            [
                "crates/dialects/Cargo.toml:6: `dialects` may not use `engine` in [dependencies]; it may use vocabulary"
            ]
        );
        assert_eq!(
            found("tools", "[dependencies]\nstore = { path = \"../store\" }").len(),
            1
        );
        assert_eq!(
            found("engine", "[dependencies.dialects]\nworkspace = true").len(),
            1
        );
    }

    #[test]
    fn testkit_is_for_tests_only() {
        assert!(found("server", "[dev-dependencies]\ntestkit.workspace = true").is_empty());
        assert_eq!(
            found("server", "[dependencies]\ntestkit.workspace = true").len(),
            1
        );
        assert!(found("cli", "[dev-dependencies]\ndialects.workspace = true").is_empty());
        assert_eq!(
            found("cli", "[dependencies]\ndialects.workspace = true").len(),
            1
        );
    }

    #[test]
    fn test_doubles_are_not_in_the_product() {
        let doubles = "store = { workspace = true, features = [\"testing\"] }";
        assert!(found("engine", &format!("[dev-dependencies]\n{doubles}")).is_empty());
        assert_eq!(
            found("engine", &format!("[dependencies]\n{doubles}")).len(),
            1
        );
    }

    #[test]
    fn tests_may_look_behind_a_crate() {
        assert!(found("engine", "[dev-dependencies]\ncheckpoints.workspace = true").is_empty());
        let product = found("engine", "[dependencies]\ncheckpoints.workspace = true");
        assert_eq!(product.len(), 1);
        let other = found("store", "[dev-dependencies]\ncheckpoints.workspace = true");
        assert_eq!(other.len(), 1);
    }

    #[test]
    fn a_crate_outside_the_table_is_found() {
        assert_eq!(found("helpers", "[dependencies]\nserde = \"1\"").len(), 1);
    }
}
