//! What becomes of a command that ran in the sandbox and was stopped by it.

use tools::Risk;
use vocabulary::{Approvals, StreamTag, ToolCall};

use super::{ApprovalRequest, approval, covered};
use crate::turn::Turn;

/// Whether a command that the sandbox stopped may run outside of it: in threads where that is what people
/// are asked for.
pub async fn let_out(
    turn: &Turn,
    tag: &StreamTag,
    call: &ToolCall,
    command: String,
    why: String,
) -> bool {
    let asks = {
        let settings = &turn.permits.borrow().settings;
        settings.approvals == Approvals::OnFailure && !settings.auto_approve
    };
    let tool = turn.tools().get(&call.name);
    let Some(tool) = tool.filter(|_| asks && !turn.is_planning()) else {
        return false;
    };
    let key = tool.grant_key(&call.input);
    let key = format!("{key} outside of the sandbox");
    let _one = turn.asks_in_turn.lock().await;
    if covered(turn, &key, &[]).await {
        return true;
    }
    let wish = ApprovalRequest {
        command,
        dangerous: true,
        risk: Risk::BeyondSandbox,
        why: format!("the sandbox stopped this: {why}; it would run again, outside of it"),
    };
    let kind = approval(call, Some(tool.as_ref()), wish, key);
    // Nobody is there any more: it stays as it is.
    let closing = turn.ask(tag.clone(), call, kind).await;
    closing.is_ok_and(|closing| closing.approved()) && !turn.is_planning()
}
