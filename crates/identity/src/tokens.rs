//! API tokens: secrets of ours that let programs in, each for one member of one tenant.

use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use store::RecordKind;
use vocabulary::{
    Caller, CallerCredential, CredentialOrigin, Member, Role, Secret, TenantId, Timestamp,
};

use crate::change::{Planned, change, put, removed};
use crate::directory::{Directory, now};
use crate::limits::{NAME_CHARS_MAX, TOKENS_MAX, USE_WRITTEN_EVERY};
use crate::{IdentityError, People};

/// What every token begins with, so that people and secret scanners know it.
pub const TOKEN_PREFIX: &str = "dgm_";
/// 64 random bits name one, 256 prove it.
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// When one was used is no change of it: nobody has to hear of it.
const USED_SETTING: &str = "token-used/";

/// A token as it is kept: the secret itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    pub id: String,
    /// What it is for, in its maker's words.
    pub name: String,
    pub member: String,
    /// No more than this, and no more than the member; all that the member may when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The dialects it is good for; all of them when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialects: Vec<Box<str>>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// A fast hash is enough: nobody guesses 256 random bits.
    hash: String,
}

/// What a token is made with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewToken {
    pub name: String,
    pub member: String,
    pub role: Option<Role>,
    pub dialects: Vec<Box<str>>,
    pub expires_at: Option<Timestamp>,
}

impl ApiToken {
    fn expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= at)
    }

    /// What its holder may, where the member may this.
    pub fn role_for(&self, member: Role) -> Role {
        self.role
            .filter(|role| role.is_within(member))
            .unwrap_or(member)
    }

    fn caller(&self, tenant: &TenantId, member: &Member) -> Caller {
        let credential = CallerCredential {
            source: CredentialOrigin::ApiToken(self.id.as_str().into()),
            expires_at: self.expires_at,
            dialects: self.dialects.clone(),
        };
        Caller {
            tenant: tenant.clone(),
            member: member.id.clone(),
            role: self.role_for(member.role),
            via: None,
            email: member.email.as_deref().map(Into::into),
            credential: Some(Box::new(credential)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn random<const N: usize>() -> Result<String, IdentityError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    let failed = |_| IdentityError::Broken("this system gives no random numbers".to_owned());
    filled.map_err(failed)?;
    Ok(hex(&bytes))
}

/// The id and the secret of what looks like a token of ours.
fn parse(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.strip_prefix(TOKEN_PREFIX)?.split_once('_')?;
    let fits = |text: &str, bytes: usize| text.len() == 2 * bytes;
    (fits(id, ID_BYTES) && fits(secret, SECRET_BYTES)).then_some((id, secret))
}

impl Directory {
    /// Makes a token. The secret is told this once, and never again.
    pub async fn create_token(
        &self,
        tenant: &TenantId,
        new: NewToken,
    ) -> Result<(ApiToken, Secret), IdentityError> {
        let people = self.people().await?;
        if people.tenant(tenant).is_none() {
            return Err(IdentityError::UnknownTenant(tenant.to_string()));
        }
        if people.member(tenant, &new.member).is_none() {
            return Err(IdentityError::UnknownMember(new.member));
        }
        if new.name.chars().count() > NAME_CHARS_MAX || new.name.chars().any(char::is_control) {
            let message = format!("a name has at most {NAME_CHARS_MAX} characters");
            return Err(IdentityError::invalid("name", message));
        }
        if new.expires_at.is_some_and(|end| end <= now()) {
            let message = "a token must not have expired before it is made";
            return Err(IdentityError::invalid("expires", message));
        }
        let (id, secret) = (random::<ID_BYTES>()?, random::<SECRET_BYTES>()?);
        let token = ApiToken {
            hash: blake3::hash(secret.as_bytes()).to_hex().to_string(),
            id,
            name: new.name,
            member: new.member,
            role: new.role,
            dialects: new.dialects,
            created_at: now(),
            expires_at: new.expires_at,
        };
        let plan = |all: Vec<ApiToken>| {
            if all.len() >= TOKENS_MAX {
                let message = format!("a tenant has at most {TOKENS_MAX} tokens; revoke some");
                return Err(IdentityError::invalid("token", message));
            }
            Ok(Planned {
                changes: vec![put(RecordKind::Token, &token.id, &token)?],
                outcome: (),
            })
        };
        change(&self.store, tenant, RecordKind::Token, plan).await?;
        self.changed();
        let secret = Secret::new(format!("{TOKEN_PREFIX}{}_{secret}", token.id));
        Ok((token, secret))
    }

    /// From now on it lets nobody in, and who came in by it has to go.
    pub async fn revoke_token(&self, tenant: &TenantId, id: &str) -> Result<(), IdentityError> {
        let plan = |all: Vec<ApiToken>| match all.iter().any(|token| token.id == id) {
            true => Ok(Planned {
                changes: vec![removed(RecordKind::Token, id)],
                outcome: (),
            }),
            false => Err(IdentityError::UnknownToken(id.to_owned())),
        };
        change(&self.store, tenant, RecordKind::Token, plan).await?;
        self.changed();
        self.store
            .remove_setting(tenant, &format!("{USED_SETTING}{id}"))
            .await?;
        Ok(())
    }

    /// They are worth nothing already: this only clears them away.
    pub(crate) async fn remove_tokens_of(
        &self,
        tenant: &TenantId,
        member: &str,
    ) -> Result<(), IdentityError> {
        let plan = |all: Vec<ApiToken>| {
            let theirs = all.iter().filter(|token| token.member == member);
            let changes = theirs.map(|token| removed(RecordKind::Token, &token.id));
            let changes = changes.collect();
            Ok(Planned {
                changes,
                outcome: (),
            })
        };
        change(&self.store, tenant, RecordKind::Token, plan).await?;
        self.changed();
        Ok(())
    }

    /// When each token of a tenant was last used, by id; to a minute.
    pub async fn last_uses(
        &self,
        tenant: &TenantId,
    ) -> Result<Vec<(String, Timestamp)>, IdentityError> {
        let found = self.store.settings_of(tenant, USED_SETTING).await?;
        let uses = found.into_iter().filter_map(|(name, at)| {
            let id = name.strip_prefix(USED_SETTING)?;
            Some((id.to_owned(), Timestamp(at.parse().ok()?)))
        });
        Ok(uses.collect())
    }

    /// Whose token this is. That it was used is written beside, and seldom.
    pub async fn by_token(&self, token: &str) -> Result<Option<Caller>, IdentityError> {
        let people = self.people().await?;
        let caller = people.by_token(token, now());
        if let Some((caller, id)) = caller.as_ref().zip(parse(token).map(|(id, _)| id)) {
            self.note_use(&caller.tenant, id);
        }
        Ok(caller)
    }

    fn note_use(&self, tenant: &TenantId, id: &str) {
        let at = now();
        let every = USE_WRITTEN_EVERY.as_millis() as i64;
        {
            let mut used = self.used.lock();
            let before = used.get(id).copied().unwrap_or_default();
            if at.millis() - before.millis() < every {
                return;
            }
            used.insert(id.to_owned(), at);
        }
        let store = self.store.clone();
        let (tenant, name) = (tenant.clone(), format!("{USED_SETTING}{id}"));
        tokio::spawn(async move {
            let at = at.millis().to_string();
            if let Err(error) = store.set_setting(&tenant, &name, &at).await {
                tracing::debug!(%error, "that a token was used is not written");
            }
        });
    }
}

impl People {
    /// Of one tenant, by id.
    pub fn tokens(&self, tenant: &TenantId) -> impl Iterator<Item = &ApiToken> {
        let of = self
            .tokens
            .values()
            .filter(move |(known, _)| known == tenant);
        of.map(|(_, token)| token)
    }

    /// Whether there is a token at all: then our own user has to show one, too.
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Whose token this is. A wrong one takes as long, whichever part of it is wrong.
    pub fn by_token(&self, token: &str, at: Timestamp) -> Option<Caller> {
        let (id, secret) = parse(token).unwrap_or_default();
        let hash = blake3::hash(secret.as_bytes());
        let known = self.tokens.get(id);
        let expected = known.and_then(|(_, token)| blake3::Hash::from_hex(&token.hash).ok());
        // Compared in constant time. What is hashed here is never empty: no record has this hash.
        let expected = expected.unwrap_or_else(|| blake3::hash(b""));
        let (tenant, token) = known.filter(|_| hash == expected)?;
        self.holder(tenant, token, at)
    }

    /// Who a caller is by now; none where they are nobody any more.
    pub fn renew(&self, caller: &Caller, at: Timestamp) -> Option<Caller> {
        let Some(credential) = &caller.credential else {
            return Some(caller.clone());
        };
        let renewed = match &credential.source {
            CredentialOrigin::ApiToken(id) => {
                let (tenant, token) = self.tokens.get(&**id)?;
                self.holder(tenant, token, at)?
            }
            CredentialOrigin::SignIn { .. } => {
                let member = self.member(&caller.tenant, &caller.member)?;
                Caller {
                    role: member.role,
                    ..caller.clone()
                }
            }
        };
        Some(Caller {
            via: caller.via.clone(),
            ..renewed
        })
    }

    fn holder(&self, tenant: &TenantId, token: &ApiToken, at: Timestamp) -> Option<Caller> {
        let member = self.member(tenant, &token.member)?;
        (!token.expired(at)).then(|| token.caller(tenant, member))
    }
}
