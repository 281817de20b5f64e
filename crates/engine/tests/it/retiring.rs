//! A model whose end has come.

use providers::catalog::Model;
use vocabulary::{Call, Fact, NoteFact, Reply};

use crate::house::{House, Stage};
use crate::puppet::{self, Puppet, says};

fn retired() -> Model {
    Model {
        name: "Big".to_owned(),
        retires: Some("2020-01-31".to_owned()),
        successor: Some("bigger".to_owned()),
        ..puppet::big()
    }
}

#[tokio::test(start_paused = true)]
async fn who_uses_it_is_told_and_the_turn_goes_on() {
    let puppet = Puppet::new([says("one")]);
    let mut stage = Stage::of(&puppet);
    stage.catalog = puppet::catalog(retired());
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let told = ear
        .fact(|fact| matches!(fact, Fact::Note(NoteFact::Logged { .. })))
        .await;
    let line = "[warn] puppet/big retired on 2020-01-31; use bigger".to_owned();
    assert_eq!(told, Fact::Note(NoteFact::Logged { line }));
    ear.completed().await;
}

#[tokio::test(start_paused = true)]
async fn lists_say_so_and_it_is_no_default() {
    let puppet = Puppet::new([]);
    let mut stage = Stage::of(&puppet);
    stage.catalog = puppet::catalog(retired());
    let house = House::staged(stage);
    let Ok(Reply::Catalog(catalog)) = house.call(Call::GetCatalog).await else {
        panic!("no catalog")
    };
    let provider = &catalog.providers[0];
    let expected = "Big (retired on 2020-01-31; use bigger)";
    assert_eq!(provider.models[0].name, expected);
    assert_eq!(provider.default_model, puppet::SMALL);
}
