//! What a caller may set of a thread's permissions: nothing is promised that does not hold.

use tools::sandbox::Mode;
use vocabulary::{Changes, Refusal, SandboxInForce, SandboxMechanism, SandboxMode, ThreadSettings};

use crate::Shared;
use crate::tenants::TenantOwn;

/// What really holds the commands of a thread with these settings: those of a program of the user's are
/// its own.
pub async fn in_force_for(
    shared: &Shared,
    own: &TenantOwn,
    settings: &ThreadSettings,
) -> SandboxInForce {
    match shared.agents.is_external(settings) && own.may_leave_sandbox() {
        true => SandboxInForce {
            holds: false,
            network: true,
            mechanism: SandboxMechanism::Nothing,
        },
        false => in_force(shared, own).await,
    }
}

/// What really holds commands here.
async fn in_force(shared: &Shared, own: &TenantOwn) -> SandboxInForce {
    let sandbox = shared.sandbox().await;
    let mechanism = match sandbox.mode() {
        Mode::Bubblewrap => SandboxMechanism::Bubblewrap,
        Mode::Landlock => SandboxMechanism::Landlock,
        Mode::Nothing => SandboxMechanism::Nothing,
    };
    let is_there = mechanism != SandboxMechanism::Nothing;
    // Who may not leave it runs nothing where there is none.
    let holds = is_there || !own.may_leave_sandbox();
    SandboxInForce {
        holds,
        network: !holds || is_there && sandbox.network(),
        mechanism,
    }
}

/// Refuses full access where a sandbox holds. Where none does, that is how things are already, and
/// there is nothing to change.
pub async fn settle(
    shared: &Shared,
    own: &TenantOwn,
    changes: &mut Changes,
) -> Result<(), Refusal> {
    if changes.sandbox != Some(SandboxMode::FullAccess) {
        return Ok(());
    }
    if !own.may_leave_sandbox() {
        return Err(Refusal::invalid(
            "sandbox",
            "your tenant's commands stay in the sandbox, so there is no full access; take read-only \
             or workspace-write",
        ));
    }
    if in_force(shared, own).await.holds {
        return Err(Refusal::invalid(
            "sandbox",
            "this server keeps commands in its sandbox, so there is no full access; take \
             read-only or workspace-write, or have the owner start it with --sandbox off",
        ));
    }
    changes.sandbox = None;
    Ok(())
}
