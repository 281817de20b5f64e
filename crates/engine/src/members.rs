//! Members of a tenant: what a client may want of them, and what follows when one may less.

use std::sync::Arc;

use identity::{IdentityError, MemberChange};
use vocabulary::{Caller, MemberCall, MemberReply, Permission, Refusal, Reply, ThreadId, Why};

use crate::Shared;
use crate::session::{Mail, storage};

pub async fn answer(
    shared: &Arc<Shared>,
    caller: &Caller,
    call: MemberCall,
) -> Result<Reply, Refusal> {
    let (directory, tenant) = (&shared.identity, &caller.tenant);
    let reply = match call {
        MemberCall::List => {
            let people = directory.people().await.map_err(refusal)?;
            let members = people.members(tenant).cloned().collect();
            return Ok(MemberReply::List(members).into());
        }
        MemberCall::SetRole { id, role } => {
            let change = MemberChange {
                role: Some(role),
                ..MemberChange::default()
            };
            let set = directory.set_member(tenant, &id, caller.role, &change);
            MemberReply::Set(set.await.map_err(refusal)?)
        }
        MemberCall::Remove { id } => {
            let removed = directory.remove_member(tenant, &id, caller.role).await;
            removed.map_err(refusal)?;
            MemberReply::Removed(id)
        }
    };
    cancel_turns_of_nobody(shared).await;
    Ok(reply.into())
}

/// Lets every running turn see who may what by now, so that one ends whose starter may not run it
/// any more.
pub async fn cancel_turns_of_nobody(shared: &Arc<Shared>) {
    let busy = |handle: &crate::session::Handle| handle.status.borrow().is_busy();
    let awake = shared.registry.awake().into_iter().filter(busy);
    let running: Vec<_> = awake.collect();
    if running.is_empty() {
        return;
    }
    let people = match shared.identity.people().await {
        Ok(people) => people,
        Err(error) => {
            tracing::warn!(%error, "running turns were not looked at after a change of members");
            return;
        }
    };
    for handle in running {
        let mail = Box::new(Mail::PeopleChanged(Arc::clone(&people)));
        // One whose mailbox is full is waited for by itself: the others are not.
        if let Err(tokio::sync::mpsc::error::TrySendError::Full(mail)) = handle.mail.try_send(mail)
        {
            tokio::spawn(async move { handle.mail.send(mail).await });
        }
    }
}

/// A turn that was on its way while its starter lost the right to it is looked at once more.
pub async fn check_started(shared: &Arc<Shared>, caller: &Caller, thread: ThreadId) {
    if caller.credential.is_none() {
        return;
    }
    let people = match shared.identity.people().await {
        Ok(people) => people,
        Err(error) => {
            tracing::warn!(%error, "who started a turn was not looked up again");
            return;
        }
    };
    let now = people.renew(caller, shared.now());
    let may = now.is_some_and(|now| now.role.may(Permission::SessionWrite));
    if !may && let Some(handle) = shared.registry.get(thread) {
        // A session that is gone runs nothing.
        let mail = Box::new(Mail::PeopleChanged(people));
        let _ = handle.mail.send(mail).await;
    }
}

fn refusal(error: IdentityError) -> Refusal {
    let message = error.to_string();
    let why = match error {
        IdentityError::Invalid { field, .. } => Why::invalid(field),
        IdentityError::UnknownMember(_) => Why::invalid("userId"),
        IdentityError::LastOwner(_)
        | IdentityError::Beyond { .. }
        | IdentityError::Permanent(_)
        | IdentityError::UnknownTenant(_)
        | IdentityError::TenantTaken(_) => Why::Forbidden,
        IdentityError::UnknownToken(_) => Why::invalid("token"),
        IdentityError::Busy | IdentityError::Broken(_) => Why::Storage,
        IdentityError::Store(error) => return storage(error),
    };
    Refusal::new(why, message)
}
