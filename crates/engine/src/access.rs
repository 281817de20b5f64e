//! Who may do what: the one place that decides. A lone user is the owner and may do everything.

use vocabulary::{
    Call, Caller, Changes, CheckpointCall, DirectoryCall, LibraryCall, McpCall, MemberCall,
    Permission, Refusal, SectionCall, SkillCall, TerminalCall, Why, WorkspaceCall,
};

/// Whether a caller may make this call.
pub fn check(caller: &Caller, call: &Call) -> Result<(), Refusal> {
    allow(caller, needed(call))
}

/// Whether a caller may hear what threads and lists tell.
pub fn check_hearing(caller: &Caller) -> Result<(), Refusal> {
    allow(caller, Permission::SessionRead)
}

fn allow(caller: &Caller, permission: Permission) -> Result<(), Refusal> {
    match caller.role.may(permission) {
        true => Ok(()),
        false => Err(Refusal::new(
            Why::Forbidden,
            format!(
                "your role, {}, does not allow this ({}); ask an owner",
                caller.role.name(),
                permission.name()
            ),
        )),
    }
}

fn needed(call: &Call) -> Permission {
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
        // A member's own browsers.
        | Call::Push(_)
        | Call::ListCommands { .. } => Permission::SessionRead,
        // Who may start threads in a directory may look for one.
        Call::CreateThread(_) | Call::ForkThread(_) | Call::FindFiles(_) => {
            Permission::SessionCreate
        }
        Call::Directories(call) => needed_of_directories(call),
        Call::ChangeThread { changes, .. } => needed_to_change(changes),
        Call::StartTurn(_)
        | Call::CompactThread { .. }
        | Call::StartReview(_)
        | Call::RunShell(_)
        | Call::Exec(_)
        | Call::CancelTurn { .. }
        | Call::AnswerAsk { .. }
        | Call::ResetThread { .. }
        | Call::RevertThread(_)
        | Call::RevokeGrant { .. }
        | Call::RunCommand(_)
        | Call::UploadFile(_)
        | Call::KeepDefaults { .. }
        | Call::CloseThread { .. } => Permission::SessionWrite,
        Call::SteerTurn(_) => Permission::SessionSteer,
        Call::DeleteThread { .. } => Permission::SessionDelete,
        // Credentials are the whole tenant's.
        Call::SignIn(_) => Permission::TenantAdmin,
        Call::Library(call) => needed_of_library(call),
        Call::Members(MemberCall::List) => Permission::MemberRead,
        Call::Members(MemberCall::SetRole { .. }) => Permission::MemberWrite,
        Call::Members(MemberCall::Remove { .. }) => Permission::MemberDelete,
        Call::Checkpoints { call, .. } => needed_of_checkpoints(call),
        Call::Mcp { call, .. } => needed_of_mcp(call),
        Call::Skills { call, .. } => needed_of_skills(call),
        Call::Workspace { call, .. } => match &**call {
            WorkspaceCall::Mcp(call) => needed_of_mcp(call),
            WorkspaceCall::Skills(call) => needed_of_skills(call),
        },
        Call::Terminals { call, .. } => needed_of_terminals(call),
    }
}

/// Who may write may archive too, so that one of the two is enough to ask for.
fn needed_to_change(changes: &Changes) -> Permission {
    let archives = Changes {
        archived: changes.archived,
        ..Changes::default()
    };
    match changes.archived.is_some() && *changes == archives {
        true => Permission::SessionArchive,
        false => Permission::SessionWrite,
    }
}

fn needed_of_directories(call: &DirectoryCall) -> Permission {
    match call {
        DirectoryCall::List { .. }
        | DirectoryCall::Inspect { .. }
        | DirectoryCall::ListWorktrees { .. } => Permission::SessionCreate,
        DirectoryCall::CreateWorktree(_)
        | DirectoryCall::RemoveWorktree { .. }
        | DirectoryCall::PruneWorktrees { .. } => Permission::SessionWrite,
    }
}

fn needed_of_checkpoints(call: &CheckpointCall) -> Permission {
    match call {
        CheckpointCall::Get
        | CheckpointCall::Preview { .. }
        | CheckpointCall::Diff { .. }
        | CheckpointCall::History { .. }
        | CheckpointCall::FileAt { .. } => Permission::SessionRead,
        CheckpointCall::Take | CheckpointCall::Restore { .. } | CheckpointCall::Delete { .. } => {
            Permission::SessionWrite
        }
    }
}

/// What runs may be looked at; which programs run, and with which keys, is the whole tenant's.
fn needed_of_mcp(call: &McpCall) -> Permission {
    match call {
        McpCall::Get => Permission::SessionRead,
        McpCall::Check { .. } | McpCall::Restart { .. } => Permission::SessionWrite,
        McpCall::Save { .. }
        | McpCall::Delete { .. }
        | McpCall::Authorize { .. }
        | McpCall::FinishSignIn { .. }
        | McpCall::SetKey { .. }
        | McpCall::Install { .. }
        | McpCall::Uninstall { .. }
        | McpCall::SetEnabled { .. }
        | McpCall::Migrate { .. } => Permission::TenantAdmin,
    }
}

fn needed_of_terminals(call: &TerminalCall) -> Permission {
    match call {
        TerminalCall::List => Permission::SessionRead,
        TerminalCall::End { .. } | TerminalCall::Write { .. } => Permission::SessionWrite,
    }
}

fn needed_of_skills(call: &SkillCall) -> Permission {
    match call {
        SkillCall::List | SkillCall::Read { .. } | SkillCall::Inspect => Permission::SessionRead,
        SkillCall::SetEnabled { .. }
        | SkillCall::Delete { .. }
        | SkillCall::CheckInstall
        | SkillCall::Install(_) => Permission::TenantAdmin,
    }
}

fn needed_of_library(call: &LibraryCall) -> Permission {
    match call {
        // Who asks for a default gets one, whatever their role: it is nobody's loss.
        LibraryCall::ListWorkspaces
        | LibraryCall::DefaultWorkspace
        | LibraryCall::Sections(SectionCall::List)
        | LibraryCall::ReadTree { .. } => Permission::SessionRead,
        LibraryCall::SelectWorkspace { make_current, .. } => match make_current {
            true => Permission::SessionWrite,
            false => Permission::SessionRead,
        },
        LibraryCall::CreateWorkspace { .. }
        | LibraryCall::UpdateWorkspace { .. }
        | LibraryCall::MoveThread { .. }
        | LibraryCall::CreateFolder { .. }
        | LibraryCall::MoveFolder { .. }
        | LibraryCall::Sections(
            SectionCall::Create { .. } | SectionCall::Update { .. } | SectionCall::Move { .. }
            // Its threads are not deleted with it, nor a folder's.
            | SectionCall::Delete { .. },
        )
        | LibraryCall::DeleteFolder { .. } => Permission::SessionWrite,
    }
}

#[cfg(test)]
mod tests;
