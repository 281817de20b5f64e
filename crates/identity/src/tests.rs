//! Tenants, members and tokens, as their users meet them.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use proptest::prelude::*;
use store::SharedStore;
use store::testing::memory::MemoryWorld;
use vocabulary::{Caller, Member, Role, TenantId, Timestamp};

use crate::directory::now;
use crate::{Directory, IdentityError, MemberChange, NewToken, People};

/// Two processes on one home.
fn two() -> [Directory; 2] {
    let world = MemoryWorld::new();
    [world.open(), world.open()].map(|store| Directory::new(Arc::new(store) as SharedStore))
}

fn as_role(role: Role) -> MemberChange {
    MemberChange {
        role: Some(role),
        ..MemberChange::default()
    }
}

async fn set(
    directory: &Directory,
    tenant: &TenantId,
    id: &str,
    by: Role,
    role: Role,
) -> Result<Member, IdentityError> {
    let change = as_role(role);
    directory.set_member(tenant, id, by, &change).await
}

async fn acme(directory: &Directory) -> TenantId {
    let about = MemberChange::default();
    let made = directory.create_tenant("acme", "Acme", "alice", &about);
    made.await.expect("a tenant").id
}

fn of(member: &str) -> NewToken {
    NewToken {
        name: "test".to_owned(),
        member: member.to_owned(),
        ..NewToken::default()
    }
}

async fn renewed(directory: &Directory, caller: &Caller) -> Option<Caller> {
    let people = directory.people().await.expect("people");
    people.renew(caller, now())
}

#[tokio::test]
async fn a_tenant_has_an_owner_and_an_id_that_nobody_gets_again() {
    let [here, there] = two();
    let tenant = acme(&here).await;
    let people = here.people().await.expect("people");
    let members: Vec<_> = people.members(&tenant).collect();
    assert_eq!((members.len(), members[0].role), (1, Role::Owner));
    let taken = Err(IdentityError::TenantTaken("acme".to_owned()));
    let change = MemberChange::default();
    let again = there.create_tenant("acme", "Other", "mallory", &change);
    assert_eq!(again.await, taken);
    here.delete_tenant("acme").await.expect("deleted");
    there.changed();
    let people = there.people().await.expect("people");
    assert_eq!(
        (people.tenant(&tenant), people.members(&tenant).count()),
        (None, 0)
    );
    let again = there.create_tenant("acme", "Other", "mallory", &change);
    assert_eq!(again.await, taken);
    let unknown = Err(IdentityError::UnknownTenant("acme".to_owned()));
    assert_eq!(there.delete_tenant("acme").await, unknown);
    for wrong in ["", "-a", "A", "a/b", "..", &"a".repeat(65)] {
        let made = here.create_tenant(wrong, "Name", "alice", &change).await;
        let refused = matches!(
            made,
            Err(IdentityError::Invalid {
                field: "tenant",
                ..
            })
        );
        assert!(refused, "{wrong}");
    }
}

#[tokio::test]
async fn a_token_is_good_until_it_is_revoked_or_its_member_goes() {
    let [here, there] = two();
    let tenant = acme(&here).await;
    set(&here, &tenant, "bob", Role::Owner, Role::Member)
        .await
        .expect("a member");
    let (token, secret) = here
        .create_token(&tenant, of("bob"))
        .await
        .expect("a token");
    let secret = secret.reveal();
    assert!(secret.starts_with("dgm_") && secret.len() == 4 + 16 + 1 + 64);
    there.changed();
    let caller = there.by_token(&secret).await.expect("a lookup");
    let caller = caller.expect("a caller");
    assert_eq!((caller.member.as_str(), caller.role), ("bob", Role::Member));
    let mut wrong = secret.clone();
    wrong.replace_range(
        secret.len() - 1..,
        if secret.ends_with('0') { "1" } else { "0" },
    );
    for wrong in [
        wrong.as_str(),
        "",
        "dgm_",
        &secret[..secret.len() - 1],
        "dgm__",
    ] {
        assert_eq!(there.by_token(wrong).await, Ok(None), "{wrong}");
    }
    set(&here, &tenant, "bob", Role::Owner, Role::Viewer)
        .await
        .expect("changed");
    let now = renewed(&here, &caller).await.expect("still somebody");
    assert_eq!(now.role, Role::Viewer);
    here.revoke_token(&tenant, &token.id)
        .await
        .expect("revoked");
    assert_eq!(renewed(&here, &caller).await, None);
    assert_eq!(here.by_token(&secret).await, Ok(None));
    let gone = here.revoke_token(&tenant, &token.id).await;
    assert_eq!(gone, Err(IdentityError::UnknownToken(token.id)));
    let (_, secret) = here
        .create_token(&tenant, of("bob"))
        .await
        .expect("a token");
    let secret = secret.reveal();
    let caller = here
        .by_token(&secret)
        .await
        .expect("a lookup")
        .expect("bob");
    here.remove_member(&tenant, "bob", Role::Owner)
        .await
        .expect("removed");
    assert_eq!(renewed(&here, &caller).await, None);
    // Who comes back under the same id does not get the old token back.
    set(&here, &tenant, "bob", Role::Owner, Role::Owner)
        .await
        .expect("a member");
    assert_eq!(here.by_token(&secret).await, Ok(None));
}

#[tokio::test]
async fn a_token_allows_no_more_than_its_member_and_ends_in_time() {
    let [here, _] = two();
    let tenant = acme(&here).await;
    let later = now().plus_millis(60_000);
    let new = NewToken {
        role: Some(Role::Admin),
        dialects: vec!["codex".into()],
        expires_at: Some(later),
        ..of("alice")
    };
    let (token, secret) = here.create_token(&tenant, new).await.expect("a token");
    let people = here.people().await.expect("people");
    let secret = secret.reveal();
    let caller = people.by_token(&secret, now()).expect("alice");
    assert_eq!(caller.role, Role::Admin);
    assert!(caller.speaks("codex") && !caller.speaks("cowork"));
    assert_eq!(caller.expires_at(), Some(later));
    assert_eq!(people.by_token(&secret, later), None);
    assert_eq!(people.renew(&caller, later), None);
    // Neither is within the other: then it is what the member is.
    assert_eq!(token.role_for(Role::BillingAdmin), Role::BillingAdmin);
    assert_eq!(token.role_for(Role::Viewer), Role::Viewer);
    let past = NewToken {
        expires_at: Some(Timestamp(1)),
        ..of("alice")
    };
    let refused = here.create_token(&tenant, past).await;
    assert!(matches!(
        refused,
        Err(IdentityError::Invalid {
            field: "expires",
            ..
        })
    ));
}

#[tokio::test]
async fn secrets_are_not_kept_and_uses_are() {
    let world = MemoryWorld::new();
    let store: SharedStore = Arc::new(world.open());
    let here = Directory::new(Arc::clone(&store));
    let tenant = acme(&here).await;
    let (token, secret) = here
        .create_token(&tenant, of("alice"))
        .await
        .expect("a token");
    let secret = secret.reveal();
    let kept = store.records(&tenant, store::RecordKind::Token).await;
    let kept = kept.expect("records").records;
    let kept = String::from_utf8_lossy(&kept[0].value).into_owned();
    let (_, random) = secret.rsplit_once('_').expect("a secret");
    assert!(!kept.contains(random) && !format!("{token:?}").contains(random));
    assert_eq!(here.last_uses(&tenant).await, Ok(vec![]));
    let mut changes = here.changes();
    changes.mark_unchanged();
    for _ in 0..3 {
        assert!(here.by_token(&secret).await.expect("a lookup").is_some());
    }
    let used = async {
        loop {
            let uses = here.last_uses(&tenant).await.expect("uses");
            if let [(id, at)] = &uses[..] {
                return (id.clone(), *at);
            }
            tokio::task::yield_now().await;
        }
    };
    let (id, at) = used.await;
    assert_eq!(id, token.id);
    assert!(now().millis() - at.millis() < 60_000);
    assert!(!changes.has_changed().expect("open"), "a use is no change");
}

#[tokio::test]
async fn nobody_gives_more_than_they_have() {
    let [here, _] = two();
    let tenant = acme(&here).await;
    let give = async |id, by, role| {
        let given = set(&here, &tenant, id, by, role).await;
        given.map(|member| member.role)
    };
    let beyond = Err(IdentityError::Beyond { by: Role::Admin });
    assert_eq!(give("bob", Role::Admin, Role::Admin).await, Ok(Role::Admin));
    assert_eq!(give("bob", Role::Admin, Role::Owner).await, beyond);
    assert_eq!(give("carol", Role::Admin, Role::BillingAdmin).await, beyond);
    assert_eq!(give("alice", Role::Admin, Role::Viewer).await, beyond);
    let removed = here.remove_member(&tenant, "alice", Role::Admin).await;
    assert_eq!(removed, Err(IdentityError::Beyond { by: Role::Admin }));
}

#[tokio::test]
async fn the_own_tenants_owner_stays_and_others_may_join() {
    let [here, _] = two();
    let (local, me) = (Caller::local().tenant, Caller::local().member);
    let permanent = Err(IdentityError::Permanent(me.clone()));
    let demoted = set(&here, &local, &me, Role::Owner, Role::Viewer).await;
    assert_eq!(demoted.map(drop), permanent);
    assert_eq!(
        here.remove_member(&local, &me, Role::Owner).await,
        permanent
    );
    set(&here, &local, "bob", Role::Owner, Role::Owner)
        .await
        .expect("a member");
    here.remove_member(&local, "bob", Role::Owner)
        .await
        .expect("gone");
    assert!(!here.people().await.expect("people").has_tokens());
    let (_, secret) = here.create_token(&local, of(&me)).await.expect("a token");
    let people = here.people().await.expect("people");
    assert!(people.has_tokens());
    let caller = people.by_token(&secret.reveal(), now()).expect("me");
    assert_eq!((caller.tenant, caller.role), (local, Role::Owner));
}

#[tokio::test]
async fn two_processes_that_demote_the_last_two_owners_leave_one() {
    for _ in 0..20 {
        let [here, there] = two();
        let tenant = acme(&here).await;
        set(&here, &tenant, "bob", Role::Owner, Role::Owner)
            .await
            .expect("two owners");
        there.changed();
        let viewer = as_role(Role::Viewer);
        let (one, other) = tokio::join!(
            here.set_member(&tenant, "alice", Role::Owner, &viewer),
            there.remove_member(&tenant, "bob", Role::Owner),
        );
        assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
        there.changed();
        assert_eq!(owners(&there.people().await.expect("people"), &tenant), 1);
    }
}

fn owners(people: &People, tenant: &TenantId) -> usize {
    let members = people.members(tenant);
    members.filter(|member| member.role == Role::Owner).count()
}

/// What is done to one of four members, by whom: a new role, or none to remove it.
fn change() -> impl Strategy<Value = (usize, usize, Option<usize>)> {
    (
        0..4_usize,
        0..5_usize,
        proptest::option::weighted(0.7, 0..5_usize),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_changes_of_members_leave_a_tenant_without_an_owner(
        changes in proptest::collection::vec(change(), 1..40)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let [here, _] = two();
            let tenant = acme(&here).await;
            for (who, by, role) in changes {
                let (who, by) = (["alice", "bob", "carol", "dan"][who], Role::ALL[by]);
                // Refused or not: there is an owner.
                let _ = match role {
                    Some(role) => {
                        let change = as_role(Role::ALL[role]);
                        here.set_member(&tenant, who, by, &change).await.map(drop)
                    }
                    None => here.remove_member(&tenant, who, by).await,
                };
                let people = here.people().await.expect("people");
                assert!(owners(&people, &tenant) > 0);
            }
        });
    }
}

#[tokio::test]
async fn who_asked_first_and_is_not_polled_holds_nobody_up() {
    let [here, _] = two();
    let mut first = Box::pin(here.people());
    // It has begun, and is left alone.
    assert!(
        std::future::poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx)))
            .await
            .is_pending()
    );
    let second = tokio::time::timeout(Duration::from_secs(5), here.people()).await;
    assert!(second.expect("held up").is_ok());
}
