//! The catalog: which providers and models there are, and which of them can be used.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ModelRef, PermissionOffer, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    pub providers: Vec<CatalogProvider>,
    /// What a thread uses that names nothing else.
    pub default: ModelRef,
    /// What else there is to choose for a thread.
    #[serde(default)]
    pub permissions: PermissionOffer,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogProvider {
    pub id: String,
    pub name: String,
    pub models: Vec<CatalogModel>,
    pub default_model: String,
    pub auth_methods: Vec<AuthMethod>,
    /// Whether it can be used right now.
    pub connected: bool,
}

/// One model, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogModel {
    pub id: String,
    pub name: String,
    /// Tokens it can read and write together.
    pub context: Option<u64>,
    pub output: Option<u64>,
    /// Micro-dollars for a million tokens.
    pub input_price: Option<u64>,
    pub output_price: Option<u64>,
    /// How hard it can think, from the least to the most.
    pub efforts: Vec<String>,
    pub default_effort: Option<String>,
    pub vision: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthMethod {
    ApiKey { id: String, label: String },
    OAuth { id: String, label: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderStatus {
    pub provider: String,
    pub mode: AuthMode,
    /// There is a credential.
    pub authorized: bool,
    /// The provider has accepted it.
    pub verified: bool,
    pub account: Option<Account>,
    pub message: String,
    /// Saved keys as they may be shown, by sign-in method.
    pub masks: BTreeMap<String, String>,
    pub checked_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthMode {
    Missing,
    Error,
    ApiKey,
    OAuth,
    OAuthPending,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub email: Option<String>,
    pub name: Option<String>,
}

/// What a client can want of the sign-in at a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignInCall {
    /// Answered with `Reply::Challenge`.
    Begin {
        provider: String,
        method: String,
    },
    /// Waits for the person, or completes with the code they entered. Answered with
    /// `Reply::SignedIn`, as are the next two.
    Finish {
        provider: String,
        method: String,
        code: Option<Secret>,
    },
    SetKey {
        provider: String,
        method: String,
        key: Secret,
    },
    SignOut {
        provider: String,
    },
}

/// What a person must do to sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Whether a code must be entered, rather than the sign-in completing by itself.
    pub needs_code: bool,
    pub instructions: String,
    pub url: Option<String>,
    pub expires_at: Option<Timestamp>,
}

/// How a sign-in ended. A failed one is an answer, not a refusal: nothing was wrong with the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    pub ok: bool,
    pub mode: Option<AuthMode>,
    pub message: String,
}

/// Text that must not be shown. It is written as nothing: who carries it somewhere does that on
/// purpose, see [`crate::CarriedCall`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str("")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(input)?;
        Ok(Self::default())
    }
}

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(self) -> String {
        self.0
    }

    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
