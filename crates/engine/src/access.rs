//! Who may do what: the one place that decides. A lone user is the owner and may do everything.

use vocabulary::{
    Call, Caller, CheckpointCall, LibraryCall, McpCall, Refusal, Role, SkillCall, Why,
};

/// What a call does to the world, as far as permission goes.
enum Need {
    Read,
    Write,
    Delete,
}

/// Whether a caller may make this call.
pub fn check(caller: &Caller, call: &Call) -> Result<(), Refusal> {
    allow(caller, need(call))
}

/// Whether a caller may hear what threads and lists tell.
pub fn check_hearing(caller: &Caller) -> Result<(), Refusal> {
    allow(caller, Need::Read)
}

fn allow(caller: &Caller, need: Need) -> Result<(), Refusal> {
    let allowed = match (caller.role, need) {
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
        | Call::FindThread { .. }
        | Call::GetThread { .. }
        | Call::ListGrants { .. }
        | Call::ReadThread { .. }
        | Call::ReadMessages { .. }
        | Call::ReadEvents { .. }
        | Call::ReadTurns { .. }
        | Call::ReadEventsBefore { .. }
        | Call::Files { .. }
        | Call::GetCatalog
        | Call::GetProviderStatus { .. }
        | Call::ListTools { .. }
        | Call::ListCommands { .. } => Need::Read,
        Call::CreateThread(_)
        | Call::ChangeThread { .. }
        | Call::StartTurn(_)
        | Call::SteerTurn(_)
        | Call::CancelTurn { .. }
        | Call::AnswerAsk { .. }
        | Call::ResetThread { .. }
        | Call::RevokeGrant { .. }
        | Call::RunCommand(_)
        | Call::UploadFile(_)
        | Call::KeepDefaults { .. }
        | Call::CloseThread { .. } => Need::Write,
        // Credentials are everyone's: only who may delete may change them.
        Call::DeleteThread { .. } | Call::SignIn(_) => Need::Delete,
        Call::Library(call) => need_of_library(call),
        Call::Checkpoints { call, .. } => need_of_checkpoints(call),
        Call::Mcp { call, .. } => need_of_mcp(call),
        Call::Skills { call, .. } => need_of_skills(call),
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

/// What a workspace runs is its members' business; credentials and what the user has everywhere are
/// everyone's.
fn need_of_mcp(call: &McpCall) -> Need {
    match call {
        McpCall::Get => Need::Read,
        McpCall::Check { .. } => Need::Write,
        McpCall::Save { .. }
        | McpCall::Delete { .. }
        | McpCall::Authorize { .. }
        | McpCall::FinishSignIn { .. }
        | McpCall::SetKey { .. }
        | McpCall::Migrate { .. } => Need::Delete,
    }
}

fn need_of_skills(call: &SkillCall) -> Need {
    match call {
        SkillCall::List | SkillCall::Read { .. } => Need::Read,
        SkillCall::SetEnabled { .. } | SkillCall::Delete { .. } => Need::Delete,
    }
}

fn need_of_library(call: &LibraryCall) -> Need {
    match call {
        // Who asks for a default gets one, whatever their role: it is nobody's loss.
        LibraryCall::ListWorkspaces
        | LibraryCall::DefaultWorkspace
        | LibraryCall::ReadTree { .. } => Need::Read,
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

#[cfg(test)]
mod tests {
    use vocabulary::{
        Answer, AskId, Audience, Cause, Changes, FileUpload, GrantScope, Idempotency, LibraryCall,
        Seq, SignInCall, StartTurn, SteerTurn, TenantId, ThreadId, ThreadQuery, WorkspaceId,
    };

    use super::*;

    const ROLES: [Role; 5] = [
        Role::Owner,
        Role::Admin,
        Role::BillingAdmin,
        Role::Member,
        Role::Viewer,
    ];
    /// Who may, in the order of `ROLES`.
    const ALL: [bool; 5] = [true; 5];
    const WRITERS: [bool; 5] = [true, true, true, true, false];
    const MANAGERS: [bool; 5] = [true, true, false, false, false];

    fn caller(role: Role) -> Caller {
        Caller {
            tenant: TenantId::new("t"),
            member: "m".to_owned(),
            role,
            via: None,
        }
    }

    fn may(check: impl Fn(&Caller) -> Result<(), Refusal>) -> [bool; 5] {
        ROLES.map(|role| match check(&caller(role)) {
            Ok(()) => true,
            Err(refusal) => {
                assert_eq!(refusal.why, Why::Forbidden);
                false
            }
        })
    }

    fn reads(thread: ThreadId) -> Vec<Call> {
        vec![
            Call::ListThreads(ThreadQuery::default()),
            Call::FindThread {
                name: "mine".to_owned(),
            },
            Call::GetThread { thread },
            Call::ListGrants { thread },
            Call::ReadThread { thread, recent: 1 },
            Call::ReadMessages {
                thread,
                offset: 0,
                limit: 1,
            },
            Call::ReadTurns {
                thread,
                selection: vocabulary::TurnSelection::Newest,
                limit: 1,
                entries: true,
            },
            Call::ReadEvents {
                thread,
                after: Seq::ZERO,
                limit: 1,
            },
            Call::ReadEventsBefore {
                thread,
                upto: Seq::ZERO,
                limit: 1,
            },
            Call::Files {
                thread,
                call: vocabulary::FileCall::List {
                    path: None,
                    depth: 1,
                },
            },
            Call::GetCatalog,
            Call::GetProviderStatus { verify: true },
            Call::ListTools { thread },
            Call::Mcp {
                thread,
                call: McpCall::Get,
            },
            Call::ListCommands { thread },
            Call::Library(LibraryCall::ListWorkspaces),
            Call::Checkpoints {
                thread,
                call: CheckpointCall::Get,
            },
        ]
    }

    fn writes(thread: ThreadId) -> Vec<Call> {
        vec![
            Call::CreateThread(Box::default()),
            Call::ChangeThread {
                thread,
                changes: Changes::default(),
            },
            Call::StartTurn(StartTurn {
                thread,
                text: String::new(),
                display: None,
                cause: Cause::UserMessage,
                client_message_id: None,
                client_turn_id: None,
                idempotency: Idempotency::Lasting,
                images: Vec::new(),
                changes: Box::default(),
                listen: None,
            }),
            Call::SteerTurn(SteerTurn {
                thread,
                turn: None,
                text: String::new(),
                client_message_id: None,
                images: Vec::new(),
            }),
            Call::CancelTurn { thread, turn: None },
            Call::AnswerAsk {
                thread,
                ask: AskId(1),
                answer: Answer::Dismissed,
            },
            Call::ResetThread { thread },
            Call::RevokeGrant {
                thread,
                what: String::new(),
                scope: GrantScope::Turn,
            },
            Call::CloseThread {
                thread,
                audience: Audience(0),
            },
            Call::KeepDefaults {
                thread,
                settings: Vec::new(),
            },
            Call::UploadFile(FileUpload {
                thread,
                name: "a".to_owned(),
                base64: "".into(),
            }),
            Call::Library(LibraryCall::SelectWorkspace {
                id: WorkspaceId::new("w"),
                make_current: true,
            }),
            Call::Checkpoints {
                thread,
                call: CheckpointCall::Take,
            },
        ]
    }

    #[test]
    fn every_call_has_its_roles() {
        let thread = ThreadId(uuid::Uuid::nil());
        let managed = vec![
            Call::DeleteThread { thread },
            Call::SignIn(SignInCall::SignOut {
                provider: "p".to_owned(),
            }),
        ];
        for (calls, roles) in [
            (reads(thread), ALL),
            (writes(thread), WRITERS),
            (managed, MANAGERS),
        ] {
            for call in calls {
                assert_eq!(may(|caller| check(caller, &call)), roles, "{call:?}");
            }
        }
        assert_eq!(may(check_hearing), ALL);
    }
}
