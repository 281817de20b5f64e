//! What others change in a workspace is told as they do, to those who want to hear it.

use engine::ListenOptions;
use vocabulary::Caller;

use super::*;
use crate::house::wish;

/// A thread whose original is there, and who listens to it and wants to hear of files.
async fn watched(house: &House) -> (ThreadId, Ear) {
    let thread = house.thread().await;
    let wish = ListenOptions {
        watch_files: true,
        ..wish(ListenFrom::Head)
    };
    let caller = Caller::local();
    let listening = house.engine.listen(&caller, thread, wish).await;
    let (_, listener) = listening.expect("a listener");
    assert_eq!(state(house, thread).await.standing, Standing::Ready);
    let mut ear = Ear::new(listener);
    ear.patience = PATIENCE;
    (thread, ear)
}

/// The changed files of the next fact that names one of this path.
async fn told(ear: &mut Ear, path: &str) -> FileVersion {
    let names = |fact: &Fact| match fact {
        Fact::Files(FilesFact::Changed { files, turn: None }) => {
            files.iter().find(|file| file.path == path).cloned()
        }
        // tidy: wildcard, because only changed files are looked for.
        _ => None,
    };
    let fact = ear.fact(|fact| names(fact).is_some()).await;
    names(&fact).expect("a file")
}

#[tokio::test]
async fn changes_from_outside_are_told_as_they_happen() {
    let house = house([]);
    let (_, mut ear) = watched(&house).await;
    let at = |path: &str| house.directory().join(path);
    let (add, update, delete) = (
        FileChangeKind::Add,
        FileChangeKind::Update,
        FileChangeKind::Delete,
    );
    std::fs::write(at("a.txt"), "one").expect("written");
    assert_eq!(told(&mut ear, "a.txt").await, version("a.txt", 1, 3, add));
    std::fs::remove_file(at("a.txt")).expect("removed");
    let gone = version("a.txt", 2, 0, delete);
    assert_eq!(told(&mut ear, "a.txt").await, gone);
    // It comes back by another name, as editors save files.
    std::fs::write(at("a.tmp"), "three").expect("written");
    std::fs::rename(at("a.tmp"), at("a.txt")).expect("renamed");
    assert_eq!(told(&mut ear, "a.txt").await, version("a.txt", 3, 5, add));
    std::fs::create_dir_all(at("d/e")).expect("directories");
    std::fs::write(at("d/e/f.txt"), "deep").expect("written");
    let deep = version("d/e/f.txt", 1, 4, add);
    assert_eq!(told(&mut ear, "d/e/f.txt").await, deep);
    std::fs::write(at("d/e/f.txt"), "deeper").expect("written");
    let deeper = version("d/e/f.txt", 2, 6, update);
    assert_eq!(told(&mut ear, "d/e/f.txt").await, deeper);
    std::fs::rename(at("d"), at("moved")).expect("renamed");
    let moved = version("moved/e/f.txt", 1, 6, add);
    assert_eq!(told(&mut ear, "moved/e/f.txt").await, moved);
    std::fs::write(at("moved/e/f.txt"), "x").expect("written");
    let again = version("moved/e/f.txt", 2, 1, update);
    assert_eq!(told(&mut ear, "moved/e/f.txt").await, again);
}

#[tokio::test]
async fn what_is_ignored_is_not_told() {
    let house = house([]);
    let at = |path: &str| house.directory().join(path);
    std::fs::write(at(".gitignore"), "out/\n*.log\n").expect("written");
    std::fs::create_dir(at("out")).expect("a directory");
    let (_, mut ear) = watched(&house).await;
    std::fs::write(at("out/x"), "x").expect("written");
    std::fs::write(at("a.log"), "x").expect("written");
    std::fs::write(at("b.txt"), "x").expect("written");
    told(&mut ear, "b.txt").await;
    std::fs::write(at(".gitignore"), "out/\n").expect("written");
    told(&mut ear, "a.log").await;
    let named = |path: &str| {
        let told = ear
            .heard
            .iter()
            .filter(|told| format!("{told:?}").contains(path));
        told.count()
    };
    assert_eq!((named("out/x"), named("a.log")), (0, 1));
}
