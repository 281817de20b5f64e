//! What a caller may set of a thread's permissions: nothing is promised that does not hold.

use std::sync::Arc;

use tools::Sandbox;
use tools::sandbox::Mode;
use vocabulary::{
    AgentMode, Changes, PermissionOffer, Refusal, SandboxInForce, SandboxMechanism, SandboxMode,
    ThreadSettings,
};

use crate::Shared;
use crate::tenants::TenantOwn;

/// How far the commands of a thread reach, as its settings and the server's owner want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadReach {
    /// As the server's own sandbox.
    Usual,
    /// The network is closed, wherever the server would open it.
    NoNetwork,
    /// In the sandbox, with the network.
    Network,
    /// Without a sandbox.
    Full,
}

impl ThreadReach {
    pub fn is_full(self) -> bool {
        self == ThreadReach::Full
    }

    /// The sandbox for a thread that reaches this far.
    pub fn of(self, sandbox: &Arc<Sandbox>) -> Arc<Sandbox> {
        let own = || Sandbox::clone(sandbox);
        match self {
            ThreadReach::Usual => Arc::clone(sandbox),
            ThreadReach::NoNetwork => Arc::new(own().with_network(false)),
            ThreadReach::Network => Arc::new(own().with_network(true)),
            ThreadReach::Full => Arc::new(own().opened()),
        }
    }
}

/// What is kept of a thread's wishes is looked at each time: the owner may have decided otherwise since.
pub fn reach(shared: &Shared, own: &TenantOwn, settings: &ThreadSettings) -> ThreadReach {
    match (settings.mode, settings.sandbox) {
        // What changes something elsewhere is a change, too.
        (AgentMode::Plan, _) => ThreadReach::NoNetwork,
        (_, SandboxMode::FullAccess) if may_have_full_access(shared, own) => ThreadReach::Full,
        (_, _) if settings.network && own.may_leave_sandbox() => ThreadReach::Network,
        (_, _) => ThreadReach::Usual,
    }
}

/// A tenant shares the machine with others, so no word of the owner's is enough.
fn may_have_full_access(shared: &Shared, own: &TenantOwn) -> bool {
    shared.config.allow_full_access && !own.is_confined()
}

/// What really holds the commands of a thread with these settings: those of a program of the user's are
/// its own.
pub async fn in_force_for(
    shared: &Shared,
    own: &TenantOwn,
    settings: &ThreadSettings,
) -> SandboxInForce {
    let reach = reach(shared, own, settings);
    let is_open = shared.agents.is_external(settings) && own.may_leave_sandbox();
    match is_open || reach.is_full() {
        true => SandboxInForce {
            holds: false,
            network: true,
            mechanism: SandboxMechanism::Nothing,
        },
        false => in_force(shared, own, reach).await,
    }
}

/// What really holds commands that reach so far.
async fn in_force(shared: &Shared, own: &TenantOwn, reach: ThreadReach) -> SandboxInForce {
    let sandbox = reach.of(&shared.sandbox().await);
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

/// What a new thread can be given.
pub async fn offer(shared: &Shared, own: &TenantOwn) -> PermissionOffer {
    let usual = in_force(shared, own, ThreadReach::Usual).await;
    PermissionOffer {
        read_only: usual.holds,
        workspace_write: usual.holds,
        full_access: !usual.holds || may_have_full_access(shared, own),
        network: usual.network || own.may_leave_sandbox(),
    }
}

/// Refuses what would not be kept. What is so already is no change.
pub async fn settle(
    shared: &Shared,
    own: &TenantOwn,
    changes: &mut Changes,
) -> Result<(), Refusal> {
    settle_network(shared, own, changes).await?;
    if changes.sandbox != Some(SandboxMode::FullAccess) {
        return Ok(());
    }
    if may_have_full_access(shared, own) {
        return Ok(());
    }
    if !own.may_leave_sandbox() {
        return Err(Refusal::invalid(
            "sandbox",
            "your tenant's commands stay in the sandbox, so there is no full access; take read-only \
             or workspace-write",
        ));
    }
    if in_force(shared, own, ThreadReach::Usual).await.holds {
        let how = match own.is_confined() {
            true => "",
            false => ", or have the owner start it with --allow-full-access",
        };
        return Err(Refusal::invalid(
            "sandbox",
            format!(
                "this server keeps commands in its sandbox, so there is no full access; take \
                 read-only or workspace-write{how}"
            ),
        ));
    }
    changes.sandbox = None;
    Ok(())
}

/// The network is closed to a tenant unless the operator opened it to all, or lets the tenant out of the
/// sandbox anyway.
async fn settle_network(
    shared: &Shared,
    own: &TenantOwn,
    changes: &mut Changes,
) -> Result<(), Refusal> {
    if changes.network != Some(true) || own.may_leave_sandbox() {
        return Ok(());
    }
    match in_force(shared, own, ThreadReach::Usual).await.network {
        true => {
            changes.network = None;
            Ok(())
        }
        false => Err(Refusal::invalid(
            "network",
            "the network is closed to your tenant's commands; the server's owner can open it with \
             --network",
        )),
    }
}
