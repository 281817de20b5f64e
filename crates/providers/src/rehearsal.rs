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
use futures_util::stream::BoxStream;

use crate::{Message, Part, Provider, ProviderError, Request, ToolResult};
use act::{Act, Kind, Source};
pub use script::{Script, ScriptError};

/// The id of this provider.
pub const ID: &str = "rehearsal";

/// The names of its models.
pub const MODELS: &[&str] = &["rehearsal-1"];

/// How to get a real model. The only place where this is said.
pub const HOW_TO_CONNECT: &str = "This build cannot connect a real model yet: providers such as \
    OpenAI, Anthropic, Google or a local model server are not part of it so far.";

/// The built-in model that follows a script, or, without one, shows what the server can do.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    script: Option<Script>,
}

impl Rehearsal {
    pub fn new(script: Option<Script>) -> Rehearsal {
        Rehearsal { script }
    }

    fn acts(&self, place: &Place<'_>, request: &Request) -> Vec<Act> {
        match &self.script {
            Some(script) => script
                .acts(place)
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

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<Part, ProviderError>>, ProviderError> {
        let place = Place::of(&request);
        let acts = self.acts(&place, &request);
        if let Some(Act::Fail(error)) = acts.first() {
            return Err(error.clone());
        }
        Ok(performance::perform(&place, &request, acts))
    }
}

/// Where a request stands in its conversation.
struct Place<'a> {
    /// How many user messages there are; the first turn is 1.
    turn: usize,
    /// How many answers the model already gave in this turn.
    step: usize,
    /// The last user message.
    user: &'a str,
    /// The last tool result since then.
    result: Option<&'a ToolResult>,
}

impl Place<'_> {
    fn of(request: &Request) -> Place<'_> {
        let mut place = Place {
            turn: 0,
            step: 0,
            user: "",
            result: None,
        };
        for message in &request.messages {
            match message {
                Message::User(text) => {
                    place = Place {
                        turn: place.turn + 1,
                        step: 0,
                        user: text,
                        result: None,
                    }
                }
                Message::Assistant(_) => place.step += 1,
                Message::ToolResults(results) => place.result = results.last().or(place.result),
            }
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
                text.push_str(self.result.map_or("", |result| &result.text));
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

/// Said where the conversation is longer than the script.
fn script_ended(place: &Place<'_>) -> Act {
    let text = format!(
        "The rehearsal script has ended: it has no answer for turn {}, step {}. \
         Add one to the script, or make its last turn `turn *`.",
        place.turn,
        place.step + 1
    );
    Act::write(Kind::Text, Source::Words(text))
}

#[cfg(test)]
mod tests;
