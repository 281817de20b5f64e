//! Where a request goes, as far as its form depends on it: what is known of the model, what is odd
//! about its service, and whose account it is.

use serde::Deserialize;

use super::{Wire, family};
use crate::catalog::Model;
use crate::{ModelRequest, RequestPurpose};

/// What a format must know besides the request itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTarget {
    /// What is known of the model; of one that no catalog lists, its id.
    pub model: Model,
    /// The service and the account that pays. What one account's model thought in secret
    /// (signatures, encrypted items) no other can read.
    pub account: String,
    /// Those of the provider with the model's own laid over them.
    pub quirks: Quirks,
    pub omitted: Omitted,
}

/// What is left out of a request because the service refused it in the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Signed, encrypted or otherwise native parts of so many messages from the beginning on.
    pub natives_before: usize,
    pub pictures: OmittedPictures,
    /// The wish to see a summary of the thoughts.
    pub summaries: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OmittedPictures {
    #[default]
    None,
    /// Those before the last words of the user.
    Old,
    All,
}

/// Where a service differs from the format it speaks. What is absent is as the format's owner has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quirks {
    /// How an effort is spelt.
    pub effort: Option<EffortStyle>,
    /// How thoughts go back to the model that had them.
    pub thoughts: Option<ThoughtReplay>,
    pub call_ids: Option<CallIdStyle>,
    /// Whether it takes `stream_options`.
    pub stream_options: Option<bool>,
    /// Whether a user may speak right after the result of a call.
    pub user_after_tool: Option<bool>,
    /// Whether it wants to be told where a prefix worth keeping ends.
    pub cache_control: Option<bool>,
    /// Whether requests of one conversation name it in their headers.
    pub session_headers: Option<bool>,
    /// Whether an answer may be given a limit of its length.
    pub output_limit: Option<bool>,
    /// Whether a tool may take free text of a grammar; where that is not known, it may not.
    pub custom_tools: Option<bool>,
    /// Whether a result may hold a PDF file; where that is not known, its text is sent.
    pub documents: Option<bool>,
}

/// How chat services spell an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortStyle {
    /// Not at all.
    None,
    /// `reasoning_effort: "high"`
    ReasoningEffort,
    /// `reasoning: { effort: "high" }`
    Reasoning,
    /// `reasoning: { enabled: true }`
    ReasoningEnabled,
    /// `thinking: { type: "enabled" }`
    Thinking,
    /// `thinking: { type: "enabled" }` and `reasoning_effort: "high"`
    ThinkingEffort,
    /// `enable_thinking: true`
    EnableThinking,
}

/// How chat services take thoughts back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtReplay {
    /// Not at all: the field is refused.
    Never,
    /// In the field in which the model itself sent them, if it is one that goes back.
    AsSent,
    /// As `reasoning_content` in every message of the model, were it a blank.
    Always,
    /// As `reasoning_details`, the way they came.
    Details,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdStyle {
    /// Nine letters and digits, no more and no less.
    NineAlphanumeric,
}

impl Quirks {
    /// These with others on top.
    pub fn with(&self, over: &Quirks) -> Quirks {
        Quirks {
            effort: over.effort.or(self.effort),
            thoughts: over.thoughts.or(self.thoughts),
            call_ids: over.call_ids.or(self.call_ids),
            stream_options: over.stream_options.or(self.stream_options),
            user_after_tool: over.user_after_tool.or(self.user_after_tool),
            cache_control: over.cache_control.or(self.cache_control),
            session_headers: over.session_headers.or(self.session_headers),
            output_limit: over.output_limit.or(self.output_limit),
            custom_tools: over.custom_tools.or(self.custom_tools),
            documents: over.documents.or(self.documents),
        }
    }
}

impl RequestTarget {
    /// Whether results may hold files of pages.
    pub(super) fn takes_documents(&self, wire: Wire) -> bool {
        let has_place = match wire {
            Wire::Responses | Wire::Messages | Wire::Gemini => true,
            Wire::Chat => false,
        };
        has_place && self.quirks.documents == Some(true) && self.model.vision != Some(false)
    }

    /// A model of which nothing is known.
    pub fn unknown(model: &str) -> RequestTarget {
        let model = Model {
            id: model.to_owned(),
            name: model.to_owned(),
            ..Model::default()
        };
        RequestTarget {
            model,
            ..RequestTarget::default()
        }
    }

    /// Where native values of an answer belong: they are sent back only to the same model of the
    /// same account.
    pub(super) fn origin(&self, wire: Wire) -> String {
        format!("{}/{}/{}", wire.name(), self.account, self.model.id)
    }

    /// How thoughts go back in chat. Some models want theirs wherever they run; Mistral's send none
    /// in a field, and what checks their prompts refuses the field.
    pub(super) fn thought_replay(&self) -> ThoughtReplay {
        let by_name = if family::wants_thoughts(&self.model.id) {
            ThoughtReplay::Always
        } else if family::is_mistral(&self.model.id) {
            ThoughtReplay::Never
        } else {
            ThoughtReplay::AsSent
        };
        self.quirks.thoughts.unwrap_or(by_name)
    }

    pub(super) fn call_ids(&self) -> Option<CallIdStyle> {
        let mistral = family::is_mistral(&self.model.id);
        let by_name = mistral.then_some(CallIdStyle::NineAlphanumeric);
        self.quirks.call_ids.or(by_name)
    }

    pub(super) fn user_after_tool(&self) -> bool {
        let mistral = family::is_mistral(&self.model.id);
        self.quirks.user_after_tool.unwrap_or(!mistral)
    }

    /// The request with what was left open decided by what is known of the model.
    pub(crate) fn settle(&self, mut request: ModelRequest) -> ModelRequest {
        request.effort = match request.purpose {
            // A few words are not worth a thought.
            RequestPurpose::Title => self.model.efforts.first().cloned(),
            RequestPurpose::Answer | RequestPurpose::Task | RequestPurpose::Summary => {
                self.model.effort_for(request.effort.as_deref())
            }
        };
        if self.quirks.output_limit == Some(false) {
            request.max_output_tokens = None;
        }
        // The service would refuse them all.
        if self.model.tools == Some(false) {
            request.tools = [].into();
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_cannot_call_tools_is_sent_none() {
        let request = ModelRequest {
            tools: vec![crate::ToolSpec {
                name: "bash".to_owned(),
                description: String::new(),
                parameters: std::sync::Arc::new(serde_json::json!({})),
                grammar: None,
            }]
            .into(),
            ..ModelRequest::default()
        };
        for (tools, sent) in [(Some(false), 0), (Some(true), 1), (None, 1)] {
            let mut target = RequestTarget::unknown("m");
            target.model.tools = tools;
            assert_eq!(
                target.settle(request.clone()).tools.len(),
                sent,
                "{tools:?}"
            );
        }
    }

    #[test]
    fn the_quirks_of_a_model_lie_over_those_of_its_provider() {
        let provider = Quirks {
            effort: Some(EffortStyle::Thinking),
            stream_options: Some(false),
            ..Quirks::default()
        };
        let model = Quirks {
            effort: Some(EffortStyle::None),
            ..Quirks::default()
        };
        let expected = Quirks {
            effort: Some(EffortStyle::None),
            stream_options: Some(false),
            ..Quirks::default()
        };
        assert_eq!(provider.with(&model), expected);
    }
}
