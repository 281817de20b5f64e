//! Who becomes a member by a token, and as what.

use std::sync::Arc;

use store::testing::memory::MemoryWorld;
use vocabulary::{Role, TenantId};

use super::*;
use crate::{Directory, MemberChange};

fn directory() -> Directory {
    Directory::new(Arc::new(MemoryWorld::new().open()))
}

fn token(subject: &str, tenant: &str, role: Option<Role>) -> VerifiedToken {
    VerifiedToken {
        subject: subject.to_owned(),
        email: Some(format!("{subject}@{tenant}.example")),
        tenant: TenantId::new(tenant),
        role,
        expires_at: NOW,
    }
}

fn only_members() -> JwtSettings {
    let settings = AuthSettings {
        issuer: Some(ISSUER.to_owned()),
        provision: false,
        ..AuthSettings::default()
    };
    settings.jwt().expect("good settings").expect("an issuer")
}

async fn role(directory: &Directory, token: &VerifiedToken) -> Option<Role> {
    let member = directory.sign_in(token, &settings()).await;
    member.expect("a lookup").map(|member| member.role)
}

#[tokio::test]
async fn the_first_of_a_tenant_owns_it_and_others_are_what_their_token_says() {
    let people = directory();
    let ada = token("ada", "north", Some(Role::Viewer));
    assert_eq!(role(&people, &ada).await, Some(Role::Owner));
    let bob = token("bob", "north", Some(Role::Viewer));
    assert_eq!(role(&people, &bob).await, Some(Role::Viewer));
    let eve = token("eve", "north", None);
    assert_eq!(role(&people, &eve).await, Some(Role::Member));
    // From then on they are what they are here.
    let grown = token("eve", "north", Some(Role::Admin));
    assert_eq!(role(&people, &grown).await, Some(Role::Member));
    let other = token("ada", "south", None);
    assert_eq!(role(&people, &other).await, Some(Role::Owner));
    let known = people.people().await.expect("people");
    assert_eq!(known.members(&TenantId::new("north")).count(), 3);
}

#[tokio::test]
async fn many_who_come_at_once_leave_one_owner() {
    let people = directory();
    let tokens: Vec<_> = (0..12)
        .map(|number| token(&format!("user{number}"), "north", None))
        .collect();
    let roles = futures_util::future::join_all(tokens.iter().map(|each| role(&people, each))).await;
    let owners = roles.iter().filter(|role| **role == Some(Role::Owner));
    assert_eq!((owners.count(), roles.len()), (1, 12));
    assert!(roles.iter().all(Option::is_some));
}

#[tokio::test]
async fn who_was_taken_out_does_not_come_back_by_signing_in() {
    let people = directory();
    let (ada, bob) = (token("ada", "north", None), token("bob", "north", None));
    role(&people, &ada).await;
    role(&people, &bob).await;
    let north = TenantId::new("north");
    let removed = people.remove_member(&north, "bob", Role::Owner).await;
    removed.expect("bob is removed");
    assert_eq!(role(&people, &bob).await, None);
    let back = MemberChange::default();
    let back = people.set_member(&north, "bob", Role::Owner, &back).await;
    back.expect("bob is back");
    assert_eq!(role(&people, &bob).await, Some(Role::Member));
    people.delete_tenant("north").await.expect("it is deleted");
    assert_eq!(role(&people, &ada).await, None);
}

#[tokio::test]
async fn where_nobody_is_taken_in_only_members_are_known() {
    let people = directory();
    let settings = only_members();
    let ada = token("ada", "north", None);
    assert_eq!(people.sign_in(&ada, &settings).await, Ok(None));
    let about = MemberChange::default();
    let made = people.create_tenant("north", "North", "ada", &about).await;
    made.expect("a tenant");
    let known = people.sign_in(&ada, &settings).await.expect("a lookup");
    let known = known.expect("a member");
    assert_eq!(known.email, ada.email);
    let bob = token("bob", "north", None);
    assert_eq!(people.sign_in(&bob, &settings).await, Ok(None));
}

#[tokio::test]
async fn the_servers_own_tenant_takes_nobody_in() {
    let people = directory();
    let (ada, owner) = (token("ada", "local", None), token("owner", "local", None));
    assert_eq!(role(&people, &ada).await, None);
    assert_eq!(role(&people, &owner).await, None);
    let (local, about) = (TenantId::new("local"), MemberChange::default());
    let made = people.set_member(&local, "ada", Role::Owner, &about).await;
    made.expect("a member");
    assert_eq!(role(&people, &ada).await, Some(Role::Member));
}
