//! Skills as they lie in their places, and as the model loads them.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;

fn put(scratch: &Scratch, tier: &str, name: &str, body: &str) {
    let directory = scratch.path(tier).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let text = format!("---\nname: {name}\ndescription: About {name}\n---\n\n{body}\n");
    std::fs::write(directory.join(FILE), text).unwrap();
}

struct World {
    scratch: Scratch,
    home: Scratch,
    trusted: bool,
}

impl World {
    /// Every skill of the workspace with the content that it has now.
    fn as_they_are(&self) -> Trusted {
        let mut files = std::collections::BTreeMap::new();
        for folder in crate::folders::GUARDED {
            let tier = Path::new(folder).join(SKILLS);
            let entries = std::fs::read_dir(self.scratch.path("").join(&tier));
            for entry in entries.into_iter().flatten().flatten() {
                let path = tier.join(entry.file_name()).join(FILE);
                let content = std::fs::read(self.scratch.path("").join(&path)).unwrap();
                files.insert(path, blake3::hash(&content));
            }
        }
        Trusted::new(files)
    }

    async fn skill(&self, name: &str) -> Result<String, String> {
        let mut cx = self.scratch.cx(&std::sync::Arc::default());
        cx.scope.private.push(self.home.path(""));
        cx.scope.skills.push(self.home.path("skills"));
        cx.scope.trusted = self.trusted;
        cx.trusted = match self.trusted {
            true => self.as_they_are(),
            false => Trusted::nothing("nobody said so"),
        };
        match SkillTool.run(&cx, json!({"skillName": name})).await {
            Ok(ToolOutput::Text(text)) => Ok(text),
            Err(Failure::Error(message)) => Err(message),
            other => panic!("{other:?}"),
        }
    }
}

fn world() -> World {
    let (scratch, home) = (Scratch::new(), Scratch::new());
    put(&scratch, ".agent/skills", "commit", "theirs");
    put(&scratch, ".agent/skills", "deploy", "Push it.");
    put(&home, "skills", "commit", "mine");
    World {
        scratch,
        home,
        trusted: false,
    }
}

#[tokio::test]
async fn skills_of_the_workspace_wait_for_trust() {
    let mut world = world();
    let mine = world.skill("commit").await.unwrap();
    assert!(
        mine.starts_with("mine\n\n[the files of this skill are in /"),
        "{mine}"
    );
    let message = world.skill("deploy").await.unwrap_err();
    assert!(message.starts_with("skill: deploy comes with this workspace, which is not trusted"));
    world.trusted = true;
    let deploy = world.skill("deploy").await.unwrap();
    assert_eq!(
        deploy,
        "Push it.\n\n[the files of this skill are in .agent/skills/deploy]"
    );
    assert!(world.skill("commit").await.unwrap().starts_with("theirs"));
    put(&world.scratch, ".cowork/skills", "commit", "ours");
    assert!(world.skill("commit").await.unwrap().starts_with("ours"));
}

#[tokio::test]
async fn a_skill_is_used_only_as_it_was_trusted() {
    let world = world();
    let mut cx = world.scratch.cx(&std::sync::Arc::default());
    cx.scope.trusted = true;
    cx.trusted = world.as_they_are();
    put(
        &world.scratch,
        ".agent/skills",
        "deploy",
        "Push it to them.",
    );
    put(&world.scratch, ".agent/skills", "new", "Came later.");
    for name in ["deploy", "new"] {
        let used = SkillTool.run(&cx, json!({"skillName": name})).await;
        let Err(Failure::Error(message)) = used else {
            panic!("{used:?}")
        };
        assert!(
            message.contains("is not what the user trusted"),
            "{message}"
        );
    }
    assert!(
        SkillTool
            .run(&cx, json!({"skillName": "commit"}))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn what_is_no_skill_is_refused() {
    let mut world = world();
    let message = world.skill("none").await.unwrap_err();
    assert_eq!(
        message,
        "skill: there is no skill none; there are: commit, explain, review, test"
    );
    world.trusted = true;
    let message = world.skill("none").await.unwrap_err();
    assert_eq!(
        message,
        "skill: there is no skill none; there are: commit, deploy, explain, review, test"
    );
    for name in ["../x", "Commit", "a--b", "-a", "a/b"] {
        let message = world.skill(name).await.unwrap_err();
        assert!(
            message.contains("\"skillName\" must be small letters"),
            "{message}"
        );
    }
    std::fs::create_dir(world.home.path("skills/other")).unwrap();
    std::fs::copy(
        world.home.path("skills/commit/SKILL.md"),
        world.home.path("skills/other/SKILL.md"),
    )
    .unwrap();
    let message = world.skill("other").await.unwrap_err();
    assert!(message.contains("its name is \"commit\""), "{message}");
    let large = "x".repeat(SKILL_BYTES_MAX as usize);
    put(&world.home, "skills", "large", &large);
    let message = world.skill("large").await.unwrap_err();
    assert!(message.contains("more than 262144 bytes"), "{message}");
}

#[tokio::test]
async fn a_link_out_of_the_workspace_is_not_followed() {
    let (mut world, other) = (world(), Scratch::new());
    world.trusted = true;
    put(&other, "", "evil", "Obey.");
    std::os::unix::fs::symlink(other.path("evil"), world.scratch.path(".agent/skills/evil"))
        .unwrap();
    let message = world.skill("evil").await.unwrap_err();
    assert!(message.contains("leads outside"), "{message}");
}

/// The scope with the user's two directories of skills.
fn scope_of(world: &World) -> Scope {
    let mut scope = world.scratch.scope();
    scope.skills = vec![world.home.path("skills"), world.home.path("other/skills")];
    scope
}

fn listed(scope: &Scope) -> Vec<String> {
    let skills = catalog(scope).skills.into_iter();
    let line = |skill: vocabulary::Skill| {
        let state = if skill.enabled { "" } else { " off" };
        format!("{} {:?}{state}", skill.name, skill.tier)
    };
    skills.map(line).collect()
}

#[test]
fn all_tiers_are_listed_and_the_first_of_a_name_counts() {
    let world = world();
    let scope = scope_of(&world);
    put(&world.home, "other/skills", "commit", "hidden");
    put(&world.home, "other/skills", "mine", "mine");
    put(&world.home, "disabled-skills", "old", "old");
    let wrong = world.home.path("skills/Wrong Name");
    std::fs::create_dir(&wrong).unwrap();
    std::fs::write(wrong.join(FILE), "x").unwrap();
    let invalid = world.home.path("skills/mine");
    std::fs::create_dir(&invalid).unwrap();
    std::fs::write(invalid.join(FILE), "no front matter").unwrap();
    let expected = [
        "commit Project",
        "deploy Project",
        "explain BuiltIn",
        "mine User",
        "old Global off",
        "review BuiltIn",
        "test BuiltIn",
    ];
    assert_eq!(listed(&scope), expected);
    let problems = catalog(&scope).problems;
    let said = |path: &Path, words: &str| {
        let mut problems = problems.iter();
        problems.any(|each| each.path.ends_with(path) && each.problem.contains(words))
    };
    assert!(
        said(Path::new("skills/Wrong Name/SKILL.md"), "small letters"),
        "{problems:?}"
    );
    assert!(
        said(Path::new("skills/mine/SKILL.md"), "does not begin with"),
        "{problems:?}"
    );
    assert!(
        said(Path::new("other/skills/commit/SKILL.md"), "goes before it"),
        "{problems:?}"
    );
    assert_eq!(read(&scope, "old").unwrap().content, "old");
    let review = read(&scope, "review").unwrap();
    assert_eq!(review.skill.path, Path::new("builtin:/review/SKILL.md"));
    assert!(review.content.starts_with("# Review"), "{}", review.content);
    for name in ["none", "../commit", ""] {
        assert_eq!(read(&scope, name), None, "{name}");
    }
}

#[test]
fn triggers_are_a_list_or_a_text_or_the_name() {
    let (home, scratch) = (Scratch::new(), Scratch::new());
    let mut scope = scratch.scope();
    scope.skills = vec![home.path("")];
    let table = [
        ("", "a"),
        ("triggers: [/x, y]", "/x y"),
        ("triggers: x, y", "x y"),
        ("metadata:\n  author: me\n  triggers:\n    - x", "x"),
        ("triggers: []", "a"),
    ];
    std::fs::create_dir(home.path("a")).unwrap();
    for (lines, expected) in table {
        let text = format!("---\nname: a\ndescription: d\n{lines}\n---\nDo.");
        std::fs::write(home.path("a").join(FILE), text).unwrap();
        let skill = read(&scope, "a").unwrap().skill;
        assert_eq!(skill.triggers.join(" "), expected, "{lines}");
    }
}

#[test]
fn global_skills_are_switched_and_deleted_and_no_others() {
    let world = world();
    let scope = scope_of(&world);
    put(&world.home, "skills", "own", "own");
    put(&world.home, "other/skills", "users", "x");
    set_enabled(&scope, "own", false).unwrap();
    assert!(world.home.path("disabled-skills/own/SKILL.md").is_file());
    assert!(listed(&scope).contains(&"own Global off".to_owned()));
    set_enabled(&scope, "own", false).unwrap();
    // What came in between is neither lost nor mixed up.
    put(&world.home, "skills", "own", "another");
    for enabled in [true, false] {
        let refused = set_enabled(&scope, "own", enabled).unwrap_err();
        assert!(
            matches!(refused, SkillChangeError::InTheWay(_)),
            "{refused}"
        );
    }
    assert_eq!(read(&scope, "own").unwrap().content, "another");
    delete(&scope, "own").unwrap();
    set_enabled(&scope, "own", true).unwrap();
    assert_eq!(read(&scope, "own").unwrap().content, "own");
    for name in ["deploy", "users", "review"] {
        for refused in [set_enabled(&scope, name, false), delete(&scope, name)] {
            assert!(
                matches!(refused, Err(SkillChangeError::NotGlobal)),
                "{name}"
            );
        }
    }
    for name in ["none", "../skills/own", ""] {
        for refused in [set_enabled(&scope, name, true), delete(&scope, name)] {
            assert!(matches!(refused, Err(SkillChangeError::NotFound)), "{name}");
        }
    }
}

#[test]
fn of_a_link_only_the_link_is_deleted() {
    let (world, other) = (world(), Scratch::new());
    let scope = scope_of(&world);
    put(&other, "", "linked", "kept");
    let link = world.home.path("skills/linked");
    std::os::unix::fs::symlink(other.path("linked"), &link).unwrap();
    set_enabled(&scope, "linked", false).unwrap();
    assert_eq!(read(&scope, "linked").unwrap().content, "kept");
    delete(&scope, "linked").unwrap();
    assert_eq!(read(&scope, "linked"), None);
    assert!(other.path("linked/SKILL.md").is_file());
    // Nor does a link inside lead out.
    std::os::unix::fs::symlink(other.path("linked"), world.home.path("skills/commit/x")).unwrap();
    delete(&scope, "commit").unwrap();
    assert!(!world.home.path("skills/commit").exists());
    assert!(other.path("linked/SKILL.md").is_file());
}

#[test]
fn a_new_skill_is_valid_and_replaces_nothing() {
    let home = Scratch::new();
    let file = create(&home.path("skills"), "mine").unwrap();
    assert_eq!(file, home.path("skills/mine/SKILL.md"));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(front::body(&text, "mine").is_ok());
    let again = create(&home.path("skills"), "mine").unwrap_err();
    assert!(matches!(again, SkillChangeError::InTheWay(_)), "{again}");
    let wrong = create(&home.path("skills"), "../x").unwrap_err();
    assert!(matches!(wrong, SkillChangeError::Name), "{wrong}");
}
