//! A skill comes, is replaced, and nothing is left of what failed.

use vocabulary::ReplacedSkill;

use super::*;
use crate::scratch::Scratch;
use crate::skill::archive::tests::{entry, packed};

struct Shelf(Scratch);

impl Shelf {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn install(&self, packed: Vec<u8>) -> Result<SkillChange, SkillInstallError> {
        self.put(packed, None)
    }

    fn put(
        &self,
        packed: Vec<u8>,
        replaces: Option<ReplacedSkill>,
    ) -> Result<SkillChange, SkillInstallError> {
        let scope = Scope {
            skills: vec![self.0.path("skills")],
            ..self.0.scope()
        };
        install(&scope, &SkillArchive { packed, replaces })
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.0.path(path)).ok()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path(""))
            .expect("listed")
            .flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn skill(words: &str) -> Vec<u8> {
    let text = format!("---\nname: release\ndescription: Releases\n---\n{words}\n");
    packed(&[
        entry(b'0', "top/SKILL.md", text.as_bytes(), 0o644),
        entry(b'0', "top/bin/run.sh", b"#!/bin/sh\n", 0o755),
    ])
}

fn replaced(fingerprint: Option<String>) -> Option<ReplacedSkill> {
    let name = "release".to_owned();
    Some(ReplacedSkill { name, fingerprint })
}

#[test]
fn a_skill_is_installed_once_and_replaced_by_who_has_seen_it() {
    let shelf = Shelf::new();
    let first = shelf.install(skill("one")).expect("installed");
    assert_eq!(
        (first.name.as_str(), first.what),
        ("release", SkillChangeKind::Installed)
    );
    let run = shelf.0.path("skills/release/bin/run.sh");
    let mode = run.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    let again = shelf.install(skill("two")).expect_err("there already");
    assert!(matches!(again, SkillInstallError::Exists(_)), "{again}");
    let stale = shelf.put(skill("two"), replaced(Some("0".to_owned())));
    assert!(matches!(stale, Err(SkillInstallError::Changed(_))));
    assert!(
        shelf
            .read("skills/release/SKILL.md")
            .expect("there")
            .ends_with("one\n")
    );
    let second = shelf
        .put(skill("two"), replaced(first.after.clone()))
        .expect("replaced");
    assert_eq!(second.before, first.after);
    assert_ne!(second.after, first.after);
    assert!(
        shelf
            .read("skills/release/SKILL.md")
            .expect("there")
            .ends_with("two\n")
    );
    assert_eq!(shelf.names(), ["skills"], "nothing is left over");
}

#[test]
fn what_cannot_be_a_skill_leaves_nothing_behind() {
    let shelf = Shelf::new();
    let file = |path: &str, text: &str| entry(b'0', path, text.as_bytes(), 0o644);
    let good = "---\nname: release\ndescription: Releases\n---\nx\n";
    let wrong = [
        vec![file("README.md", "x")],
        vec![file("a/SKILL.md", good), file("b/x", "y")],
        vec![file("SKILL.md", "no front matter")],
        vec![file(
            "SKILL.md",
            "---\nname: ../evil\ndescription: d\n---\n",
        )],
        vec![file("SKILL.md", "---\nname: release\n---\n")],
        vec![
            file("SKILL.md", good),
            file("bin", "x"),
            file("bin/run", "y"),
        ],
        vec![file("SKILL.md", good), entry(b'2', "link", b"", 0o777)],
    ];
    for entries in wrong {
        shelf.install(packed(&entries)).expect_err("not taken");
    }
    assert_eq!(shelf.read("skills/release/SKILL.md"), None);
    let staged = std::fs::read_dir(shelf.0.path(STAGING));
    assert_eq!(staged.map_or(0, |entries| entries.count()), 0);
    let missing = shelf
        .put(skill("x"), replaced(None))
        .expect_err("not there");
    assert!(
        matches!(missing, SkillInstallError::NotFound(_)),
        "{missing}"
    );
}
