//! Commands that run at once, servers that are killed, and what is told.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::Scope;

struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Ground {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join("ws/sub")).unwrap();
        Ground(base)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("ws").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        std::fs::write(self.at(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.at(name)).ok()
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn own(&self) -> PathBuf {
        crate::sandbox::temp::of_home(&self.home())
    }

    fn hold_in(&self, directory: &str) -> Guard {
        self.hold_by(directory, By::PuttingBack)
    }

    fn hold_by(&self, directory: &str, by: By) -> Guard {
        let scope = Scope {
            directory: self.at(directory),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: Default::default(),
        };
        Guard::hold(&Places::of(&scope).unwrap(), &self.own(), by).unwrap()
    }

    fn journals(&self) -> usize {
        let entries = std::fs::read_dir(self.own().join("journal"));
        entries.map_or(0, Iterator::count)
    }
}

#[test]
fn it_tells_what_it_put_back_and_leaves_no_journal() {
    let ground = Ground::new();
    ground.write(".vscode/settings.json", "mine");
    let guard = ground.hold_in("");
    assert_eq!(ground.journals(), 1);
    assert_eq!(guard.finish(), Vec::<String>::new());
    ground.write(".vscode/settings.json", "evil");
    ground.write(".envrc", "evil");
    let notes = guard.finish();
    assert_eq!(notes.len(), 1, "{notes:?}");
    for word in [
        ".vscode/settings.json was changed",
        ".envrc was made",
        "is kept in ",
    ] {
        assert!(notes[0].contains(word), "{notes:?}");
    }
    assert_eq!(
        ground.read(".vscode/settings.json").as_deref(),
        Some("mine")
    );
    assert_eq!(ground.read(".envrc"), None);
    drop(guard);
    assert_eq!(ground.journals(), 0);
}

#[test]
fn what_one_command_did_is_not_what_was_before_another() {
    let ground = Ground::new();
    ground.write(".vscode/x", "mine");
    ground.write("sub/.vscode/x", "mine");
    let first = ground.hold_in("");
    ground.write(".vscode/x", "evil");
    ground.write("sub/.vscode/x", "evil");
    // In the same workspace, and in one that lies in it.
    let (second, third) = (ground.hold_in(""), ground.hold_in("sub"));
    first.finish();
    drop(first);
    ground.write(".vscode/x", "evil again");
    ground.write("sub/.vscode/x", "evil again");
    second.finish();
    third.finish();
    for path in [".vscode/x", "sub/.vscode/x"] {
        assert_eq!(ground.read(path).as_deref(), Some("mine"));
    }
    drop((second, third));
    assert_eq!(ground.journals(), 0);
}

#[test]
fn what_a_command_of_another_process_did_is_not_what_was_before() {
    let ground = Ground::new();
    ground.write(".vscode/x", "mine");
    let first = ground.hold_in("");
    let journal = ground.own().join("journal");
    let ours = std::fs::read_dir(&journal)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    std::fs::copy(ours.path(), journal.join("1-0.json")).unwrap();
    drop(first);
    ground.write(".vscode/x", "evil");
    let second = ground.hold_in("");
    assert_eq!(second.finish().len(), 1);
    assert_eq!(ground.read(".vscode/x").as_deref(), Some("mine"));
}

#[test]
fn what_a_tool_wrote_meanwhile_stays() {
    let ground = Ground::new();
    let guard = ground.hold_in("");
    ground.write(".vscode/settings.json", "allowed");
    accept(&ground.at(".vscode/settings.json"));
    ground.write(".envrc", "evil");
    assert_eq!(guard.finish().len(), 1);
    assert_eq!(
        ground.read(".vscode/settings.json").as_deref(),
        Some("allowed")
    );
    assert_eq!(ground.read(".envrc"), None);
}

fn git(directory: &Path, words: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    command.args(["-c", "core.fsmonitor=false"]);
    command.args(words).current_dir(directory);
    assert!(command.status().unwrap().success(), "{words:?}");
}

#[test]
fn what_appeared_deeper_is_told() {
    let ground = Ground::new();
    git(&ground.at(""), &["init", "-q", "."]);
    let guard = ground.hold_in("");
    git(&ground.at("sub"), &["init", "-q", "."]);
    git(
        &ground.at("sub"),
        &["commit", "-q", "--allow-empty", "-m", "m"],
    );
    git(&ground.at(""), &["add", "sub"]);
    ground.write("package/.vscode/tasks.json", "{}");
    let notes = guard.finish();
    assert_eq!(notes.len(), 1, "{notes:?}");
    for word in [
        "sub is now a repository of its own in the index",
        "sub is a new git repository",
        "package/.vscode is new",
    ] {
        assert!(notes[0].contains(word), "{word}: {notes:?}");
    }
    assert!(ground.at("sub/.git").exists());
}

#[test]
fn a_new_repository_where_git_runs_something_is_taken_away() {
    let ground = Ground::new();
    git(&ground.at(""), &["init", "-q", "."]);
    // Where nobody looks by walking, but git does.
    let hidden_away = "node_modules/deep/x";
    for (name, setting) in [("sub", "core.fsmonitor"), (hidden_away, "core.hooksPath")] {
        let guard = ground.hold_in("");
        let top = ground.at(name);
        std::fs::create_dir_all(&top).unwrap();
        git(&top, &["init", "-q", "."]);
        git(&top, &["commit", "-q", "--allow-empty", "-m", "m"]);
        git(&ground.at(""), &["add", "-f", name]);
        git(&top, &["config", setting, "./evil"]);
        let notes = guard.finish();
        let told = format!("{name}/.git was made");
        assert!(notes[0].contains(&told), "{notes:?}");
        assert!(!top.join(".git").exists(), "{name}");
    }
}

#[test]
fn settings_of_repositories_deeper_are_put_back() {
    let ground = Ground::new();
    for name in ["sub", "linked"] {
        std::fs::create_dir_all(ground.at(name)).unwrap();
    }
    git(&ground.at("sub"), &["init", "-q", "."]);
    ground.write("linked/.git", "gitdir: ../sub/.git");
    let before = ground.read("sub/.git/config");
    let guard = ground.hold_in("");
    git(&ground.at("sub"), &["config", "core.fsmonitor", "./evil"]);
    ground.write("sub/.git/hooks/post-index-change", "evil");
    ground.write("linked/.git", "gitdir: ../elsewhere");
    let notes = guard.finish();
    for word in [
        "sub/.git/config was changed",
        "sub/.git/hooks/post-index-change was made",
        "linked/.git was changed",
    ] {
        assert!(notes[0].contains(word), "{word}: {notes:?}");
    }
    assert_eq!(ground.read("sub/.git/config"), before);
    assert_eq!(ground.read("linked/.git").unwrap(), "gitdir: ../sub/.git");
}

/// The process is killed while it holds: nothing of it runs any more, and its lock is gone.
#[test]
fn after_a_kill_the_next_start_puts_back() {
    let ground = Ground::new();
    ground.write(".git/config", "[core]\n");
    ground.write(".git/hooks/pre-commit", "mine");
    let killed = ground.hold_in("");
    let journal = ground.own().join("journal");
    // As the kernel leaves it: the same file, without a lock.
    let left = std::fs::read_dir(&journal)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let copy = std::fs::read(left.path()).unwrap();
    ground.write(".git/config", "[core]\nfsmonitor = ./evil\n");
    ground.write(".git/commondir", "../evil");
    ground.write(".envrc", "evil");
    assert_eq!(recover(&ground.home()), Vec::<String>::new(), "it is alive");
    std::fs::write(journal.join("1-1.json"), copy).unwrap();
    let notes = recover(&ground.home());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains(".envrc was made"), "{notes:?}");
    assert_eq!(ground.read(".git/config").as_deref(), Some("[core]\n"));
    assert_eq!(ground.read(".git/commondir"), None);
    assert_eq!(ground.read(".envrc"), None);
    assert_eq!(ground.journals(), 1);
    drop(killed);
    assert_eq!(recover(&ground.home()), Vec::<String>::new());
}

/// Behind mounts a command cannot have changed what they hold, so a person has.
#[test]
fn what_mounts_hold_is_left_to_people() {
    let ground = Ground::new();
    git(&ground.at(""), &["init", "-q", "."]);
    ground.write(".envrc", "mine");
    let guard = ground.hold_by("", By::Mounts);
    git(&ground.at(""), &["config", "user.name", "me"]);
    ground.write(".envrc", "mine, newer");
    ground.write(".vscode/settings.json", "mine");
    ground.write(".git/config.worktree", "");
    // This one no mount holds.
    ground.write(".mcp.json", "evil");
    let notes = guard.finish();
    assert_eq!(notes.len(), 1, "{notes:?}");
    let told = "themselves: .mcp.json was made; what";
    assert!(notes[0].contains(told), "{notes:?}");
    for path in [".envrc", ".vscode/settings.json", ".git/config.worktree"] {
        assert!(ground.at(path).exists(), "{path}");
    }
    assert!(ground.read(".git/config").unwrap().contains("me"));
}

#[test]
fn what_cannot_be_recorded_is_told_before() {
    let ground = Ground::new();
    let scope = Scope {
        directory: ground.at(""),
        extra: Vec::new(),
        private: Vec::new(),
        spill: None,
        skills: Vec::new(),
        trusted: false,
        read_only: false,
        outside: Default::default(),
    };
    let cannot = || cannot_hold(&Places::of(&scope).unwrap());
    assert_eq!(cannot(), None);
    ground.write(".idea/x", "");
    std::fs::File::options()
        .write(true)
        .open(ground.at(".idea/x"))
        .and_then(|file| file.set_len(1 << 30))
        .unwrap();
    let why = cannot().unwrap();
    assert!(why.contains(".idea: it is too large"), "{why}");
}
