//! How a decision is told to the agent that asked: by one of the options that it gave.

use acp::AgentReply;
use acp::schema::{
    self, PermissionOptionId, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionResponse, SelectedPermissionOutcome,
};

/// A yes counts once: for how long it counts here, our grants say, and no agent is told more than that.
pub fn yes(options: &[schema::PermissionOption]) -> Option<PermissionOptionId> {
    of_kind(options, PermissionOptionKind::AllowOnce)
}

pub fn no(options: &[schema::PermissionOption]) -> RequestPermissionOutcome {
    let once = of_kind(options, PermissionOptionKind::RejectOnce);
    let option = once.or_else(|| of_kind(options, PermissionOptionKind::RejectAlways));
    option.map_or(RequestPermissionOutcome::Cancelled, selected)
}

fn of_kind(
    options: &[schema::PermissionOption],
    kind: PermissionOptionKind,
) -> Option<PermissionOptionId> {
    let option = options.iter().find(|option| option.kind == kind)?;
    Some(option.option_id.clone())
}

pub fn selected(option: PermissionOptionId) -> RequestPermissionOutcome {
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option))
}

pub fn permission(outcome: RequestPermissionOutcome) -> AgentReply {
    AgentReply::Permission(RequestPermissionResponse::new(outcome))
}
