//! Everybody, as they are at one moment, in memory.

use std::collections::{BTreeMap, HashMap};

use store::{RecordKind, SharedStore};
use vocabulary::{Member, TenantId};

use crate::IdentityError;
use crate::change::decode;
use crate::members::{own_user, present};
use crate::tenants::{TENANTS, Tenant};
use crate::tokens::ApiToken;

#[derive(Debug, Default)]
pub struct People {
    pub(crate) tenants: BTreeMap<TenantId, TenantPeople>,
    /// Of all tenants, by id.
    pub(crate) tokens: HashMap<String, (TenantId, ApiToken)>,
}

#[derive(Debug)]
pub(crate) struct TenantPeople {
    pub tenant: Tenant,
    pub members: BTreeMap<String, Member>,
}

impl People {
    pub(crate) async fn load(store: &SharedStore) -> Result<Self, IdentityError> {
        let all = TenantId::new(TENANTS);
        let read = store.records(&all, RecordKind::Tenant).await?;
        let known: Vec<Tenant> = decode(&read.records)?;
        let known = known.into_iter().chain([Tenant::local()]);
        let mut people = People::default();
        for tenant in known.filter(|tenant| tenant.deleted_at.is_none()) {
            people.load_tenant(store, tenant).await?;
        }
        Ok(people)
    }

    async fn load_tenant(
        &mut self,
        store: &SharedStore,
        tenant: Tenant,
    ) -> Result<(), IdentityError> {
        let id = tenant.id.clone();
        let read = store.records(&id, RecordKind::Member).await?;
        let mut members = present(decode(&read.records)?);
        if id.as_str() == TenantId::LOCAL {
            members.push(own_user());
        }
        let members = members.into_iter().map(|each| (each.id.clone(), each));
        let members = members.collect();
        let read = store.records(&id, RecordKind::Token).await?;
        for token in decode::<ApiToken>(&read.records)? {
            self.tokens.insert(token.id.clone(), (id.clone(), token));
        }
        self.tenants.insert(id, TenantPeople { tenant, members });
        Ok(())
    }
}
