//! Pictures: how many, kept where, shown to whom.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use providers::catalog::Model;
use providers::{Message, ResultBlock, UserMessage};
use store::Store;
use vocabulary::{
    Call, ContentBlock, Effects, Image, Reply, StartTurn, StartedTurn, Subject, ThreadId,
    ToolOutput, Why,
};

use crate::house::{House, Stage, said};
use crate::puppet::{self, Puppet, big, says};

const PIXELS: &str = "iVBORw0KGgoAAAANSUhEUg";

fn png(base64: &str) -> Image {
    Image::Data {
        media_type: "image/png".to_owned(),
        base64: base64.into(),
    }
}

fn with(thread: ThreadId, images: Vec<Image>) -> StartTurn {
    StartTurn {
        changes: Box::default(),
        listen: None,
        images,
        ..said(thread, "look at this")
    }
}

#[tokio::test(start_paused = true)]
async fn pictures_are_kept_once_and_shown_to_the_model() {
    let puppet = Puppet::new([says("nice"), says("again")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let url = "https://example.org/cat.png".to_owned();
    let start = with(thread, vec![png(PIXELS), Image::Url(url.clone())]);
    house.call(Call::StartTurn(start)).await.expect("a turn");
    ear.completed().await;
    let seen = Message::User(UserMessage {
        text: "look at this".to_owned(),
        images: vec![
            providers::MessageImage::Data {
                media_type: "image/png".to_owned(),
                base64: PIXELS.into(),
            },
            providers::MessageImage::Url(url),
        ],
        ..UserMessage::default()
    });
    assert_eq!(puppet.requests()[0].messages, std::slice::from_ref(&seen));
    let loaded = house.store.load(thread).await.expect("a read");
    let row = String::from_utf8_lossy(&loaded.expect("a thread").state).into_owned();
    assert!(!row.contains(PIXELS));
    house.say(thread, "and?").await.expect("a turn");
    ear.completed().await;
    assert_eq!(puppet.requests()[1].messages[0], seen, "from the log");
}

/// One that is too large would be refused by its service in this turn and in every later one.
#[tokio::test]
async fn a_picture_too_large_for_models_is_made_smaller_before_it_is_kept() {
    let puppet = Puppet::new([says("nice")]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    let path = house.directory().join("wide.png");
    image::RgbImage::new(2_600, 10)
        .save(&path)
        .expect("written");
    let wide = STANDARD.encode(std::fs::read(&path).expect("a picture"));
    let start = with(thread, vec![png(&wide), Image::Path(path)]);
    house.call(Call::StartTurn(start)).await.expect("a turn");
    ear.completed().await;
    let [Message::User(said)] = &puppet.requests()[0].messages[..] else {
        panic!("not one message")
    };
    assert_eq!(said.images.len(), 2);
    for image in &said.images {
        let providers::MessageImage::Data { base64, .. } = image else {
            panic!("not a picture: {image:?}")
        };
        let bytes = STANDARD.decode(&**base64).expect("base64");
        let image = image::load_from_memory(&bytes).expect("a picture");
        assert_eq!((image.width(), image.height()), (2_000, 8));
    }
}

#[tokio::test(start_paused = true)]
async fn the_state_row_of_a_running_turn_has_no_pictures() {
    let puppet = Puppet::new([crate::puppet::Play::new().begin("hm").hang()]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let start = with(thread, vec![png(PIXELS)]);
    house.call(Call::StartTurn(start)).await.expect("a turn");
    ear.word("hm").await;
    let kept = house.kept(thread).await;
    let turn = kept.state.turn.expect("a turn");
    assert_eq!(
        (turn.input.text.as_str(), turn.input.images.len()),
        ("look at this", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_see_reads_that_there_was_a_picture() {
    let puppet = Puppet::new([says("what?")]);
    let mut stage = Stage::of(&puppet);
    stage.catalog = puppet::catalog(Model {
        vision: Some(false),
        ..big()
    });
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    let start = with(thread, vec![png(PIXELS)]);
    house.call(Call::StartTurn(start)).await.expect("a turn");
    ear.completed().await;
    let note = "look at this\n\n[a picture came with this message; this model cannot see pictures]";
    assert_eq!(puppet.requests()[0].messages, [Message::user(note)]);
}

#[tokio::test(start_paused = true)]
async fn pictures_have_limits() {
    let puppet = Puppet::new([]);
    let house = House::with(&puppet);
    let (thread, _ear) = house.heard_thread().await;
    let large = "x".repeat((12 << 20) + 1);
    let text = Image::Data {
        media_type: "text/plain".to_owned(),
        base64: PIXELS.into(),
    };
    let bad = [
        vec![png(PIXELS); 21],
        vec![png(&large)],
        vec![png("")],
        vec![png("data:image/png;base64,AAAA")],
        vec![text],
    ];
    for images in bad {
        let start = Call::StartTurn(with(thread, images));
        let refusal = house.call(start).await.expect_err("too much");
        assert_eq!(refusal.why, Why::invalid("images"));
    }
    assert_eq!(puppet.requests(), []);
}

#[tokio::test(start_paused = true)]
async fn the_same_words_with_other_pictures_are_another_message() {
    let puppet = Puppet::new([says("nice")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let send = |images| {
        let mut start = with(thread, images);
        start.client_message_id = Some("m1".to_owned());
        house.call(Call::StartTurn(start))
    };
    send(vec![png("AA"), png("BB")]).await.expect("a turn");
    ear.completed().await;
    let again = send(vec![png("AA"), png("BB")]).await;
    assert!(matches!(
        again,
        Ok(Reply::Turn(StartedTurn { again: true, .. }))
    ));
    for images in [
        vec![],
        vec![png("AA")],
        vec![png("BB"), png("AA")],
        vec![png("A"), png("ABB")],
        vec![Image::Url("AA".to_owned()), png("BB")],
    ] {
        let refusal = send(images).await.expect_err("another message");
        assert_eq!(refusal.why, Why::Conflict);
    }
    assert_eq!(puppet.requests().len(), 1);
}

/// A tool that answers with pieces of every kind.
struct Camera;

#[async_trait::async_trait]
impl tools::Tool for Camera {
    fn name(&self) -> &str {
        "camera"
    }

    fn description(&self) -> &str {
        "Takes a picture."
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({"type": "object"})
    }

    fn effects(&self) -> Effects {
        Effects::READS
    }

    fn subject(&self, _input: &serde_json::Value) -> Subject {
        Subject::Other
    }

    fn judge(&self, _scope: &tools::Scope, _input: &serde_json::Value) -> tools::Judgement {
        tools::Judgement::Allow
    }

    async fn run(
        &self,
        _cx: &tools::ToolCx,
        _input: serde_json::Value,
    ) -> Result<ToolOutput, tools::Failure> {
        Ok(ToolOutput::Content(vec![
            ContentBlock::Text("a cat".to_owned()),
            ContentBlock::Image {
                media_type: "image/png".to_owned(),
                base64: PIXELS.into(),
            },
            ContentBlock::Resource {
                uri: "file:///cat.txt".to_owned(),
                media_type: None,
                text: Some("meow".to_owned()),
            },
            ContentBlock::Structured(serde_json::json!({"cats": 1})),
        ]))
    }
}

/// What the model was shown of a result, in one request and, from the log, in another.
async fn shown_of_a_result(model: Model) -> [Vec<ResultBlock>; 2] {
    let play = puppet::calls("c1", "camera", serde_json::json!({}));
    let puppet = Puppet::new([play, says("nice"), says("again")]);
    let mut stage = Stage::of(&puppet);
    stage.catalog = puppet::catalog(model);
    stage.tools.add(std::sync::Arc::new(Camera));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    for text in ["look", "and?"] {
        house.say(thread, text).await.expect("a turn");
        ear.completed().await;
    }
    [1, 2].map(|request| match &puppet.requests()[request].messages[2] {
        Message::ToolResults(results) => results[0].content.clone(),
        other => panic!("no results: {other:?}"),
    })
}

#[tokio::test(start_paused = true)]
async fn pieces_of_a_result_reach_the_model_in_their_order() {
    let text = |text: &str| ResultBlock::Text(text.to_owned());
    let picture = ResultBlock::Image(providers::MessageImage::Data {
        media_type: "image/png".to_owned(),
        base64: PIXELS.into(),
    });
    let mut shown = vec![
        text("a cat"),
        picture,
        text("file:///cat.txt:\nmeow"),
        text("{\"cats\":1}"),
    ];
    assert_eq!(
        shown_of_a_result(big()).await,
        [shown.clone(), shown.clone()]
    );
    shown[1] = text("[a picture; this model cannot see pictures]");
    let blind = Model {
        vision: Some(false),
        ..big()
    };
    assert_eq!(shown_of_a_result(blind).await, [shown.clone(), shown]);
}
