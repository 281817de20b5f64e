//! What a caller may set of a thread's permissions: nothing is promised that does not hold.

use tools::sandbox::Mode;
use vocabulary::{Changes, Refusal, SandboxInForce, SandboxMechanism, SandboxMode, ThreadSettings};

use crate::Shared;

/// What really holds the commands of a thread with these settings: those of a program of the user's are
/// its own.
pub async fn in_force_for(shared: &Shared, settings: &ThreadSettings) -> SandboxInForce {
    match shared.agents.is_external(settings) {
        true => SandboxInForce {
            holds: false,
            network: true,
            mechanism: SandboxMechanism::Nothing,
        },
        false => in_force(shared).await,
    }
}

/// What really holds commands here.
async fn in_force(shared: &Shared) -> SandboxInForce {
    let sandbox = shared.sandbox().await;
    let mechanism = match sandbox.mode() {
        Mode::Bubblewrap => SandboxMechanism::Bubblewrap,
        Mode::Landlock => SandboxMechanism::Landlock,
        Mode::Nothing => SandboxMechanism::Nothing,
    };
    let holds = mechanism != SandboxMechanism::Nothing;
    SandboxInForce {
        holds,
        network: !holds || sandbox.network(),
        mechanism,
    }
}

/// Refuses full access where a sandbox holds. Where none does, that is how things are already, and
/// there is nothing to change.
pub async fn settle(shared: &Shared, changes: &mut Changes) -> Result<(), Refusal> {
    if changes.sandbox != Some(SandboxMode::FullAccess) {
        return Ok(());
    }
    if in_force(shared).await.holds {
        return Err(Refusal::invalid(
            "sandbox",
            "this server keeps commands in its sandbox, so there is no full access; take \
             read-only or workspace-write, or have the owner start it with --sandbox off",
        ));
    }
    changes.sandbox = None;
    Ok(())
}
