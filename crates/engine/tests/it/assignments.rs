//! What a harness wants of a thread: kept, told to the model, and told anew when it changes.

use engine::ListenFrom;
use vocabulary::{Assignment, Call, Changed, Changes, Fact, Reply, ThreadFact, ThreadId};

use crate::house::House;
use crate::puppet::{Puppet, says};

fn wanted(objective: &str) -> Changes {
    Changes {
        assignment: Some(Box::new(Assignment {
            run: " run-1 ".to_owned(),
            task: Some("  ".to_owned()),
            objective: objective.to_owned(),
            criteria: vec![" It works ".to_owned(), " ".to_owned()],
            constraints: vec!["No new tables".to_owned()],
            metadata: [
                ("a".to_owned(), " b ".to_owned()),
                (" ".to_owned(), "c".to_owned()),
            ]
            .into(),
            ..Assignment::default()
        })),
        ..Changes::default()
    }
}

async fn kept(house: &House, thread: ThreadId) -> Assignment {
    let found = house.call(Call::GetThread { thread }).await;
    let found = found.and_then(Reply::thread).expect("a thread");
    *found.settings.assignment.expect("an assignment")
}

#[tokio::test(start_paused = true)]
async fn the_model_reads_it_and_what_changes_of_it_also_after_a_crash() {
    let puppet = Puppet::new([says("one"), says("two"), says("three"), says("four")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.change(thread, wanted("Fix the login")).await;
    let told = ear
        .fact(|fact| matches!(fact, Fact::Thread(ThreadFact::SettingsChanged { .. })))
        .await;
    let Fact::Thread(ThreadFact::SettingsChanged { changed, .. }) = told else {
        panic!("not settings")
    };
    assert_eq!(changed, [Changed::Assignment]);
    let set = kept(&house, thread).await;
    assert!(set.updated_at.0 > 0);
    let expected = Assignment {
        run: "run-1".to_owned(),
        task: None,
        objective: "Fix the login".to_owned(),
        criteria: vec!["It works".to_owned()],
        constraints: vec!["No new tables".to_owned()],
        metadata: [("a".to_owned(), "b".to_owned())].into(),
        updated_at: set.updated_at,
    };
    assert_eq!(set, expected, "trimmed, and without what is blank");
    for text in ["go", "on"] {
        house.say(thread, text).await.expect("a turn");
        ear.completed().await;
    }
    let house = house.crash();
    assert_eq!(kept(&house, thread).await, expected);
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "after the crash").await.expect("a turn");
    ear.completed().await;
    house.change(thread, wanted("Fix the logout")).await;
    house.say(thread, "another").await.expect("a turn");
    ear.completed().await;
    house.kept(thread).await;
    let requests = puppet.requests();
    let sections = |request: usize| {
        let context = requests[request].context().concat();
        context.matches("<assignment>").count()
    };
    assert_eq!([0, 1, 2, 3].map(sections), [1, 1, 1, 2]);
    let last = requests[3].context();
    let last = last.last().expect("a text");
    assert!(last.contains("Objective: Fix the logout\n"), "{last}");
    assert!(
        last.contains("- It works\nWithin these limits:\n- No new tables\n"),
        "{last}"
    );
    let (before, after) = (requests[2].whole(), requests[3].whole());
    assert_eq!(
        after[..before.len()],
        before,
        "each begins with the one before"
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_says_nothing_or_too_much_is_refused() {
    let puppet = Puppet::new([]);
    let house = House::with(&puppet);
    let (thread, _ear) = house.heard_thread().await;
    for objective in [" ".to_owned(), "x".repeat(33 << 10)] {
        let changes = wanted(&objective);
        let refused = house.call(Call::ChangeThread { thread, changes }).await;
        let refused = refused.expect_err("a refusal");
        assert_eq!(
            refused.why,
            vocabulary::Why::invalid("context"),
            "{refused}"
        );
    }
    let found = house.call(Call::GetThread { thread }).await;
    let found = found.and_then(Reply::thread).expect("a thread");
    assert_eq!(found.settings.assignment, None);
}
