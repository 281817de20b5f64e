//! What only Zane's clients read in these shapes.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// skills/list: flat, where the app-server has a list for each directory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZaneSkill<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub path: Cow<'a, str>,
    pub scope: &'static str,
    pub enabled: bool,
}

/// account/rateLimits/read: no limit is known here.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZaneRateLimits {
    pub rate_limits: ZaneRateLimit,
    /// By the limit's id: none.
    pub rate_limits_by_limit_id: Option<[(); 0]>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZaneRateLimit {
    pub primary: Option<[(); 0]>,
    pub secondary: Option<[(); 0]>,
    pub credits: Option<[(); 0]>,
    pub plan_type: Option<[(); 0]>,
}

/// account/rateLimitResetCredit/consume
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetCreditParams {
    pub idempotency_key: String,
}

/// account/rateLimitResetCredit/consume
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ResetCreditResponse {
    pub outcome: ResetCreditOutcome,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResetCreditOutcome {
    NoCredit,
}
