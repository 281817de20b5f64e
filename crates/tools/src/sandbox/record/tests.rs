//! What a command may do to a protected path, and that it is as before afterwards.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use super::*;

/// A workspace and a place for what is taken away.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Ground {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join("ws")).unwrap();
        Ground(base)
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("ws")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn item(&self, name: &str, extent: Extent) -> RecordedPath {
        RecordedPath::record(&self.at(name), extent, &mut Room::for_records()).unwrap()
    }

    /// Puts back, through the journal's form; tells what was changed.
    fn put_back(&self, item: &RecordedPath) -> Vec<(String, Change)> {
        let text = serde_json::to_string(item).unwrap();
        let item: RecordedPath = serde_json::from_str(&text).unwrap();
        let mut taken = CallDirectory::below(&self.0.path().join("taken"));
        let changes = item.put_back(&mut taken).unwrap();
        assert_eq!(item.put_back(&mut taken).unwrap(), [], "once is enough");
        let told = changes.into_iter().map(|change| {
            let inner = change.path.strip_prefix(self.root()).unwrap();
            (inner.display().to_string(), change.how)
        });
        told.collect()
    }

    /// All contents that were taken away.
    fn taken(&self) -> Vec<String> {
        let mut contents = Vec::new();
        let mut ahead = vec![self.0.path().join("taken")];
        while let Some(path) = ahead.pop() {
            match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {
                    let entries = std::fs::read_dir(&path).unwrap().flatten();
                    ahead.extend(entries.map(|entry| entry.path()));
                }
                Ok(meta) if meta.is_file() => {
                    contents.push(std::fs::read_to_string(path).unwrap());
                }
                Ok(_) | Err(_) => {}
            }
        }
        contents.sort();
        contents
    }
}

#[test]
fn what_was_changed_is_put_back_and_what_it_became_is_kept() {
    let ground = Ground::new();
    ground.write(".vscode/settings.json", "mine");
    ground.write(".vscode/same", "same");
    ground.write(".vscode/lost/deep", "deep");
    symlink("same", ground.at(".vscode/link")).unwrap();
    let item = ground.item(".vscode", Extent::Whole);
    assert_eq!(ground.put_back(&item), []);

    ground.write(".vscode/settings.json", "evil");
    ground.write(".vscode/new/tasks.json", "evil too");
    std::fs::remove_dir_all(ground.at(".vscode/lost")).unwrap();
    std::fs::remove_file(ground.at(".vscode/link")).unwrap();
    symlink("/etc/passwd", ground.at(".vscode/link")).unwrap();
    let told = ground.put_back(&item);
    let expected = [
        (".vscode/link", Change::Changed),
        (".vscode/new", Change::Made),
        (".vscode/settings.json", Change::Changed),
        (".vscode/lost", Change::Removed),
        (".vscode/lost/deep", Change::Removed),
    ];
    assert_eq!(told, expected.map(|(path, how)| (path.to_owned(), how)));
    assert_eq!(ground.item(".vscode", Extent::Whole), item);
    assert_eq!(ground.taken(), ["evil", "evil too"]);
}

#[test]
fn what_lies_deeper_may_go_but_not_change() {
    let ground = Ground::new();
    ground.write("pkg/.vscode/settings.json", "mine");
    let item = ground.item("pkg/.vscode", Extent::Deeper);
    ground.write("pkg/.vscode/settings.json", "evil");
    let told = ground.put_back(&item);
    let changed = "pkg/.vscode/settings.json".to_owned();
    assert_eq!(told, [(changed, Change::Changed)]);
    std::fs::remove_dir_all(ground.at("pkg")).unwrap();
    assert_eq!(ground.put_back(&item), []);
    assert!(!ground.at("pkg").exists());
}

#[test]
fn a_mode_is_put_back() {
    let ground = Ground::new();
    ground.write("hooks/pre-commit", "sleeps");
    let hook = ground.at("hooks/pre-commit");
    let set = |mode| std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(mode));
    set(0o644).unwrap();
    let item = ground.item("hooks", Extent::Whole);
    set(0o755).unwrap();
    let told = ground.put_back(&item);
    assert_eq!(told, [("hooks/pre-commit".to_owned(), Change::Changed)]);
    assert_eq!(ground.item("hooks", Extent::Whole), item);
}

#[test]
fn what_was_not_there_is_taken_away_whatever_it_became() {
    for (name, make) in [
        (
            "a file",
            (|at: &Path| std::fs::write(at, "evil")) as fn(&Path) -> Result<()>,
        ),
        ("a directory", |at| {
            std::fs::create_dir(at)?;
            std::fs::write(at.join("x"), "evil")
        }),
        ("a link", |at| symlink("/etc", at)),
        ("a pipe", |at| {
            let made = std::process::Command::new("mkfifo").arg(at).status()?;
            assert!(made.success());
            Ok(())
        }),
    ] {
        let ground = Ground::new();
        let item = ground.item(".envrc", Extent::Whole);
        make(&ground.at(".envrc")).unwrap();
        let told = ground.put_back(&item);
        assert_eq!(told, [(".envrc".to_owned(), Change::Made)], "{name}");
        assert!(ground.at(".envrc").symlink_metadata().is_err(), "{name}");
    }
}

#[test]
fn nothing_is_written_through_a_link_that_was_put_in_the_way() {
    let ground = Ground::new();
    ground.write(".cargo/config.toml", "mine");
    let outside = ground.0.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let way = ground.item(".cargo", Extent::Way);
    let item = ground.item(".cargo/config.toml", Extent::Whole);
    std::fs::rename(ground.at(".cargo"), ground.at("old")).unwrap();
    symlink(&outside, ground.at(".cargo")).unwrap();
    // In the wrong order, as when it is swapped in just then: nothing happens outside.
    let mut taken = CallDirectory::below(&ground.0.path().join("taken"));
    assert!(item.put_back(&mut taken).is_err());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    let told = ground.put_back(&way);
    assert_eq!(told, [(".cargo".to_owned(), Change::Changed)]);
    ground.put_back(&item);
    assert_eq!(
        std::fs::read(ground.at(".cargo/config.toml")).unwrap(),
        b"mine"
    );
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

/// A directory that cannot be listed can still be entered by whoever knows the names in it.
#[test]
fn what_was_closed_to_us_is_put_back_all_the_same() {
    let ground = Ground::new();
    ground.write(".cargo/kept", "");
    let close = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(ground.at(name), mode).unwrap();
    };
    let way = ground.item(".cargo", Extent::Way);
    let item = ground.item(".vscode", Extent::Whole);
    ground.write(".vscode/tasks.json", "evil");
    close(".vscode", 0o311);
    close(".cargo", 0o000);
    let told = [ground.put_back(&way), ground.put_back(&item)].concat();
    let expected = [(".cargo", Change::Changed), (".vscode", Change::Made)];
    assert_eq!(told, expected.map(|(path, how)| (path.to_owned(), how)));
    assert!(!ground.at(".vscode").exists());
    assert!(ground.at(".cargo/kept").exists());
    // Or the test's own directory could not be removed.
    let taken = std::fs::read_dir(ground.0.path().join("taken")).unwrap();
    for call in taken.flatten() {
        for entry in std::fs::read_dir(call.path()).unwrap().flatten() {
            let mode = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(entry.path(), mode).unwrap();
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_not_recorded() {
    use std::os::unix::ffi::OsStrExt;
    let ground = Ground::new();
    ground.write(".idea/x", "");
    let odd = ground
        .at(".idea")
        .join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::write(odd, "").unwrap();
    let refused =
        RecordedPath::record(&ground.at(".idea"), Extent::Whole, &mut Room::for_records());
    assert!(refused.unwrap_err().to_string().contains("not text"));
}

#[test]
fn of_other_repositories_only_settings_and_hooks_count() {
    let ground = Ground::new();
    ground.write("modules/a/config", "mine");
    ground.write("modules/a/objects/pack", "data");
    ground.write("modules/a/HEAD", "one");
    let item = ground.item("modules", Extent::GitSettings);
    ground.write("modules/a/config", "evil");
    ground.write("modules/a/HEAD", "two");
    ground.write("modules/a/objects/config", "data");
    ground.write("modules/a/hooks/post-checkout", "evil");
    ground.write("modules/b/commondir", "evil");
    ground.write("modules/b/HEAD", "new");
    let expected = [
        ("modules/a/config", Change::Changed),
        ("modules/a/hooks", Change::Made),
        ("modules/b/commondir", Change::Made),
    ];
    let told = ground.put_back(&item);
    assert_eq!(told, expected.map(|(path, how)| (path.to_owned(), how)));
    assert_eq!(std::fs::read(ground.at("modules/a/HEAD")).unwrap(), b"two");
    assert_eq!(
        std::fs::read(ground.at("modules/a/config")).unwrap(),
        b"mine"
    );
    assert!(ground.at("modules/b/HEAD").exists());
}

#[test]
fn what_is_too_much_is_not_recorded_but_what_became_too_much_is_put_back() {
    let ground = Ground::new();
    ground.write(".idea/x", "mine");
    let item = ground.item(".idea", Extent::Whole);
    let large = std::fs::File::create(ground.at(".idea/large")).unwrap();
    large.set_len(5 * BYTES_MAX).unwrap();
    let refused =
        RecordedPath::record(&ground.at(".idea"), Extent::Whole, &mut Room::for_records());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::FileTooLarge);
    let told = ground.put_back(&item);
    assert_eq!(told, [(".idea".to_owned(), Change::Changed)]);
    assert_eq!(ground.item(".idea", Extent::Whole), item);
}

#[test]
fn a_new_repository_may_stay_if_it_is_plain() {
    let ground = Ground::new();
    let item = ground.item(".git", Extent::Repository);
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        assert!(
            command
                .args(words)
                .current_dir(ground.root())
                .status()
                .unwrap()
                .success()
        );
    };
    git(&["init", "-q", "."]);
    assert_eq!(ground.put_back(&item), []);
    git(&["config", "core.fsmonitor", "./evil"]);
    assert_eq!(ground.put_back(&item), [(".git".to_owned(), Change::Made)]);
    assert!(!ground.at(".git").exists());
}
