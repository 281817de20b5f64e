//! The rehearsal model: a scripted stand-in, so that everything can be tried without a key.
//!
//! It keeps no state. Its place in a conversation is read off the request alone, so it survives
//! restarts and answers the same request always in the same way. `docs/rehearsal.md` is for people.

mod act;
mod demonstration;
mod interactive;
mod performance;
mod script;

use async_trait::async_trait;

use crate::{
    Message, ModelRequest, PartStream, Provider, ProviderError, RequestPurpose, ToolResult,
    UserMessage, catalog,
};
use act::{Act, DeltaSource, WrittenBlock};
pub use script::{RehearsalScript, ScriptError};

/// The id of this provider.
pub const ID: &str = "rehearsal";

/// The names of its models.
pub const MODELS: &[&str] = &["rehearsal-1"];

/// How to get a real model. The only place where this is said.
pub const HOW_TO_CONNECT: &str = "To use a real model, run `dragoman auth login`, or set a key \
    such as OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or start a local model server such \
    as Ollama.";

/// What the catalog says of it. It costs nothing.
pub fn entry() -> catalog::ProviderInfo {
    let model = |id: &&str| catalog::Model {
        id: (*id).to_owned(),
        name: "Rehearsal".to_owned(),
        price: Some(catalog::Price::default()),
        ..catalog::Model::default()
    };
    catalog::ProviderInfo {
        id: ID.to_owned(),
        name: "Rehearsal".to_owned(),
        auth: Vec::new(),
        endpoint: None,
        models: MODELS.iter().map(model).collect(),
        ..catalog::ProviderInfo::default()
    }
}

/// The built-in model that follows a script, or, without one, shows what the server can do.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    script: Option<RehearsalScript>,
}

impl Rehearsal {
    pub fn new(script: Option<RehearsalScript>) -> Rehearsal {
        Rehearsal { script }
    }

    fn acts(&self, place: &ScriptPosition<'_>, request: &ModelRequest) -> Vec<Act> {
        match &self.script {
            Some(script) => script
                .acts(place, request.purpose)
                .unwrap_or_else(|| vec![script_ended(place)]),
            None => interactive::answer(place, request),
        }
    }
}

#[async_trait]
impl Provider for Rehearsal {
    fn id(&self) -> &str {
        ID
    }

    async fn stream(&self, request: ModelRequest) -> Result<PartStream, ProviderError> {
        let place = ScriptPosition::of(&request);
        let acts = match request.purpose {
            RequestPurpose::Answer | RequestPurpose::Task => self.acts(&place, &request),
            RequestPurpose::Summary => vec![summary(&request)],
            RequestPurpose::Title => vec![Act::write(
                WrittenBlock::Text,
                DeltaSource::Words("Rehearsal".to_owned()),
            )],
        };
        if let Some(Act::Fail(error) | Act::Full(error)) = acts.first() {
            return Err(error.clone());
        }
        Ok(performance::perform(&place, &request, acts))
    }
}

/// Where a request stands in its conversation.
struct ScriptPosition<'a> {
    /// How many user messages there are; the first turn is 1.
    turn: usize,
    /// How many answers the model already gave in this turn.
    step: usize,
    /// The last user message.
    user: &'a str,
    /// The last tool result since then.
    result: Option<&'a ToolResult>,
    /// Whether the conversation begins with a summary that this model wrote.
    summarised: bool,
}

impl ScriptPosition<'_> {
    fn of(request: &ModelRequest) -> ScriptPosition<'_> {
        let mut place = ScriptPosition {
            turn: 0,
            step: 0,
            user: "",
            result: None,
            summarised: false,
        };
        // So many messages more follow a summary as they were: it knows of them.
        let mut known = 0;
        for message in &request.messages {
            match &**message {
                Message::User(UserMessage { text, is_note, .. }) => match remembered(text) {
                    Some((turn, step)) => {
                        (place.turn, place.step, place.summarised) = (turn, step, true);
                        known = repeated(text) + 1;
                    }
                    // Scripts count what users say.
                    None if *is_note => {}
                    None => {
                        (place.user, place.result) = (text, None);
                        if known == 0 {
                            (place.turn, place.step) = (place.turn + 1, 0);
                        }
                    }
                },
                Message::Assistant(_) => place.step += usize::from(known == 0),
                Message::ToolResults(results) => place.result = results.last().or(place.result),
            }
            known = known.saturating_sub(1);
        }
        place.turn = place.turn.max(1);
        place
    }

    /// Fills `{user}` and `{result}` in, once: what is filled in is not searched again.
    fn fill(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(brace) = rest.find('{') {
            text.push_str(&rest[..brace]);
            rest = &rest[brace..];
            if let Some(after) = rest.strip_prefix("{user}") {
                text.push_str(self.user);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("{result}") {
                text.push_str(&self.result.map(ToolResult::text).unwrap_or_default());
                rest = after;
            } else {
                text.push('{');
                rest = &rest[1..];
            }
        }
        text.push_str(rest);
        text
    }
}

/// A summary of a rehearsed conversation only says where in the script it was. The last message asks
/// for it, unless there is only one: then that is a record.
fn summary(request: &ModelRequest) -> Act {
    let (turn, step) = match &request.messages[..] {
        [record] => place_in_record(record),
        _ => {
            let mut conversation = request.clone();
            conversation.messages.pop();
            let place = ScriptPosition::of(&conversation);
            (place.turn, place.step)
        }
    };
    let text = format!("{REMEMBERED}{turn}, step {step}.");
    Act::write(WrittenBlock::Text, DeltaSource::Words(text))
}

fn place_in_record(record: &Message) -> (usize, usize) {
    let Message::User(UserMessage { text, .. }) = record else {
        return (1, 0);
    };
    let turn = text.matches("User: ").count();
    let since = text.rfind("User: ").map_or("", |at| &text[at..]);
    (turn, since.matches("Result of ").count())
}

const REMEMBERED: &str = "Rehearsed up to turn ";

/// The place that such a summary speaks of.
fn remembered(text: &str) -> Option<(usize, usize)> {
    let (_, rest) = text.split_once(REMEMBERED)?;
    let (turn, rest) = rest.split_once(", step ")?;
    let (step, _) = rest.split_once('.')?;
    Some((turn.parse().ok()?, step.parse().ok()?))
}

/// How many messages such a summary says to follow as they were.
fn repeated(text: &str) -> usize {
    let count = text.split_once("The newest ").map(|(_, rest)| rest);
    let count = count.and_then(|rest| rest.split_once(" messages follow"));
    count.map_or(0, |(count, _)| count.parse().unwrap_or(0))
}

/// Said where the conversation is longer than the script.
fn script_ended(place: &ScriptPosition<'_>) -> Act {
    let text = format!(
        "The rehearsal script has ended: it has no answer for turn {}, step {}. \
         Add one to the script, or make its last turn `turn *`.",
        place.turn,
        place.step + 1
    );
    Act::write(WrittenBlock::Text, DeltaSource::Words(text))
}

#[cfg(test)]
mod tests;
