//! One conversation with thoughts, calls and pictures that goes over seven services and back. Each
//! takes every request, with all that the others left in the history.

use std::sync::Arc;

use serde_json::json;
use testkit::service::{ScriptedService, Vendor};

use super::*;
use crate::catalog::ModelCatalog;
use crate::catalog::merged::{Environment, MergedCatalog};
use crate::kept_blocks::kept_blocks;
use crate::{
    Block, Message, MessageImage, ModelRequest, ResultBlock, ToolResult, ToolSpec, UserMessage,
};

/// As long as that of a sub-agent: its own id behind its parent's.
const CACHE_KEY: &str = "0190e5a2-7d4b-4c7e-9a54-0c7d7a3f2b11/0190e5a2-7d4b-4c7e-9a54-0c7d7a3f2b12";

#[test]
fn a_conversation_goes_over_seven_services_and_back() {
    let catalog = MergedCatalog::open(None, &Environment::new()).catalog();
    let mut services = Vendor::ALL.map(ScriptedService::new);
    let mut journey = Journey::default();
    let there = 0..Vendor::ALL.len();
    for at in there.clone().chain(there.rev().skip(1)) {
        journey.visit(&catalog, Vendor::ALL[at], &mut services[at]);
    }
    assert!(journey.refusals.is_empty(), "{:#?}", journey.refusals);
    for vendor in Vendor::ALL {
        journey.check_what_came_back(vendor);
    }
}

#[derive(Default)]
struct Journey {
    messages: Vec<Arc<Message>>,
    refusals: Vec<String>,
    /// Every body, and where it went.
    sent: Vec<(Vendor, Value)>,
}

impl Journey {
    /// A question with a picture, calls, their results, and an answer.
    fn visit(&mut self, catalog: &ModelCatalog, vendor: Vendor, service: &mut ScriptedService) {
        let before = self.messages.len();
        let (wire, target) = target(catalog, vendor);
        self.say(Message::User(UserMessage {
            text: format!("What do you see, {}?", vendor.id()),
            images: vec![picture()],
            ..UserMessage::default()
        }));
        for _step in 0..2 {
            let request = target.settle(request(&target, &self.messages));
            let body = wire.encode(&request, &target).body;
            let outcome = service.answer(&body);
            self.sent.push((vendor, body));
            let stream = match outcome {
                Ok(stream) => stream,
                Err(refused) => {
                    self.refusals.push(format!("{}: {refused}", vendor.id()));
                    // The others are heard, too: one run tells all that is wrong.
                    self.messages.truncate(before);
                    *service = ScriptedService::new(vendor);
                    return;
                }
            };
            let blocks = read(wire, &target, &stream);
            let results = results(&blocks);
            self.say(Message::Assistant(blocks));
            if !results.is_empty() {
                self.say(Message::ToolResults(results));
            }
        }
    }

    fn say(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
    }

    /// The last request to a service has what it thought when it was first asked, where it takes
    /// that, and never what another sealed.
    fn check_what_came_back(&self, vendor: Vendor) {
        let to_it = self.sent.iter().filter(|(to, _)| *to == vendor);
        let bodies: Vec<_> = to_it.map(|(_, body)| body.to_string()).collect();
        let last = bodies.last().expect("it was asked");
        let returned = match vendor {
            Vendor::OpenAi | Vendor::Anthropic | Vendor::Google | Vendor::OpenRouter => {
                Some(vendor.seal_prefix())
            }
            Vendor::DeepSeek | Vendor::Moonshot => Some(format!("Thought 1 of {}.", vendor.id())),
            Vendor::Mistral | Vendor::LlamaCpp => None,
        };
        // Visited once, the last of the way there has no history of its own but this step's.
        assert!(
            returned.is_none_or(|returned| last.contains(&returned)),
            "{}: its thoughts are gone: {last}",
            vendor.id()
        );
        for other in Vendor::ALL.into_iter().filter(|other| *other != vendor) {
            let foreign = other.seal_prefix();
            assert!(
                !bodies.iter().any(|body| body.contains(&foreign)),
                "{foreign}"
            );
        }
    }
}

/// The provider's first model, as the catalog has both.
fn target(catalog: &ModelCatalog, vendor: Vendor) -> (Wire, RequestTarget) {
    let mut all = catalog.providers.iter();
    let provider = all.find(|each| each.id == vendor.id()).expect("a provider");
    let endpoint = provider.endpoint.as_ref().expect("an endpoint");
    let model = provider.models.first().expect("a model").clone();
    let target = RequestTarget {
        quirks: endpoint.quirks.with(&model.quirks),
        model,
        account: vendor.id().to_owned(),
        ..RequestTarget::default()
    };
    (endpoint.wire, target)
}

fn request(target: &RequestTarget, messages: &[Arc<Message>]) -> ModelRequest {
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        grammar: None,
        parameters: Arc::new(json!({
            "type": "object",
            "properties": { "filePath": { "type": "string" } },
            "required": ["filePath"],
        })),
    };
    ModelRequest {
        model: target.model.id.clone(),
        system: "You look at pictures.".to_owned(),
        messages: match target.model.vision {
            Some(false) => messages.iter().map(|each| without_pictures(each)).collect(),
            Some(true) | None => messages.to_vec(),
        },
        tools: [tool].into(),
        cache_key: Some(CACHE_KEY.to_owned()),
        ..ModelRequest::default()
    }
}

/// Whoever runs a conversation shows a blind model words alone.
fn without_pictures(message: &Message) -> Arc<Message> {
    let mut message = message.clone();
    match &mut message {
        Message::User(user) => user.images.clear(),
        Message::ToolResults(results) => {
            for result in results {
                result
                    .content
                    .retain(|block| matches!(block, ResultBlock::Text(_)));
            }
        }
        Message::Assistant(_) => {}
    }
    Arc::new(message)
}

fn picture() -> MessageImage {
    MessageImage::Data {
        media_type: "image/png".to_owned(),
        base64: "aGk=".into(),
    }
}

fn results(blocks: &[Block]) -> Vec<ToolResult> {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall { call_id, name, .. } => Some((call_id, name)),
        Block::Text { .. } | Block::Reasoning { .. } | Block::File { .. } => None,
    });
    let result = |(call_id, name): (&String, &String)| {
        let words = ResultBlock::Text("Here it is:".to_owned());
        ToolResult {
            call_id: call_id.clone(),
            name: name.clone(),
            content: vec![words, ResultBlock::Image(picture())],
            is_error: false,
        }
    };
    calls.map(result).collect()
}

/// What is kept of an answer.
fn read(wire: Wire, target: &RequestTarget, stream: &str) -> Vec<Block> {
    let mut decoder = wire.decoder(target, SEED);
    let mut parts = Vec::new();
    for (event, data) in events(stream) {
        let event = SseEvent {
            event: event.as_deref(),
            data: &data,
        };
        decoder.push(event, &mut parts).unwrap();
    }
    decoder.end(&mut parts).unwrap();
    kept_blocks(parts)
}
