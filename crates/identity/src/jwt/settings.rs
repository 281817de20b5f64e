//! Which issuer's tokens are taken, and what is read from them.

use std::net::IpAddr;

use reqwest::Url;
use thiserror::Error;

/// The claim that names the tenant where nobody says otherwise.
pub const TENANT_CLAIM: &str = "tenant_id";
const NAME_CHARS_MAX: usize = 200;

/// What is wrong with a setting.
#[derive(Debug, Error)]
pub enum JwtSettingsError {
    #[error("`{0}` is no web address; give one like https://login.example")]
    NoAddress(String),
    #[error(
        "`{0}` must begin with https://, since whoever answers there decides who is let in; \
             http:// is for this machine's own addresses only"
    )]
    NotSafe(String),
    #[error("`{0}` may have no name, password, query or `#`")]
    TooMuch(String),
    #[error("give 1 to {NAME_CHARS_MAX} characters, not `{0}`")]
    NoName(String),
    #[error("auth-{0} is set, but no auth-issuer: name the issuer whose tokens are taken")]
    NoIssuer(&'static str),
}

/// As the operator has written it, each value checked by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthSettings {
    pub issuer: Option<String>,
    pub audience: Option<String>,
    pub jwks_url: Option<String>,
    pub tenant_claim: String,
    pub role_claim: Option<String>,
    pub provision: bool,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            issuer: None,
            audience: None,
            jwks_url: None,
            tenant_claim: TENANT_CLAIM.to_owned(),
            role_claim: None,
            provision: true,
        }
    }
}

impl AuthSettings {
    /// What it comes to; none where no issuer is named.
    pub fn jwt(&self) -> Result<Option<JwtSettings>, JwtSettingsError> {
        let Some(issuer) = &self.issuer else {
            return self.check_unused().map(|()| None);
        };
        issuer_url(issuer)?;
        let jwks_url = self.jwks_url.as_deref().map(safe_url).transpose()?;
        Ok(Some(JwtSettings {
            issuer: issuer.clone(),
            audience: self.audience.clone(),
            jwks_url,
            tenant_claim: self.tenant_claim.clone(),
            role_claim: self.role_claim.clone(),
            provision: self.provision,
        }))
    }

    /// Who sets one of these believes that it does something.
    fn check_unused(&self) -> Result<(), JwtSettingsError> {
        let usual = Self::default();
        let set = [
            ("audience", self.audience != usual.audience),
            ("jwks-url", self.jwks_url != usual.jwks_url),
            ("tenant-claim", self.tenant_claim != usual.tenant_claim),
            ("role-claim", self.role_claim != usual.role_claim),
            ("provision", self.provision != usual.provision),
        ];
        match set.into_iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(JwtSettingsError::NoIssuer(name)),
            None => Ok(()),
        }
    }
}

/// Settings that belong together and can be used.
#[derive(Clone, Debug)]
pub struct JwtSettings {
    issuer: String,
    audience: Option<String>,
    jwks_url: Option<Url>,
    tenant_claim: String,
    role_claim: Option<String>,
    provision: bool,
}

impl JwtSettings {
    /// Exactly as tokens have it in `iss`.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn audience(&self) -> Option<&str> {
        self.audience.as_deref()
    }

    /// Where the keys are; found by discovery if it is not said.
    pub fn jwks_url(&self) -> Option<&Url> {
        self.jwks_url.as_ref()
    }

    pub fn tenant_claim(&self) -> &str {
        &self.tenant_claim
    }

    pub fn role_claim(&self) -> Option<&str> {
        self.role_claim.as_deref()
    }

    /// Whether who comes for the first time becomes a member.
    pub fn provisions(&self) -> bool {
        self.provision
    }
}

/// An address that nobody on the way can answer for.
pub fn safe_url(text: &str) -> Result<Url, JwtSettingsError> {
    let url = Url::parse(text).map_err(|_| JwtSettingsError::NoAddress(text.to_owned()))?;
    let safe = match url.scheme() {
        "https" => url.has_host(),
        "http" => is_this_machine(&url),
        // tidy: wildcard, because every other scheme is none that we can ask.
        _ => false,
    };
    if !safe {
        return Err(JwtSettingsError::NotSafe(text.to_owned()));
    }
    let named = !url.username().is_empty() || url.password().is_some();
    if named || url.fragment().is_some() {
        return Err(JwtSettingsError::TooMuch(without_name(url)));
    }
    Ok(url)
}

/// The address of an issuer, which others are made from.
pub fn issuer_url(text: &str) -> Result<Url, JwtSettingsError> {
    let url = safe_url(text)?;
    match url.query() {
        Some(_) => Err(JwtSettingsError::TooMuch(without_name(url))),
        None => Ok(url),
    }
}

/// The name of a claim or an audience.
pub fn plain_name(text: &str) -> Result<String, JwtSettingsError> {
    let fits = (1..=NAME_CHARS_MAX).contains(&text.chars().count());
    match fits && !text.chars().any(char::is_control) {
        true => Ok(text.to_owned()),
        false => Err(JwtSettingsError::NoName(text.to_owned())),
    }
}

pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// A password does not belong into an error.
fn without_name(mut url: Url) -> String {
    // Fails only for addresses without a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_or_of_this_machine() {
        for good in [
            "https://login.example/",
            "https://login.example/realms/a?b=c",
            "http://localhost:4000",
            "http://127.0.0.1:4000/jwks",
            "http://[::1]:4000",
        ] {
            assert!(safe_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://login.example",
            "http://localhost.evil.example",
            "http://128.0.0.1",
            "ftp://login.example",
            "file:///etc/passwd",
            "login.example",
            "",
            "https://ada:secret@login.example",
            "https://login.example/#keys",
        ] {
            let error = safe_url(bad).expect_err(bad).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(issuer_url("https://login.example?tenant=1").is_err());
    }

    #[test]
    fn a_setting_that_would_do_nothing_is_refused() {
        let usual = AuthSettings::default();
        assert!(usual.jwt().expect("nothing is set").is_none());
        for (name, settings) in [
            (
                "audience",
                AuthSettings {
                    audience: Some("a".to_owned()),
                    ..usual.clone()
                },
            ),
            (
                "tenant-claim",
                AuthSettings {
                    tenant_claim: "org".to_owned(),
                    ..usual.clone()
                },
            ),
            (
                "provision",
                AuthSettings {
                    provision: false,
                    ..usual.clone()
                },
            ),
        ] {
            let error = settings.jwt().expect_err(name).to_string();
            assert!(error.starts_with(&format!("auth-{name} is set")), "{error}");
        }
        let issuer = Some("https://login.example".to_owned());
        let jwt = AuthSettings { issuer, ..usual }
            .jwt()
            .expect("good settings");
        let jwt = jwt.expect("an issuer");
        assert_eq!((jwt.tenant_claim(), jwt.provisions()), (TENANT_CLAIM, true));
    }
}
