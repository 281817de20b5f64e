//! What a server wants to know of a person.

use serde_json::{Value, json};

use crate::workshop::{Person, Workshop, script, text, tool};

async fn asked(schema: Value, answers: Option<Vec<Vec<String>>>) -> (Value, Vec<String>) {
    let workshop = Workshop::new();
    let offer = workshop.offer(&[script("one", &[])]).await;
    let person = Person::new([answers]);
    let cx = workshop.cx(&person);
    let answer = tool(&offer, "mcp__one__ask")
        .run(&cx, json!({"schema": schema}))
        .await;
    let asked = person
        .asked
        .lock()
        .iter()
        .map(|each| each.question.clone())
        .collect();
    (serde_json::from_str(&text(answer)).unwrap(), asked)
}

fn words(answers: &[&[&str]]) -> Option<Vec<Vec<String>>> {
    let each = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Some(answers.iter().map(each).collect())
}

fn form() -> Value {
    json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "title": "Name"},
        "age": {"type": "integer", "default": 7},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    }})
}

#[tokio::test]
async fn a_form_is_filled_in() {
    let (answer, questions) = asked(form(), words(&[&["Ada"], &[], &["Yes"], &["Large"]])).await;
    let content = json!({"name": "Ada", "age": 7, "sure": true, "size": "l"});
    assert_eq!(answer, json!({"action": "accept", "content": content}));
    assert!(
        questions
            .iter()
            .any(|each| each == "Tell me\nName (required)"),
        "{questions:?}"
    );
    assert!(
        questions.iter().any(|each| each == "age (if skipped: 7)"),
        "{questions:?}"
    );
}

#[tokio::test]
async fn what_is_passed_over_or_wrong_is_declined() {
    for answers in [
        words(&[&[], &[], &[], &[]]),
        words(&[&[], &["3"], &[], &[]]),
        words(&[&["Ada"], &["old"], &[], &[]]),
        words(&[&["Ada"], &[], &[], &["Huge"]]),
    ] {
        let (answer, _) = asked(form(), answers).await;
        assert_eq!(answer, json!({"action": "decline"}));
    }
}

#[tokio::test]
async fn a_cancelled_turn_cancels_the_question() {
    let (answer, _) = asked(form(), None).await;
    assert_eq!(answer, json!({"action": "cancel"}));
}
