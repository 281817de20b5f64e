//! Files that come with a message: what the model reads of them, and what is refused.

use std::path::PathBuf;

use vocabulary::{Call, Fact, Refusal, Reply, StartTurn, StepFact, TurnFact, TurnLimit, Why};

use crate::house::{House, said};
use crate::puppet::{Puppet, calls, says};

async fn say_with(house: &House, files: Vec<PathBuf>) -> Result<Reply, Refusal> {
    let (thread, mut ear) = house.heard_thread().await;
    let start = StartTurn {
        files,
        ..said(thread, "Read this")
    };
    let started = house.call(Call::StartTurn(start)).await?;
    ear.rest().await;
    Ok(started)
}

#[tokio::test]
async fn text_reaches_the_model_as_text_and_people_see_its_name() {
    let puppet = Puppet::new([says("read")]);
    let house = House::with(&puppet);
    let path = house.directory().join("note.txt");
    std::fs::write(&path, "hello from a file").expect("written");
    let (thread, mut ear) = house.heard_thread().await;
    let start = StartTurn {
        files: vec![path.clone()],
        ..said(thread, "Read this")
    };
    house.call(Call::StartTurn(start)).await.expect("a turn");
    ear.rest().await;
    let asked = format!("{:?}", puppet.requests()[0].messages);
    assert!(asked.contains("hello from a file"), "{asked}");
    let shown = house
        .log(thread)
        .await
        .into_iter()
        .find_map(|fact| match fact {
            Fact::Turn(TurnFact::Started { input, .. }) => Some(input.shown().to_owned()),
            // tidy: wildcard, because only this is looked for.
            _ => None,
        });
    let expected = format!("Read this\n[the file {}]", path.display());
    assert_eq!(shown.as_deref(), Some(expected.as_str()));
}

#[tokio::test]
async fn a_picture_reaches_the_model_as_a_picture() {
    let puppet = Puppet::new([says("seen")]);
    let house = House::with(&puppet);
    let path = house.directory().join("dot");
    std::fs::write(&path, b"\x89PNG\r\n\x1a\n").expect("written");
    say_with(&house, vec![path]).await.expect("a turn");
    let asked = format!("{:?}", puppet.requests()[0].messages);
    assert!(
        asked.contains("image/png") || asked.contains("picture"),
        "{asked}"
    );
}

#[tokio::test]
async fn what_models_cannot_read_and_what_is_the_servers_own_is_refused() {
    let puppet = Puppet::new([]);
    let house = House::with(&puppet);
    let file = |path: PathBuf, bytes: &[u8]| {
        let folder = path.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("made");
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let binary = file(house.directory().join("a.pdf"), b"%PDF-1.7\xff\x00");
    let secret = file(house.home().join("keys.json"), b"sk-secret");
    for (path, words) in [
        (binary, "neither text nor a PNG"),
        (secret, "private"),
        (house.directory().join("none"), "cannot be read"),
        (house.directory().to_owned(), "cannot be read"),
    ] {
        let refused = say_with(&house, vec![path.clone()]).await;
        let refused = refused.expect_err("no such file for a model");
        assert!(matches!(refused.why, Why::Invalid { .. }), "{refused:?}");
        let told = &refused.message;
        let is_said = told.contains(words) || path.is_dir();
        assert!(is_said && !told.contains("sk-secret"), "{told}");
    }
    assert!(puppet.requests().is_empty());
}

/// The limits of a turn are facts of it, with what came of them.
#[tokio::test(start_paused = true)]
async fn a_turn_says_that_it_came_to_its_limit() {
    let look = |id: &str| {
        calls(
            id,
            "glob",
            serde_json::json!({ "pattern": format!("*{id}") }),
        )
    };
    let puppet = Puppet::new([look("c1"), look("c2")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let changes = vocabulary::Changes {
        max_steps: Some(1),
        ..Default::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    ear.failed().await;
    let log = house.log(thread).await;
    let limits: Vec<_> = log
        .iter()
        .filter_map(|fact| match fact {
            Fact::Step {
                what:
                    StepFact::LimitReached {
                        kind,
                        limit,
                        observed,
                    },
                ..
            } => Some((*kind, *limit, *observed)),
            // tidy: wildcard, because only this is looked for.
            _ => None,
        })
        .collect();
    assert_eq!(
        limits,
        [(TurnLimit::Steps, 1, 1), (TurnLimit::CallsInWrapUp, 0, 1)]
    );
}
