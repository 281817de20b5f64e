//! Members: who is in a tenant, and as what. There is always an owner.

use store::RecordKind;
use vocabulary::{Caller, Member, Role, TenantId, Timestamp};

use crate::change::{Planned, change, put, removed};
use crate::directory::{Directory, now};
use crate::limits::{EMAIL_BYTES_MAX, MEMBER_ID_BYTES_MAX, MEMBERS_MAX, NAME_CHARS_MAX};
use crate::{IdentityError, People};

/// What is to be set of a member; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberChange {
    /// Who is new and has no role given is a plain member.
    pub role: Option<Role>,
    pub email: Option<String>,
    pub name: Option<String>,
}

/// The one member that the tenant of this server's own user has without a record: whoever runs it.
pub(crate) fn own_user() -> Member {
    let caller = Caller::local();
    Member {
        id: caller.member,
        role: caller.role,
        email: None,
        name: None,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        removed_at: None,
    }
}

/// Those who were not taken out.
pub(crate) fn present(mut all: Vec<Member>) -> Vec<Member> {
    all.retain(|member| member.removed_at.is_none());
    all
}

pub(crate) fn is_own_user(tenant: &TenantId, id: &str) -> bool {
    let lone = Caller::local();
    *tenant == lone.tenant && id == lone.member
}

pub(crate) fn new_member(
    id: &str,
    role: Role,
    about: &MemberChange,
    at: Timestamp,
) -> Result<Member, IdentityError> {
    let good = !id.is_empty()
        && id.len() <= MEMBER_ID_BYTES_MAX
        && !id
            .chars()
            .any(|each| each.is_whitespace() || each.is_control());
    if !good {
        let message = format!(
            "a member's id has 1 to {MEMBER_ID_BYTES_MAX} bytes and no spaces, like alice or auth0|123"
        );
        return Err(IdentityError::invalid("userId", message));
    }
    let mut member = Member {
        id: id.to_owned(),
        role,
        email: None,
        name: None,
        created_at: at,
        updated_at: at,
        removed_at: None,
    };
    describe(&mut member, about)?;
    Ok(member)
}

fn describe(member: &mut Member, about: &MemberChange) -> Result<(), IdentityError> {
    if let Some(email) = &about.email {
        let whole = email.len() <= EMAIL_BYTES_MAX && email.contains('@');
        if !whole
            || email
                .chars()
                .any(|each| each.is_whitespace() || each.is_control())
        {
            let message = "an email is like alice@example.com";
            return Err(IdentityError::invalid("email", message));
        }
        member.email = Some(email.clone());
    }
    if let Some(name) = &about.name {
        if name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
            let message = format!("a name has at most {NAME_CHARS_MAX} characters");
            return Err(IdentityError::invalid("name", message));
        }
        member.name = Some(name.clone());
    }
    Ok(())
}

/// Whether somebody stays the owner when this member is not any more.
fn check_last_owner(
    tenant: &TenantId,
    all: &[Member],
    going: &Member,
) -> Result<(), IdentityError> {
    let is_other_owner = |each: &Member| each.role == Role::Owner && each.id != going.id;
    let stays = tenant.as_str() == TenantId::LOCAL || all.iter().any(is_other_owner);
    match going.role == Role::Owner && !stays {
        true => Err(IdentityError::LastOwner(going.id.clone())),
        false => Ok(()),
    }
}

/// Nobody gives more than they have, and nobody takes it from who has more.
fn check_within(by: Role, roles: &[Role]) -> Result<(), IdentityError> {
    match roles.iter().all(|role| role.is_within(by)) {
        true => Ok(()),
        false => Err(IdentityError::Beyond { by }),
    }
}

impl Directory {
    /// Whoever runs the server stays the owner of its own tenant.
    async fn check_changeable(&self, tenant: &TenantId, id: &str) -> Result<(), IdentityError> {
        self.check_tenant(tenant).await?;
        match is_own_user(tenant, id) {
            true => Err(IdentityError::Permanent(id.to_owned())),
            false => Ok(()),
        }
    }

    /// Changes a member, or makes one. `by` is the role of who wants it: owner for the operator.
    pub async fn set_member(
        &self,
        tenant: &TenantId,
        id: &str,
        by: Role,
        about: &MemberChange,
    ) -> Result<Member, IdentityError> {
        self.check_changeable(tenant, id).await?;
        let plan = |all: Vec<Member>| {
            let all = present(all);
            let known = all.iter().find(|member| member.id == id);
            let member = match known {
                Some(known) => {
                    let role = about.role.unwrap_or(known.role);
                    check_within(by, &[known.role, role])?;
                    if role != Role::Owner {
                        check_last_owner(tenant, &all, known)?;
                    }
                    let mut member = known.clone();
                    member.role = role;
                    describe(&mut member, about)?;
                    if member == *known {
                        return Ok(Planned {
                            changes: Vec::new(),
                            outcome: member,
                        });
                    }
                    member.updated_at = now();
                    member
                }
                None => {
                    let role = about.role.unwrap_or(Role::Member);
                    check_within(by, &[role])?;
                    if all.len() >= MEMBERS_MAX {
                        let message = format!("a tenant has at most {MEMBERS_MAX} members");
                        return Err(IdentityError::invalid("userId", message));
                    }
                    new_member(id, role, about, now())?
                }
            };
            Ok(Planned {
                changes: vec![put(RecordKind::Member, id, &member)?],
                outcome: member,
            })
        };
        let member = change(&self.store, tenant, RecordKind::Member, plan).await?;
        self.changed();
        Ok(member)
    }

    /// Takes a member out of a tenant; its tokens are worth nothing from then on.
    pub async fn remove_member(
        &self,
        tenant: &TenantId,
        id: &str,
        by: Role,
    ) -> Result<(), IdentityError> {
        self.check_changeable(tenant, id).await?;
        let plan = |all: Vec<Member>| {
            let all = present(all);
            let known = all.iter().find(|member| member.id == id);
            let known = known.ok_or_else(|| IdentityError::UnknownMember(id.to_owned()))?;
            check_within(by, &[known.role])?;
            check_last_owner(tenant, &all, known)?;
            let gone = Member {
                removed_at: Some(now()),
                ..known.clone()
            };
            Ok(Planned {
                changes: vec![put(RecordKind::Member, id, &gone)?],
                outcome: (),
            })
        };
        change(&self.store, tenant, RecordKind::Member, plan).await?;
        self.changed();
        self.remove_tokens_of(tenant, id).await
    }

    pub(crate) async fn remove_all_members(&self, tenant: &TenantId) -> Result<(), IdentityError> {
        let plan = |all: Vec<Member>| {
            let all = all.iter();
            let changes = all.map(|member| removed(RecordKind::Member, &member.id));
            let changes = changes.collect();
            Ok(Planned {
                changes,
                outcome: (),
            })
        };
        change(&self.store, tenant, RecordKind::Member, plan).await
    }

    pub(crate) async fn check_tenant(&self, tenant: &TenantId) -> Result<(), IdentityError> {
        match self.people().await?.tenant(tenant) {
            Some(_) => Ok(()),
            None => Err(IdentityError::UnknownTenant(tenant.to_string())),
        }
    }
}

impl People {
    /// Of one tenant, by id.
    pub fn members(&self, tenant: &TenantId) -> impl Iterator<Item = &Member> {
        let known = self.tenants.get(tenant);
        known.into_iter().flat_map(|known| known.members.values())
    }

    pub fn member(&self, tenant: &TenantId, id: &str) -> Option<&Member> {
        self.tenants.get(tenant)?.members.get(id)
    }
}
