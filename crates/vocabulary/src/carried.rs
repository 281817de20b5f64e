//! How words cross to another process: whole, where the log leaves things out, and with secrets only
//! where they are meant to go along.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::{
    Call, Event, Fact, McpCall, OpenAsk, Person, ReasoningKind, Secret, Seq, SignInCall, StreamTag,
    Timestamp, ToolCall, ToolEvent, ToolFact, TurnFact, WorkspaceCall,
};

#[cfg(test)]
mod tests;

/// A call with the secret that it carries. A call alone is written without.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedCall {
    call: Call,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl From<Call> for CarriedCall {
    fn from(mut call: Call) -> Self {
        let secret = secret_of(&mut call).map(std::mem::take);
        let secret = secret.map(Secret::reveal);
        Self { call, secret }
    }
}

impl From<CarriedCall> for Call {
    fn from(mut carried: CarriedCall) -> Self {
        let place = secret_of(&mut carried.call);
        if let (Some(place), Some(secret)) = (place, carried.secret) {
            *place = Secret::new(secret);
        }
        carried.call
    }
}

fn secret_of_mcp(call: &mut McpCall) -> Option<&mut Secret> {
    match call {
        McpCall::SetKey { key, .. } => Some(key),
        McpCall::FinishSignIn { code, .. } => code.as_mut(),
        McpCall::Install { config, .. } => Some(config),
        McpCall::Get
        | McpCall::Save { .. }
        | McpCall::Delete { .. }
        | McpCall::Check { .. }
        | McpCall::Authorize { .. }
        | McpCall::Uninstall { .. }
        | McpCall::SetEnabled { .. }
        | McpCall::Restart { .. }
        | McpCall::Migrate { .. } => None,
    }
}

fn secret_of(call: &mut Call) -> Option<&mut Secret> {
    match call {
        Call::SignIn(SignInCall::SetKey { key, .. }) => Some(key),
        Call::SignIn(SignInCall::Finish { code, .. }) => code.as_mut(),
        Call::Mcp { call, .. } => secret_of_mcp(call),
        Call::Workspace { call, .. } => match &mut **call {
            WorkspaceCall::Mcp(call) => secret_of_mcp(call),
            WorkspaceCall::Skills(_) => None,
        },
        // tidy: wildcard, because only a sign-in has secrets.
        _ => None,
    }
}

/// An event, and beside it what its fact leaves out in the log.
#[derive(Deserialize)]
pub(crate) struct CarriedEvent {
    seq: Seq,
    at: Timestamp,
    #[serde(default)]
    by: Option<Arc<Person>>,
    fact: Fact,
    #[serde(default)]
    part: u32,
    #[serde(default)]
    call: Option<Arc<ToolCall>>,
    #[serde(default)]
    reasoning: Vec<(ReasoningKind, String)>,
}

#[derive(Serialize)]
struct CarriedEventRef<'a> {
    seq: Seq,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a Person>,
    fact: &'a Fact,
    #[serde(skip_serializing_if = "is_zero")]
    part: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a ToolCall>,
    #[serde(skip_serializing_if = "is_empty")]
    reasoning: &'a [(ReasoningKind, String)],
}

fn is_zero(part: &u32) -> bool {
    *part == 0
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let call = match &self.fact {
            Fact::Tool(ToolEvent { call, what, .. }) => {
                let is_in_fact = matches!(what, ToolFact::Planned { .. });
                let is_whole = is_in_fact && !call.subject.has_previews();
                (!is_whole).then_some(&**call)
            }
            Fact::Thread(_) | Fact::Turn(_) | Fact::Step { .. } | Fact::Item { .. } => None,
            Fact::Ask { .. } | Fact::Files(_) | Fact::Note(_) => None,
        };
        let reasoning = match &self.fact {
            Fact::Turn(TurnFact::Finished { reasoning, .. }) => reasoning.as_slice(),
            // tidy: wildcard, because nothing else leaves it out.
            _ => &[],
        };
        let carried = CarriedEventRef {
            seq: self.seq,
            at: self.at,
            by: self.by.as_deref(),
            fact: &self.fact,
            part: self.fact.tag().map_or(0, |tag| tag.part),
            call,
            reasoning,
        };
        carried.serialize(out)
    }
}

impl From<CarriedEvent> for Event {
    fn from(carried: CarriedEvent) -> Self {
        let mut fact = carried.fact;
        if let Some(tag) = fact.tag_mut() {
            tag.part = carried.part;
        }
        if let (Fact::Tool(event), Some(call)) = (&mut fact, carried.call) {
            event.call = call;
        }
        if let Fact::Turn(TurnFact::Finished { reasoning, .. }) = &mut fact {
            *reasoning = carried.reasoning;
        }
        Self {
            seq: carried.seq,
            at: carried.at,
            by: carried.by,
            fact,
        }
    }
}

/// A tag with its part.
pub(crate) mod tag {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::StreamTag;

    pub fn serialize<S: Serializer>(tag: &StreamTag, out: S) -> Result<S::Ok, S::Error> {
        (tag, tag.part).serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<StreamTag, D::Error> {
        let (tag, part) = <(StreamTag, u32)>::deserialize(input)?;
        Ok(StreamTag { part, ..tag })
    }
}

/// The same where there may be none.
pub(crate) mod some_tag {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::StreamTag;

    pub fn serialize<S: Serializer>(tag: &Option<StreamTag>, out: S) -> Result<S::Ok, S::Error> {
        let whole = tag.as_ref().map(|tag| (tag, tag.part));
        whole.serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<StreamTag>, D::Error> {
        let whole = <Option<(StreamTag, u32)>>::deserialize(input)?;
        Ok(whole.map(|(tag, part)| StreamTag { part, ..tag }))
    }
}

/// Open asks with the parts of their tags.
pub(crate) mod asks {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::OpenAsk;

    pub fn serialize<S: Serializer>(asks: &[OpenAsk], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(asks.iter().map(|open| (open, open.tag.part)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<OpenAsk>, D::Error> {
        let whole = <Vec<(OpenAsk, u32)>>::deserialize(input)?;
        let place = |(mut open, part): (OpenAsk, u32)| {
            open.tag.part = part;
            open
        };
        Ok(whole.into_iter().map(place).collect())
    }
}
