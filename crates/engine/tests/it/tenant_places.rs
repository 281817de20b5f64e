//! What a tenant has of its own: directories, terms, pictures by path; and what it may not choose.

use std::path::{Path, PathBuf};

use engine::TenantTerms;
use vocabulary::{
    Call, Caller, Changes, Image, LibraryCall, NewThread, Refusal, Reply, SandboxMode, StartTurn,
    TenantId, Thread, ThreadView, Why, WorkspaceDirectory, WorkspaceId,
};

use crate::house::{House, said};
use crate::puppet::{Puppet, says};

fn tenant(name: &str) -> Caller {
    Caller {
        tenant: TenantId::new(name),
        ..Caller::local()
    }
}

fn home(house: &House, name: &str) -> PathBuf {
    house.home().join("tenants").join(name)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, text).expect("written");
}

async fn made(house: &House, caller: &Caller, new: NewThread) -> Result<Thread, Refusal> {
    let call = Call::CreateThread(Box::new(NewThread { keep: true, ..new }));
    let made = house.call_as(caller, call).await.and_then(Reply::thread);
    made.map(|thread| *thread)
}

fn at(directory: &Path) -> NewThread {
    NewThread {
        directory: Some(directory.to_owned()),
        ..NewThread::default()
    }
}

#[tokio::test(start_paused = true)]
async fn each_session_has_a_directory_where_the_tenant_has_none() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let one = made(&house, &north, NewThread::default())
        .await
        .expect("a thread");
    let two = made(&house, &north, NewThread::default())
        .await
        .expect("a thread");
    let place = |thread: &Thread| {
        home(&house, "north")
            .join("workspaces")
            .join(thread.card.id.to_string())
    };
    for thread in [&one, &two] {
        assert_eq!(thread.card.directory, place(thread));
        assert!(thread.card.directory.is_dir());
    }
    let local = made(&house, &Caller::local(), NewThread::default()).await;
    assert_eq!(local.expect("a thread").card.directory, house.directory());
}

#[tokio::test(start_paused = true)]
async fn a_directory_of_somebody_else_is_refused_like_one_that_is_not_there() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let south = made(&house, &tenant("south"), NewThread::default())
        .await
        .expect("a thread");
    let own = made(&house, &north, NewThread::default())
        .await
        .expect("a thread")
        .card
        .directory;
    std::os::unix::fs::symlink(&south.card.directory, own.join("link")).expect("a link");
    let missing = house.directory().join("missing");
    let refused = |outcome: Result<Thread, Refusal>, path: &Path| {
        let refusal = outcome.expect_err("refused");
        (
            refusal.why,
            refusal.message.replace(&path.display().to_string(), "PATH"),
        )
    };
    let unknown = refused(made(&house, &north, at(&missing)).await, &missing);
    assert_eq!(unknown.0, Why::invalid("directory"));
    for path in [
        house.directory().to_owned(),
        south.card.directory.clone(),
        own.join("link"),
        own.join("../../../south"),
        house.home(),
        PathBuf::from("/"),
    ] {
        let said = refused(made(&house, &north, at(&path)).await, &path);
        assert_eq!(said, unknown, "{}", path.display());
    }
    let inside = made(&house, &north, at(&own)).await.expect("its own");
    assert_eq!(inside.card.directory, own.canonicalize().expect("there"));
    let given = LibraryCall::CreateWorkspace {
        id: WorkspaceId::new("w"),
        name: None,
        make_current: true,
        directory: WorkspaceDirectory::Given(south.card.directory),
    };
    let refusal = house.call_as(&north, Call::Library(given)).await;
    assert_eq!(refusal.expect_err("refused").why, Why::invalid("path"));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_with_a_directory_runs_in_it_and_chooses_in_it() {
    let house = House::with(&Puppet::new([]));
    let (north, scratch) = (tenant("north"), tempfile::tempdir().expect("a directory"));
    let own = scratch.path().canonicalize().expect("there");
    std::fs::create_dir(own.join("inner")).expect("made");
    let terms = TenantTerms {
        directory: Some(own.clone()),
        ..TenantTerms::default()
    };
    terms.write(&house.home(), &north.tenant).expect("written");
    let usual = made(&house, &north, NewThread::default())
        .await
        .expect("a thread");
    assert_eq!(usual.card.directory, own);
    let inner = made(&house, &north, at(&own.join("inner")))
        .await
        .expect("a thread");
    assert_eq!(inner.card.directory, own.join("inner"));
    assert!(made(&house, &north, at(house.directory())).await.is_err());
    // No two tenants have one directory, nor one inside of the other's, nor the server's data.
    for directory in [own.clone(), own.join("inner"), house.home().join("x")] {
        std::fs::create_dir_all(&directory).expect("made");
        let terms = TenantTerms {
            directory: Some(directory),
            ..TenantTerms::default()
        };
        let written = terms.write(&house.home(), &TenantId::new("south"));
        assert!(written.is_err(), "{terms:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_picture_is_read_only_in_the_workspace() {
    let puppet = Puppet::new([says("seen")]);
    let house = House::with(&puppet);
    let north = tenant("north");
    let thread = made(&house, &north, NewThread::default())
        .await
        .expect("a thread")
        .card;
    let south = made(&house, &tenant("south"), NewThread::default())
        .await
        .expect("a thread");
    let png = |path: PathBuf| {
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n").expect("written");
        path
    };
    let (own, elsewhere) = (
        png(thread.directory.join("a.png")),
        png(south.card.directory.join("a.png")),
    );
    let servers = png(house.directory().join("a.png"));
    std::os::unix::fs::symlink(&elsewhere, thread.directory.join("link.png")).expect("a link");
    let start = |path: &Path| {
        Call::StartTurn(StartTurn {
            images: vec![Image::Path(path.to_owned())],
            ..said(thread.id, "look")
        })
    };
    let mut said = Vec::new();
    for path in [
        south.card.directory.join("missing.png"),
        elsewhere.clone(),
        elsewhere.join("below"),
        servers,
        thread.directory.join("link.png"),
        thread
            .directory
            .join("../../../south/workspaces")
            .join(south.card.id.to_string())
            .join("a.png"),
    ] {
        let refusal = house
            .call_as(&north, start(&path))
            .await
            .expect_err("refused");
        said.push((
            refusal.why,
            refusal.message.replace(&path.display().to_string(), "PATH"),
        ));
    }
    said.dedup();
    assert_eq!(said.len(), 1, "{said:?}");
    house.call_as(&north, start(&own)).await.expect("its own");
}

#[tokio::test(start_paused = true)]
async fn nothing_works_for_a_tenant_whose_terms_cannot_be_read() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let thread = made(&house, &north, NewThread::default())
        .await
        .expect("a thread")
        .card
        .id;
    for (file, text) in [
        ("config/tenant.toml", "fulll_access = true"),
        ("config/policy.toml", "[[rule]]\neffect = \"perhaps\""),
    ] {
        let path = home(&house, "north").join(file);
        write(&path, text);
        let refusal = house.call_as(&north, Call::GetThread { thread }).await;
        let refusal = refusal.expect_err("refused");
        assert_eq!(refusal.why, Why::Storage);
        assert!(!refusal.message.contains("perhaps"), "{refusal:?}");
        std::fs::remove_file(&path).expect("removed");
        house
            .call_as(&north, Call::GetThread { thread })
            .await
            .expect("served again");
    }
    let strange = tenant("../north");
    assert!(house.call_as(&strange, Call::GetCatalog).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn full_access_is_for_who_may_leave_the_sandbox() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let full = || NewThread {
        changes: Changes {
            sandbox: Some(SandboxMode::FullAccess),
            ..Changes::default()
        },
        ..NewThread::default()
    };
    let refusal = made(&house, &north, full()).await.expect_err("refused");
    assert_eq!(refusal.why, Why::invalid("sandbox"));
    // There is no sandbox in this house: what the tenant is told is that nothing leaves one.
    let thread = made(&house, &north, NewThread::default())
        .await
        .expect("a thread")
        .card
        .id;
    let view = async || -> ThreadView {
        let call = Call::ReadThread { thread, recent: 0 };
        match house.call_as(&north, call).await {
            Ok(Reply::View(view)) => *view,
            other => panic!("no view: {other:?}"),
        }
    };
    assert!(view().await.sandbox.holds);
    let terms = TenantTerms {
        full_access: true,
        ..TenantTerms::default()
    };
    terms.write(&house.home(), &north.tenant).expect("written");
    assert!(!view().await.sandbox.holds);
    made(&house, &north, full()).await.expect("allowed");
}

#[tokio::test(start_paused = true)]
async fn a_projects_file_opens_no_directory_elsewhere() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let own = made(&house, &north, NewThread::default())
        .await
        .expect("a thread")
        .card
        .directory;
    let elsewhere = house.directory().join("others");
    let config = serde_json::json!({
        "uploadsDirectory": elsewhere,
        "outputDirectory": own.join("../../../out"),
    });
    write(&own.join(".cowork/config.json"), &config.to_string());
    let thread = made(&house, &north, at(&own)).await.expect("a thread");
    assert_eq!(thread.card.folders_outside(), Vec::<PathBuf>::new());
    assert!(!elsewhere.exists());
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_is_not_kept_leaves_no_directory() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let call = Call::CreateThread(Box::default());
    let made = house.call_as(&north, call).await.and_then(Reply::thread);
    let card = made.expect("a thread").card;
    assert!(card.directory.is_dir());
    let close = Call::CloseThread {
        thread: card.id,
        audience: vocabulary::Audience(0),
    };
    house.call_as(&north, close).await.expect("closed");
    // It ends by itself: nobody listens, and nothing happened in it.
    let call = || Call::GetThread { thread: card.id };
    while house.call_as(&north, call()).await.is_ok() {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    assert!(!card.directory.exists());
}

#[tokio::test(start_paused = true)]
async fn skills_of_the_server_and_of_another_tenant_are_not_there() {
    let house = House::with(&Puppet::new([]));
    let north = tenant("north");
    let skill = |name: &str| format!("---\nname: {name}\ndescription: does {name}\n---\nDo it.\n");
    let places = [
        (house.home(), "of-the-server"),
        (home(&house, "south"), "of-the-south"),
        (home(&house, "north"), "of-the-north"),
    ];
    for (place, name) in &places {
        write(
            &place.join("skills").join(name).join("SKILL.md"),
            &skill(name),
        );
    }
    let thread = made(&house, &north, NewThread::default()).await;
    let thread = thread.expect("a thread").card.id;
    let call = Call::Skills {
        thread,
        call: vocabulary::SkillCall::List,
    };
    let listed = format!("{:?}", house.call_as(&north, call).await.expect("a list"));
    let seen = places.map(|(_, name)| listed.contains(name));
    assert_eq!(seen, [false, false, true], "{listed}");
}
