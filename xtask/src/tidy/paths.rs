//! No path of somebody's machine in the tree: it works for one person and tells about them.

use super::Finding;

/// Put together here, so that this file does not break its own rule.
const FORBIDDEN: [&str; 3] = [
    concat!("/", "root/"),
    concat!("/", "work/"),
    concat!("/", "tmp/wt"),
];
/// Below these stands a person's name.
const HOMES: [&str; 2] = [concat!("/", "home/"), concat!("/", "Users/")];
/// Names that documentation uses for nobody in particular.
const NOBODY: [&str; 3] = ["user", "me", "you"];

pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = machine_path(line) {
            let what = format!(
                "machine path `{found}`; use a relative path, or {}user in an example",
                HOMES[0]
            );
            findings.push(Finding::error(path, index + 1, what));
        }
    }
    findings
}

fn machine_path(line: &str) -> Option<String> {
    let forbidden = FORBIDDEN
        .into_iter()
        .find(|pattern| places(line, pattern).next().is_some());
    if let Some(pattern) = forbidden {
        return Some(pattern.to_owned());
    }
    HOMES.into_iter().find_map(|home| {
        places(line, home)
            .map(|at| name(&line[at + home.len()..]))
            .find(|name| !name.is_empty() && !NOBODY.contains(name))
            .map(|name| format!("{home}{name}"))
    })
}

/// Where an absolute path begins with the pattern: not in the middle of a longer path.
fn places<'a>(line: &'a str, pattern: &'a str) -> impl Iterator<Item = usize> + 'a {
    line.match_indices(pattern).map(|(at, _)| at).filter(|at| {
        !line[..*at].ends_with(|before: char| before.is_alphanumeric() || "._-/}".contains(before))
    })
}

fn name(rest: &str) -> &str {
    let end = rest.find(|char: char| !char.is_alphanumeric() && !"_-.".contains(char));
    &rest[..end.unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: String) -> bool {
        !check("a.md", &line).is_empty()
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        assert!(found(format!("see {}x", FORBIDDEN[0])));
        assert!(found(format!("\"{}x\"", FORBIDDEN[1])));
        assert!(found(format!("{}/kit", FORBIDDEN[2])));
        assert!(found(format!("{}ada/code", HOMES[0])));
    }

    #[test]
    fn examples_and_parts_of_other_paths_are_free() {
        assert!(!found(format!("{}user/project", HOMES[0])));
        assert!(!found(format!("{}me/.agent", HOMES[1])));
        assert!(!found(format!("src{}x", FORBIDDEN[1])));
        assert!(!found("/workspace/src".to_owned()));
        assert!(!found(format!("{}<name>", HOMES[0])));
    }
}
