//! What goes out to a model service: the whole body of every request of one thread, for nine models
//! of four wire formats, made by the engine and its providers against services by script.

mod golden;

use std::path::Path;
use std::process::Command;

use futures_util::future::join_all;
use providers::models::ModelsOptions;
use serde_json::{Value, json};
use testkit::service::{ScriptedReply, ServedService, Vendor};
use vocabulary::{
    Answer, ApprovalAnswer, Approvals, Call, Changes, ModelRef, NewThread, Reply, ThreadId,
    TurnErrorKind,
};

use crate::clocks::Counting;
use crate::grants::asked;
use crate::house::{Ear, House, Stage};
pub use golden::is_title;
use golden::{SentRequest, check_prefixes};

/// The flagships and the small ones of the three large services, a codex model, one of the many
/// that speak Chat Completions, and one on this machine.
const MODELS: [(Vendor, &str); 9] = [
    (Vendor::OpenAi, "gpt-6.1-sol"),
    (Vendor::OpenAi, "gpt-5.3-codex"),
    (Vendor::Anthropic, "claude-opus-5-5"),
    (Vendor::Anthropic, "claude-sonnet-5-5"),
    (Vendor::Anthropic, "claude-haiku-4-5"),
    (Vendor::Google, "gemini-4-argon"),
    (Vendor::Google, "gemini-2.5-flash"),
    (Vendor::DeepSeek, "deepseek-v4-pro"),
    (Vendor::LlamaCpp, "a-model-of-its-own"),
];

/// The requests of the story after the title, in their order.
const STORY: [&str; 8] = [
    "1-first",
    "2-results",
    "3-steer",
    "4-second-turn",
    "5-last-step",
    "6-wrap-up",
    "7-summary",
    "8-after-summary",
];

#[tokio::test(flavor = "multi_thread")]
async fn golden_requests() {
    // All of them at once would not fit the stack.
    let stories = MODELS.map(|(vendor, model)| Box::pin(story(vendor, model)));
    let told: Vec<SentRequest> = join_all(stories).await.into_iter().flatten().collect();
    golden::compare(&told);
}

/// The requests of a thread of one model, from its title to what follows a summary.
async fn story(vendor: Vendor, model: &str) -> Vec<SentRequest> {
    let mut scene = Scene::open(vendor, model, replies(vendor)).await;
    scene.tell().await;
    let refusals = scene.service.refusals();
    assert!(refusals.is_empty(), "{model}: {refusals:?}");

    let (titles, steps): (Vec<Value>, Vec<Value>) =
        scene.service.requests().into_iter().partition(is_title);
    assert_eq!(titles.len(), 1, "{model}: {titles:#?}");
    assert_eq!(steps.len(), STORY.len(), "{model}: {steps:#?}");
    check_prefixes(model, &steps[..7]);
    let folder = format!("{}.{model}", vendor.id());
    let place = scene.house.directory().canonicalize().expect("a place");
    golden::sent(&folder, &titles[0], STORY.iter().zip(&steps), &place)
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_writes_a_file_of_3000_lines_in_one_call() {
    let text: String = (1..=3_000)
        .map(|line| format!("line {line} of a table that is written in one piece\n"))
        .collect();
    let replies = || {
        let input = json!({ "filePath": "table.txt", "content": text });
        let says = ScriptedReply::says;
        [says("I write it.").calls("write", input), says("Written.")]
    };
    let claudes = MODELS
        .iter()
        .filter(|(vendor, _)| *vendor == Vendor::Anthropic);
    for (vendor, model) in claudes {
        let mut scene = Scene::open(*vendor, model, replies()).await;
        scene.say("Write the table.").await;
        assert!(scene.ear.completed().await.ends_with("Written."), "{model}");
        let project = scene.house.directory().join("project");
        let written = std::fs::read_to_string(project.join("table.txt"));
        assert!(
            written.expect("a file") == text,
            "{model}: not the whole text"
        );
        let requests = scene.service.requests();
        assert_eq!(requests.iter().filter(|body| !is_title(body)).count(), 2);
    }
}

/// A thread in a small repository, with a real provider and a service by script.
struct Scene {
    service: ServedService,
    house: House,
    thread: ThreadId,
    ear: Ear,
    _home: tempfile::TempDir,
}

impl Scene {
    async fn open(
        vendor: Vendor,
        model: &str,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        // Requests are made by a library that wants to know this, even where no address needs it.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let service = ServedService::start_with(vendor, replies).await;
        let service = service.expect("a service");
        let home = tempfile::tempdir().expect("a home");
        let mut stage = Stage::served(options(home.path(), &service), reference(vendor, model));
        stage.clock = std::sync::Arc::new(Counting::default());
        stage.approvals = Some(Approvals::Auto);
        let house = House::in_real_time(stage);
        let project = house.directory().join("project");
        make_project(&project);
        let thread = thread_in(&house, &project).await;
        let (_, ear) = house.listen(thread, engine::ListenFrom::Head).await;
        Self {
            service,
            house,
            thread,
            ear,
            _home: home,
        }
    }

    /// A first turn of three steps in which the user says more; a second; one that meets its step
    /// limit and fills the model's context; and what a full context leads to.
    async fn tell(&mut self) {
        let first = "The greeting is wrong: it should say the name.\nFind out why.";
        self.say(first).await;
        let held = tokio::time::timeout(self.house.patience, self.service.until_held()).await;
        let held = held.unwrap_or_else(|_| panic!("refused: {:?}", self.service.refusals()));
        held.expect("a held answer");
        let steered = self
            .house
            .steer(self.thread, "Look at the tests, too.")
            .await;
        steered.expect("a steer");
        self.service.release();
        self.allow().await;
        self.ear.completed().await;

        self.say("Which file was it?").await;
        self.ear.completed().await;

        self.house.change(self.thread, steps_max(1)).await;
        self.say("Mend it.").await;
        assert_eq!(self.ear.failed().await.kind, TurnErrorKind::StepLimit);

        self.house.change(self.thread, steps_max(100)).await;
        self.say("Go on.").await;
        self.ear.completed().await;
    }

    async fn say(&self, text: &str) {
        let said = self.house.say(self.thread, text).await;
        said.expect("a turn");
    }

    /// Nothing holds commands here, so a person is asked.
    async fn allow(&mut self) {
        let (ask, _) = asked(&mut self.ear).await;
        let answered = self.house.call(Call::AnswerAsk {
            thread: self.thread,
            ask: ask.id,
            answer: Answer::Approval(ApprovalAnswer::Once),
        });
        answered.await.expect("an answer");
    }
}

fn replies(vendor: Vendor) -> [ScriptedReply; 8] {
    let (tool, change) = change(vendor);
    let says = ScriptedReply::says;
    [
        says("I look at the code first.")
            .calls("read", json!({ "filePath": "src/greet.py" }))
            .calls("grep", json!({ "pattern": "greet" })),
        says("And at what else is there.")
            .calls("bash", json!({ "command": "ls src" }))
            .calls("read", json!({ "filePath": "src/missing.py" }))
            .held(),
        says("`greet` leaves the name out."),
        says("src/greet.py:2"),
        says("I put the name in.").calls(tool, change),
        says("It says the name now; it is not tested.").having_read(10_000_000),
        says("The user wants the greeting to say the name; src/greet.py:2 does so now."),
        says("Done."),
    ]
}

/// The same change in the words of the family's own tool.
fn change(vendor: Vendor) -> (&'static str, Value) {
    let patch = "*** Begin Patch\n*** Update File: src/greet.py\n@@\n def greet(name):\n\
                 -    return \"Hello!\"\n+    return f\"Hello, {name}!\"\n*** End Patch\n";
    let edit = json!({
        "filePath": "src/greet.py", "oldString": "\"Hello!\"", "newString": "f\"Hello, {name}!\"",
    });
    match vendor == Vendor::OpenAi {
        true => ("apply_patch", json!(patch)),
        false => ("edit", edit),
    }
}

pub fn reference(vendor: Vendor, model: &str) -> ModelRef {
    ModelRef {
        provider: vendor.id().to_owned(),
        model: model.to_owned(),
    }
}

/// Only the address of the service is another than in real life. What a model on this machine can
/// hold is said there, too, as no list says it.
pub fn options(home: &Path, service: &ServedService) -> ModelsOptions {
    let (id, url) = (service.vendor().id(), service.url());
    let mut catalog = format!("[[provider]]\nid = \"{id}\"\nbase_url = \"{url}\"\n");
    if service.vendor() == Vendor::LlamaCpp {
        catalog.push_str("[[provider.model]]\nid = \"a-model-of-its-own\"\ncontext = 65_536\n");
    }
    std::fs::create_dir_all(home.join("config")).expect("a folder");
    std::fs::write(home.join("config/catalog.toml"), catalog).expect("a catalog");
    let mut options = ModelsOptions::new(home);
    let key = match service.vendor() {
        Vendor::Google => "GEMINI_API_KEY".to_owned(),
        other => format!("{}_API_KEY", other.id().to_uppercase()),
    };
    options.environment = [(key, "a-key".to_owned())].into();
    options
}

fn steps_max(steps: u32) -> Changes {
    Changes {
        max_steps: Some(steps),
        ..Changes::default()
    }
}

pub async fn thread_in(house: &House, directory: &Path) -> ThreadId {
    let wish = NewThread {
        directory: Some(directory.to_owned()),
        ..NewThread::default()
    };
    match house.call(Call::CreateThread(Box::new(wish))).await {
        Ok(Reply::Thread(thread)) => thread.card.id,
        other => panic!("no thread: {other:?}"),
    }
}

/// A small repository, the same in every run.
fn make_project(directory: &Path) {
    let files = [
        ("AGENTS.md", "Tests run with `sh test.sh`.\n"),
        ("src/greet.py", "def greet(name):\n    return \"Hello!\"\n"),
        ("test.sh", "python3 -c 'import src.greet'\n"),
    ];
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    git(directory, &["init", "--quiet", "--initial-branch=main"]);
    git(directory, &["add", "."]);
    git(directory, &["commit", "--quiet", "--message", "Greet"]);
}

fn git(directory: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    let status = command.status().expect("git");
    assert!(status.success(), "git {words:?}");
}
