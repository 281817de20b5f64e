//! Which commands there are, and which of two with one name.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::scratch::Scratch;

const BYTES_MAX: usize = 10_000;

struct World {
    scratch: Scratch,
    home: Scratch,
    scope: Scope,
}

fn world() -> World {
    let (scratch, home) = (Scratch::new(), Scratch::new());
    let mut scope = scratch.scope();
    scope.skills = vec![home.path(".cowork/skills"), home.path(".agent/skills")];
    World {
        scratch,
        home,
        scope,
    }
}

fn write(root: &Scratch, path: &str, text: &str) {
    let path = root.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl World {
    fn trusting(&mut self, files: &[&str]) -> Trusted {
        let hash = |file: &&str| {
            let content = std::fs::read(self.scratch.path(file)).unwrap();
            (Path::new(file).to_owned(), blake3::hash(&content))
        };
        self.scope.trusted = true;
        Trusted::new(files.iter().map(hash).collect::<BTreeMap<_, _>>())
    }
}

fn said(catalog: &CommandCatalog, name: &str) -> String {
    let mut commands = catalog.commands.iter();
    let found = commands.find(|each| each.command.name == name).unwrap();
    let waits = if found.is_untrusted { "waits: " } else { "" };
    format!("{waits}{}", found.expand("x", BYTES_MAX).unwrap())
}

fn names(catalog: &CommandCatalog) -> Vec<&str> {
    let names = catalog.commands.iter();
    names.map(|each| each.command.name.as_str()).collect()
}

#[test]
fn some_commands_are_always_there() {
    let World { scope, .. } = world();
    let catalog = commands(&scope, &Trusted::default());
    assert_eq!(
        names(&catalog),
        ["commit", "explain", "init", "review", "test"]
    );
    let review = &catalog.commands[3].command;
    assert_eq!(review.origin, CommandOrigin::Command, "not the skill");
    assert_eq!(review.hints, ["$ARGUMENTS"]);
    assert_eq!(catalog.commands[0].command.origin, CommandOrigin::Skill);
    assert!(said(&catalog, "review").ends_with(": x"));
}

#[test]
fn what_people_wrote_goes_before_what_is_built_in_and_skills_come_last() {
    let world = world();
    let config = r#"{"model": "x", "command": {
        "Review": {"template": "Mine: $1", "source": "command"},
        "ask": {"template": "Ask it", "description": "Asks", "source": "mcp"}}}"#;
    write(&world.home, ".cowork/config/config.json", config);
    let other = r#"{"command": {"ask": {"template": "other", "source": "command"}}}"#;
    write(&world.home, ".agent/config.json", other);
    let markdown = "---\ndescription: Ships it\n---\nShip $ARGUMENTS.\n";
    write(&world.home, ".cowork/commands/ship.md", markdown);
    write(&world.home, ".cowork/commands/plain.md", "Just $2.");
    let skill = "---\nname: ask\ndescription: d\n---\nSkill";
    write(&world.home, ".cowork/skills/ask/SKILL.md", skill);
    let skill = "---\nname: files\ndescription: d\n---\nUse run.sh.";
    write(&world.home, ".agent/skills/files/SKILL.md", skill);
    write(&world.home, ".agent/skills/files/run.sh", "true");
    let catalog = commands(&world.scope, &Trusted::default());
    assert_eq!(catalog.problems, []);
    assert_eq!(said(&catalog, "Review"), "Mine: x");
    assert!(!names(&catalog).contains(&"review"));
    assert_eq!(said(&catalog, "ask"), "Ask it\n\nx");
    assert_eq!(said(&catalog, "ship"), "Ship x.");
    assert_eq!(said(&catalog, "plain"), "Just .");
    assert!(said(&catalog, "files").contains("Use run.sh.\n\n[the files of this skill are in /"));
    let ask = catalog
        .commands
        .iter()
        .find(|each| each.command.name == "ask");
    assert_eq!(ask.unwrap().command.origin, CommandOrigin::Mcp);
    let ship = catalog
        .commands
        .iter()
        .find(|each| each.command.name == "ship");
    assert_eq!(
        ship.unwrap().command.description.as_deref(),
        Some("Ships it")
    );
}

#[test]
fn what_came_with_a_workspace_waits_for_trust_and_hides_nothing_till_then() {
    let mut world = world();
    let config = r#"{"command": {
        "review": {"template": "theirs"}, "deploy": {"template": "legacy"}}}"#;
    write(&world.scratch, ".agent/config.json", config);
    write(&world.scratch, ".cowork/commands/deploy.md", "Push it.");
    let skill = "---\nname: build\ndescription: d\n---\nBuild it.";
    write(&world.scratch, ".cowork/skills/build/SKILL.md", skill);
    let nothing = Trusted::nothing("nobody said so");
    let catalog = commands(&world.scope, &nothing);
    assert!(said(&catalog, "review").starts_with("Load the skill"));
    assert_eq!(said(&catalog, "deploy"), "waits: Push it.\n\nx");
    assert_eq!(said(&catalog, "build"), "waits: Build it.\n\nx");
    let files = [
        ".agent/config.json",
        ".cowork/commands/deploy.md",
        ".cowork/skills/build/SKILL.md",
    ];
    let trusted = world.trusting(&files);
    let catalog = commands(&world.scope, &trusted);
    assert_eq!(said(&catalog, "review"), "theirs\n\nx");
    assert_eq!(said(&catalog, "deploy"), "Push it.\n\nx");
    assert_eq!(said(&catalog, "build"), "Build it.\n\nx");
    // Only as it was trusted.
    write(
        &world.scratch,
        ".cowork/commands/deploy.md",
        "Push it to them.",
    );
    let catalog = commands(&world.scope, &trusted);
    assert_eq!(said(&catalog, "deploy"), "legacy\n\nx");
}

#[test]
fn what_cannot_be_used_is_named_and_changes_nothing() {
    let world = world();
    let long = format!(r#"{{"command": "{}"}}"#, "x".repeat(10 << 20));
    write(&world.home, ".cowork/config/config.json", &long);
    let config = r#"{"command": {"a b": {"template": "x"}, "c": {"template": 1}, "d": [],
        "e": {"template": "x", "source": "other"}, "good": {"template": "Good"}}}"#;
    write(&world.home, ".agent/config.json", config);
    write(&world.scratch, ".cowork/config.json", "{\"command\": ");
    write(&world.scratch, ".agent/config.json", "{\"command\": [1]}");
    let outside = world.home.path("secret.md");
    std::fs::write(&outside, "secret").unwrap();
    std::fs::create_dir_all(world.scratch.path(".cowork/commands/dir.md")).unwrap();
    std::os::unix::fs::symlink(&outside, world.scratch.path(".cowork/commands/link.md")).unwrap();
    let catalog = commands(&world.scope, &Trusted::nothing("nobody said so"));
    assert_eq!(said(&catalog, "good"), "Good\n\nx");
    assert_eq!(catalog.commands.len(), 6, "{:?}", names(&catalog));
    let problems: Vec<String> = catalog
        .problems
        .iter()
        .map(|each| format!("{}: {}", each.path.display(), each.problem))
        .collect();
    for words in [
        ".cowork/config.json: it is not JSON",
        ".agent/config.json: \"command\" must be an object",
        "config/config.json: has more than 262144 bytes",
        ".agent/config.json: \"a b\" cannot be a command",
        "\"command.c\" cannot be used: invalid type: integer",
        "\"command.d\" cannot be used",
        "\"command.e\" cannot be used: unknown variant",
        "commands/dir.md: cannot be read",
        "commands/link.md: command blocked: ",
    ] {
        assert!(
            problems.iter().any(|each| each.contains(words)),
            "{words}: {problems:#?}"
        );
    }
    assert_eq!(problems.len(), 9, "{problems:#?}");
}

#[test]
fn a_workspace_that_is_the_home_directory_brings_nothing_that_is_not_the_users_own() {
    let mut world = world();
    world.scope.directory = world.home.path("");
    world.scope.private = vec![world.home.path(".cowork")];
    write(&world.home, ".cowork/commands/mine.md", "Mine.");
    let skill = "---\nname: own\ndescription: d\n---\nOwn.";
    write(&world.home, ".cowork/skills/own/SKILL.md", skill);
    let catalog = commands(&world.scope, &Trusted::nothing("nobody said so"));
    assert_eq!(catalog.problems, []);
    assert_eq!(said(&catalog, "mine"), "Mine.\n\nx");
    assert_eq!(said(&catalog, "own"), "Own.\n\nx");
    let skills = crate::skill::catalog(&world.scope);
    assert_eq!(skills.problems, []);
    let own = skills.skills.iter().find(|skill| skill.name == "own");
    assert_eq!(own.unwrap().tier, vocabulary::SkillTier::Global);
}
