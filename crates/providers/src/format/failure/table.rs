//! By which codes and words model services tell what went wrong, as data. The first rule that fits
//! counts, so the narrow ones come first. Where a code or a sentence was seen is in the tests.

use crate::ErrorKind::{self, *};

/// One way of saying it.
pub(in crate::format) struct FailureRule {
    pub kind: ErrorKind,
    pub statuses: Statuses,
    /// Codes and types in small letters; one of them is enough.
    pub tags: &'static [&'static str],
    /// Groups of words in small letters; all of one group are enough.
    pub words: &'static [&'static [&'static str]],
    /// What to do, where the kind alone would say it wrongly.
    pub advice: Option<&'static str>,
}

#[derive(Clone, Copy)]
pub(in crate::format) enum Statuses {
    Any,
    Only(&'static [u16]),
    Except(&'static [u16]),
    /// Told within a stream, without a status.
    Untold,
}

impl Statuses {
    fn fit(self, status: Option<u16>) -> bool {
        match (self, status) {
            (Statuses::Any, _) | (Statuses::Except(_) | Statuses::Untold, None) => true,
            (Statuses::Only(statuses), Some(status)) => statuses.contains(&status),
            (Statuses::Except(statuses), Some(status)) => !statuses.contains(&status),
            (Statuses::Only(_), None) | (Statuses::Untold, Some(_)) => false,
        }
    }
}

impl FailureRule {
    /// `words` and `tags` are in small letters.
    pub fn fits(&self, status: Option<u16>, tags: &[String], words: &str) -> bool {
        let tagged = || tags.iter().any(|tag| self.tags.contains(&tag.as_str()));
        let says = |group: &&[&str]| group.iter().all(|each| words.contains(each));
        self.statuses.fit(status) && (tagged() || self.words.iter().any(says))
    }
}

const USUAL: FailureRule = FailureRule {
    kind: Other,
    statuses: Statuses::Any,
    tags: &[],
    words: &[],
    advice: None,
};

pub(in crate::format) const RULES: &[FailureRule] = &[
    FailureRule {
        kind: Refused,
        tags: &[
            "content_filter",
            "content_policy_violation",
            "cyber_policy",
            "data_inspection_failed",
            // Z.ai.
            "1301",
        ],
        words: &[
            &["content management policy"],
            &["content exists risk"],
            &["violates usage guidelines"],
            &["flagged as potentially violating"],
        ],
        ..USUAL
    },
    FailureRule {
        kind: Refused,
        tags: &[
            "unsupported_country",
            "unsupported_country_region_territory",
        ],
        words: &[
            &["country, region, or territory not supported"],
            &["user location is not supported"],
            &["not available in your region"],
            &["not available in your country"],
        ],
        advice: Some(
            "the service is not offered where this machine (or its proxy) is; use another provider",
        ),
        ..USUAL
    },
    FailureRule {
        kind: Quota,
        // ChatGPT, Z.ai's coding plan.
        tags: &["usage_not_included", "1309", "1311"],
        advice: Some("the account's plan does not include this; use another model or account"),
        ..USUAL
    },
    FailureRule {
        kind: Quota,
        tags: &[
            "insufficient_quota",
            "billing_error",
            "billing_not_active",
            "billing_hard_limit_reached",
            "insufficient_credits",
            "insufficient_balance",
            "exceeded_current_quota_error",
            "enforced_spend_limit_reached",
            "organization_on_hold",
            "usage_limit_reached",
            // Google, see `ErrorBody`.
            "quota_per_day",
            // Z.ai: no balance, and limits of days, hours and weeks.
            "1113",
            "1304",
            "1308",
            "1310",
        ],
        words: &[
            &["credit balance is too low"],
            &["insufficient balance"],
            &["insufficient credits"],
            &["requires more credits"],
            &["have any credits"],
            &["used all available credits"],
            &["spending limit"],
            &["reached your specified api usage limits"],
            &["extra usage is required"],
            // Google's free tier, where it holds no such model at all.
            &["quota exceeded for metric", "limit: 0,"],
            &["quota exceeded for metric", "limit: 0 "],
        ],
        ..USUAL
    },
    FailureRule {
        kind: ContextTooLong,
        statuses: Statuses::Only(&[413, 429]),
        words: &[&["request too large", "tokens per min"]],
        advice: Some(
            "one request may not hold so many tokens in this account's tier; shorten the \
             conversation, raise the tier, or use another model",
        ),
        ..USUAL
    },
    FailureRule {
        kind: ContextTooLong,
        tags: &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "request_too_large",
            "request_body_too_large_after_decoding",
            "model_context_window_exceeded",
            // Z.ai.
            "1261",
        ],
        ..USUAL
    },
    FailureRule {
        kind: ContextTooLong,
        // A limit per minute is counted in tokens too, and told in much the same words.
        statuses: Statuses::Except(&[429]),
        words: &[
            &["prompt is too long"],
            &["prompt too long"],
            &["prompt exceeds max length"],
            &["maximum prompt length"],
            &["maximum context length"],
            &["max context length"],
            &["exceed context limit"],
            &["exceeds the context window"],
            &["context window exceeds limit"],
            &["exceeds the available context size"],
            &["exceeds the context length"],
            &["exceeded model token limit"],
            &["input token count", "exceeds"],
            &["prompt token count", "exceeds"],
            &["longer than the model's context length"],
            &["longer than the maximum model length"],
            &["greater than the context length"],
            &["loaded with context length of only"],
            &["tokens + `max_new_tokens` must be <="],
            &["input is too long for requested model"],
            &["reduce the length of the messages"],
            &["token limit exceeded"],
        ],
        ..USUAL
    },
    FailureRule {
        kind: BadRequest,
        words: &[
            &["maximum allowed number of output tokens"],
            &["max_tokens", "less than or equal to"],
            &["max_completion_tokens", "less than or equal to"],
            &["max_tokens is too large"],
            &["max_output_tokens", "supported range"],
        ],
        advice: Some("give the model a smaller `output` in config/catalog.toml"),
        ..USUAL
    },
    FailureRule {
        kind: BadRequest,
        words: &[
            &["does not support tools"],
            &["does not support function calling"],
            &["support tool use"],
            &["tool calling", "not supported with this model"],
        ],
        advice: Some("this model takes no tools, which an agent needs; use another model"),
        ..USUAL
    },
    FailureRule {
        kind: BadRequest,
        words: &[&["support image input"], &["does not support image"]],
        advice: Some("this model sees no pictures; use another model for them"),
        ..USUAL
    },
    FailureRule {
        kind: Refused,
        statuses: Statuses::Only(&[403]),
        // Titles of the pages that a firewall answers with.
        words: &[&["just a moment"], &["attention required"]],
        advice: Some(
            "a firewall in front of the service turned this machine away; try without VPN or proxy",
        ),
        ..USUAL
    },
    FailureRule {
        kind: Malformed,
        // Groq, of what its model wrote.
        tags: &["tool_use_failed", "output_parse_failed"],
        ..USUAL
    },
    FailureRule {
        kind: Auth,
        tags: &[
            "authentication_error",
            "invalid_authentication_error",
            "invalid_api_key",
            "permission_error",
            "unauthenticated",
            "permission_denied",
            "api_key_invalid",
            "claude_code_key_creator_not_member",
            // Z.ai.
            "1000",
            "1001",
            "1002",
            "1003",
            "1004",
        ],
        words: &[
            &["api key not valid"],
            &["invalid api key"],
            &["incorrect api key"],
        ],
        ..USUAL
    },
    FailureRule {
        kind: BadRequest,
        words: &[&["page not found"]],
        advice: Some(super::CHECK_BASE_URL),
        ..USUAL
    },
    FailureRule {
        kind: UnknownModel,
        tags: &[
            "model_not_found",
            "model_decommissioned",
            "not_found_error",
            "not_found",
            // Z.ai.
            "1211",
        ],
        words: &[
            &["model", "does not exist"],
            &["model", "not found"],
            &["not a valid model"],
            &["unknown model"],
            &["model is not supported when using"],
            &["model", "requires a newer version"],
        ],
        ..USUAL
    },
    FailureRule {
        kind: RateLimited,
        tags: &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limit_reached_error",
            "ramp_limit_exceeded",
            "resource_exhausted",
            "too_many_requests",
            // Z.ai.
            "1302",
            "1303",
            "1305",
        ],
        ..USUAL
    },
    FailureRule {
        kind: Overloaded,
        tags: &[
            "overloaded_error",
            "overloaded",
            "engine_overloaded_error",
            "server_is_overloaded",
            "slow_down",
            "unavailable",
            // Z.ai.
            "1312",
        ],
        ..USUAL
    },
    FailureRule {
        kind: RateLimited,
        statuses: Statuses::Untold,
        words: &[&["rate limit"], &["too many requests"]],
        ..USUAL
    },
    FailureRule {
        kind: Overloaded,
        statuses: Statuses::Untold,
        // Said of many things; a status is more exact where there is one.
        tags: &[
            "server_error",
            "api_error",
            "internal",
            "internal_server_error",
            "timeout_error",
            "deadline_exceeded",
        ],
        words: &[&["overloaded"]],
        ..USUAL
    },
    FailureRule {
        kind: BadRequest,
        statuses: Statuses::Untold,
        tags: &[
            "invalid_request_error",
            "invalid_argument",
            "invalid_prompt",
        ],
        ..USUAL
    },
];
