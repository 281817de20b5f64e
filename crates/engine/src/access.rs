//! Who may do what: the one place that decides. A lone user is the owner and may do everything.

use vocabulary::{Call, Caller, CheckpointCall, LibraryCall, Refusal, Role, Why};

/// What a call does to the world, as far as permission goes.
enum Need {
    Read,
    Write,
    Delete,
}

pub fn check(caller: &Caller, call: &Call) -> Result<(), Refusal> {
    let allowed = match (caller.role, need(call)) {
        (Role::Owner | Role::Admin, _) => true,
        (Role::BillingAdmin | Role::Member, Need::Read | Need::Write) => true,
        (Role::BillingAdmin | Role::Member, Need::Delete) => false,
        (Role::Viewer, Need::Read) => true,
        (Role::Viewer, Need::Write | Need::Delete) => false,
    };
    if allowed {
        Ok(())
    } else {
        Err(Refusal::new(
            Why::Forbidden,
            "your role does not allow this; ask an owner",
        ))
    }
}

fn need(call: &Call) -> Need {
    match call {
        Call::ListThreads(_)
        | Call::GetThread { .. }
        | Call::ListGrants { .. }
        | Call::ReadThread { .. }
        | Call::ReadMessages { .. }
        | Call::ReadEvents { .. }
        | Call::ReadEventsBefore { .. }
        | Call::GetCatalog
        | Call::GetProviderStatus { .. }
        | Call::ListTools
        | Call::GetMcpServers { .. } => Need::Read,
        Call::CreateThread(_)
        | Call::ChangeThread { .. }
        | Call::StartTurn(_)
        | Call::SteerTurn(_)
        | Call::CancelTurn { .. }
        | Call::AnswerAsk { .. }
        | Call::ResetThread { .. }
        | Call::RevokeGrant { .. }
        | Call::CloseThread { .. } => Need::Write,
        // Credentials are everyone's: only who may delete may change them.
        Call::DeleteThread { .. } | Call::SignIn(_) => Need::Delete,
        Call::Library(call) => need_of_library(call),
        Call::Checkpoints { call, .. } => need_of_checkpoints(call),
    }
}

fn need_of_checkpoints(call: &CheckpointCall) -> Need {
    match call {
        CheckpointCall::Get
        | CheckpointCall::Preview { .. }
        | CheckpointCall::Diff { .. }
        | CheckpointCall::History { .. }
        | CheckpointCall::FileAt { .. } => Need::Read,
        CheckpointCall::Take | CheckpointCall::Restore { .. } | CheckpointCall::Delete { .. } => {
            Need::Write
        }
    }
}

fn need_of_library(call: &LibraryCall) -> Need {
    match call {
        // Who asks for a default gets one, whatever their role: it is nobody's loss.
        LibraryCall::ListWorkspaces
        | LibraryCall::DefaultWorkspace
        | LibraryCall::ReadTree { .. }
        | LibraryCall::FindThread { .. } => Need::Read,
        LibraryCall::SelectWorkspace { make_current, .. } => match make_current {
            true => Need::Write,
            false => Need::Read,
        },
        LibraryCall::CreateWorkspace { .. }
        | LibraryCall::UpdateWorkspace { .. }
        | LibraryCall::MoveThread { .. }
        | LibraryCall::CreateFolder { .. }
        | LibraryCall::MoveFolder { .. }
        // A folder's threads are not deleted with it.
        | LibraryCall::DeleteFolder { .. } => Need::Write,
    }
}
