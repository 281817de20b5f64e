//! The member that a token names: known, or taken in when they come for the first time.

use store::RecordKind;
use vocabulary::{Member, Role, TenantId};

use super::{JwtSettings, VerifiedToken};
use crate::change::{Planned, change, put};
use crate::directory::now;
use crate::limits::MEMBERS_MAX;
use crate::members::{is_own_user, new_member};
use crate::{Directory, IdentityError, MemberChange};

impl Directory {
    /// Who a good token is; nobody, where they are no member and do not become one.
    pub async fn sign_in(
        &self,
        token: &VerifiedToken,
        settings: &JwtSettings,
    ) -> Result<Option<Member>, IdentityError> {
        let (tenant, id) = (&token.tenant, &token.subject);
        // Who runs this server is known by other means.
        if is_own_user(tenant, id) {
            return Ok(None);
        }
        let people = self.people().await?;
        let known = people.member(tenant, id);
        match known {
            Some(known) if token.email.is_none() || known.email == token.email => {
                return Ok(Some(known.clone()));
            }
            Some(_) => {}
            None if !settings.provisions() || tenant.as_str() == TenantId::LOCAL => {
                return Ok(None);
            }
            None if people.tenant(tenant).is_none() => {
                if !self.found_tenant(tenant).await? {
                    return Ok(None);
                }
            }
            None => {}
        }
        self.take_in(token).await
    }

    /// Makes the tenant that somebody is the first to come from; one that was deleted stays so.
    async fn found_tenant(&self, tenant: &TenantId) -> Result<bool, IdentityError> {
        match self.add_tenant(tenant.as_str(), tenant.as_str()).await {
            Ok(_) => Ok(true),
            // Somebody else was quicker, or it is not to be had.
            Err(IdentityError::TenantTaken(_)) => Ok(self.people().await?.tenant(tenant).is_some()),
            Err(error) => Err(error),
        }
    }

    async fn take_in(&self, token: &VerifiedToken) -> Result<Option<Member>, IdentityError> {
        let about = MemberChange {
            email: token.email.clone(),
            ..MemberChange::default()
        };
        let plan = |all: Vec<Member>| {
            let known = all.iter().find(|member| member.id == token.subject);
            let member = match known {
                // Only who may change members takes one back.
                Some(known) if known.removed_at.is_some() => return Ok(unchanged(None)),
                Some(known) if known.email == token.email => {
                    return Ok(unchanged(Some(known.clone())));
                }
                Some(known) => Member {
                    email: token.email.clone(),
                    updated_at: now(),
                    ..known.clone()
                },
                None if all.len() >= MEMBERS_MAX => return Ok(unchanged(None)),
                None => new_member(&token.subject, first_role(&all, token), &about, now())?,
            };
            Ok(Planned {
                changes: vec![put(RecordKind::Member, &member.id, &member)?],
                outcome: Some(member),
            })
        };
        let member = change(&self.store, &token.tenant, RecordKind::Member, plan).await?;
        self.changed();
        Ok(member)
    }
}

fn unchanged(outcome: Option<Member>) -> Planned<Option<Member>> {
    Planned {
        changes: Vec::new(),
        outcome,
    }
}

/// Somebody has to be able to do everything.
fn first_role(all: &[Member], token: &VerifiedToken) -> Role {
    let is_owner = |member: &Member| member.role == Role::Owner && member.removed_at.is_none();
    match all.iter().any(is_owner) {
        true => token.role.unwrap_or(Role::Member),
        false => Role::Owner,
    }
}
