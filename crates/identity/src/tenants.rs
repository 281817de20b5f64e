//! Tenants: who has threads, members and tokens of its own.

use serde::{Deserialize, Serialize};
use store::RecordKind;
use vocabulary::{Role, TenantId, Timestamp};

use crate::change::{Planned, change, decode, put, removed};
use crate::directory::{Directory, now};
use crate::limits::{NAME_CHARS_MAX, TENANT_ID_CHARS_MAX};
use crate::members::{self, MemberChange};
use crate::tokens::ApiToken;
use crate::{IdentityError, People};

/// Under which tenant id the tenants themselves are kept. It is no tenant's: theirs begin with a
/// letter or a digit.
pub(crate) const TENANTS: &str = ".tenants";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    pub created_at: Timestamp,
    /// Its record stays, so that its id is never given to somebody else with what is left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

impl Tenant {
    /// The one of this server's own user, which is always there.
    pub(crate) fn local() -> Self {
        Self {
            id: TenantId::new(TenantId::LOCAL),
            name: "this server's own user".to_owned(),
            created_at: Timestamp(0),
            deleted_at: None,
        }
    }
}

/// An id that can be a tenant's: it is a directory's name, too.
pub(crate) fn tenant_id(text: &str) -> Result<TenantId, IdentityError> {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    let begins = |byte: &u8| byte.is_ascii_alphanumeric();
    let good = text.len() <= TENANT_ID_CHARS_MAX
        && text.bytes().all(fits)
        && text.as_bytes().first().is_some_and(begins);
    match good {
        true => Ok(TenantId::new(text)),
        false => Err(IdentityError::invalid(
            "tenant",
            format!(
                "`{}` cannot be a tenant's id: that is 1 to {TENANT_ID_CHARS_MAX} of a-z, 0-9, _ \
                 and -, and begins with a letter or digit",
                text.escape_debug()
            ),
        )),
    }
}

impl Directory {
    /// Makes a tenant, with its first owner.
    pub async fn create_tenant(
        &self,
        id: &str,
        name: &str,
        owner: &str,
        about: &MemberChange,
    ) -> Result<Tenant, IdentityError> {
        members::new_member(owner, Role::Owner, about, now())?;
        let tenant = self.add_tenant(id, name).await?;
        // Nobody can come in before there is one.
        let owner_change = MemberChange {
            role: Some(Role::Owner),
            ..about.clone()
        };
        self.set_member(&tenant.id, owner, Role::Owner, &owner_change)
            .await?;
        Ok(tenant)
    }

    /// Makes a tenant in which nobody is yet.
    pub(crate) async fn add_tenant(&self, id: &str, name: &str) -> Result<Tenant, IdentityError> {
        let id = tenant_id(id)?;
        if name.trim().is_empty() || name.chars().count() > NAME_CHARS_MAX {
            let message = format!("a name has 1 to {NAME_CHARS_MAX} characters");
            return Err(IdentityError::invalid("name", message));
        }
        if id.as_str() == TenantId::LOCAL {
            return Err(IdentityError::TenantTaken(id.to_string()));
        }
        let tenant = Tenant {
            id: id.clone(),
            name: name.trim().to_owned(),
            created_at: now(),
            deleted_at: None,
        };
        let plan = |all: Vec<Tenant>| {
            if all.iter().any(|known| known.id == id) {
                return Err(IdentityError::TenantTaken(id.to_string()));
            }
            Ok(Planned {
                changes: vec![put(RecordKind::Tenant, id.as_str(), &tenant)?],
                outcome: (),
            })
        };
        let all = TenantId::new(TENANTS);
        change(&self.store, &all, RecordKind::Tenant, plan).await?;
        self.changed();
        Ok(tenant)
    }

    /// The tenant of this id, if it was shut.
    pub async fn shut_tenant(&self, id: &str) -> Result<Option<TenantId>, IdentityError> {
        let all = TenantId::new(TENANTS);
        let kept = self.store.records(&all, RecordKind::Tenant).await?;
        let all: Vec<Tenant> = decode(&kept.records)?;
        let shut = all.into_iter().filter(|tenant| tenant.deleted_at.is_some());
        Ok(shut
            .map(|tenant| tenant.id)
            .find(|shut| shut.as_str() == id))
    }

    /// Shuts a tenant: from now on it has no members and no tokens, and its id is not given again.
    pub async fn delete_tenant(&self, id: &str) -> Result<TenantId, IdentityError> {
        let unknown = |_| IdentityError::UnknownTenant(id.to_owned());
        let id = tenant_id(id).map_err(unknown)?;
        if id.as_str() == TenantId::LOCAL {
            return Err(IdentityError::Permanent(id.to_string()));
        }
        let plan = |all: Vec<Tenant>| {
            let known = all.into_iter().find(|tenant| tenant.id == id);
            let tenant = known.filter(|tenant| tenant.deleted_at.is_none());
            let deleted = Tenant {
                deleted_at: Some(now()),
                ..tenant.ok_or_else(|| IdentityError::UnknownTenant(id.to_string()))?
            };
            Ok(Planned {
                changes: vec![put(RecordKind::Tenant, id.as_str(), &deleted)?],
                outcome: (),
            })
        };
        let all = TenantId::new(TENANTS);
        change(&self.store, &all, RecordKind::Tenant, plan).await?;
        self.changed();
        // Dead already, because their tenant is; what is left of them is only cleared away.
        let plan = |all: Vec<ApiToken>| {
            let gone = all
                .iter()
                .map(|token| removed(RecordKind::Token, &token.id));
            Ok(Planned {
                changes: gone.collect(),
                outcome: (),
            })
        };
        change(&self.store, &id, RecordKind::Token, plan).await?;
        self.remove_all_members(&id).await?;
        self.changed();
        Ok(id)
    }
}

impl People {
    /// Those that are there, by id, `local` among them.
    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.tenants.values().map(|known| &known.tenant)
    }

    pub fn tenant(&self, id: &TenantId) -> Option<&Tenant> {
        self.tenants.get(id).map(|known| &known.tenant)
    }
}
