//! Credentials: what was saved, what the environment gives, and signing in.

pub(crate) mod aws_keys;
pub(crate) mod codex_home;
pub(crate) mod connections;
pub(crate) mod device;
pub(crate) mod google_file;
pub(crate) mod http;
pub(crate) mod lock;
pub(crate) mod oauth;
pub(crate) mod renewal;
pub(crate) mod sign_in;
pub(crate) mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::catalog::merged::{CatalogEntry, Environment, first_set};
use aws_keys::AwsKeys;
use codex_home::CodexHome;
use connections::{Connections, ConnectionsError, Saved, SavedService};
use tokens::Tokens;

/// A longer key is a mistake of pasting.
pub(crate) const KEY_BYTES_MAX: usize = 4096;

/// Something to show to a provider.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    pub proof: Proof,
    pub source: CredentialSource,
}

#[derive(Clone, Debug)]
pub(crate) enum Proof {
    Key(SecretString),
    Tokens(Tokens),
    /// A credential file of Google's, which is exchanged for tokens.
    GoogleFile(PathBuf),
    /// The keys of an AWS account, which sign each request.
    AwsKeys(AwsKeys),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialSource {
    /// In our own file, since then (milliseconds since 1970).
    Saved { at: i64 },
    /// In this variable.
    Environment { variable: String },
    /// In the file of the Codex CLI.
    CodexHome,
    /// In the file of who runs the server, for those it is shared with.
    SharedByOperator,
}

/// Where the credentials of this person are.
pub(crate) struct Accounts {
    pub connections: Arc<Connections>,
    pub codex: Option<CodexHome>,
    environment: Arc<Environment>,
    /// Keys of somebody else that are used where nothing of one's own was saved. Only read, and only
    /// keys: a sign-in is a person's, and renewing it would take it away from them.
    shared: Option<Connections>,
}

impl Accounts {
    pub fn new(
        auth_directory: PathBuf,
        codex_home: Option<PathBuf>,
        environment: Arc<Environment>,
    ) -> Self {
        Self {
            connections: Arc::new(Connections::new(auth_directory)),
            codex: codex_home.map(CodexHome::new),
            environment,
            shared: None,
        }
    }

    /// Also with the keys that lie in this directory.
    pub fn sharing(self, auth_directory: Option<PathBuf>) -> Self {
        Self {
            shared: auth_directory.map(Connections::new),
            ..self
        }
    }

    /// What would be used for this provider: what was saved, else the environment, else what the
    /// Codex CLI has. A file that cannot be read is an error only if nothing else is there.
    pub fn credential(&self, entry: &CatalogEntry) -> Result<Option<Credential>, ConnectionsError> {
        let saved = self.connections.read();
        if let Ok(saved) = &saved
            && let Some(credential) = saved_credential(saved, &entry.provider.id)
        {
            return Ok(Some(credential));
        }
        if let Some(credential) = self.shared_credential(&entry.provider.id) {
            return Ok(Some(credential));
        }
        let given = self.environment_credential(entry);
        if let Some(credential) = given.or_else(|| self.cloud_credential(entry)) {
            return Ok(Some(credential));
        }
        let saved = saved?;
        if entry.provider.id != codex_home::PROVIDER || saved.ignores_codex_home {
            return Ok(None);
        }
        let found = self.codex.as_ref().and_then(CodexHome::read);
        Ok(found.map(|proof| Credential {
            proof,
            source: CredentialSource::CodexHome,
        }))
    }

    fn shared_credential(&self, provider: &str) -> Option<Credential> {
        let saved = self.shared.as_ref()?.read().ok()?;
        let key = saved.services.get(provider)?.api_key.clone()?;
        Some(Credential {
            proof: Proof::Key(key),
            source: CredentialSource::SharedByOperator,
        })
    }

    fn environment_credential(&self, entry: &CatalogEntry) -> Option<Credential> {
        let endpoint = entry.provider.endpoint.as_ref()?;
        let (variable, key) = first_set(Some(&endpoint.key_env), &self.environment)
            .or_else(|| first_set(Some(&endpoint.bearer_env), &self.environment))?;
        Some(Credential {
            proof: Proof::Key(key.into()),
            source: CredentialSource::Environment {
                variable: variable.to_owned(),
            },
        })
    }

    /// What the owner of a cloud gives in place of a key.
    fn cloud_credential(&self, entry: &CatalogEntry) -> Option<Credential> {
        let endpoint = entry.provider.endpoint.as_ref()?;
        let file = first_set(Some(&endpoint.google_file_env), &self.environment);
        let file = file.map(|(name, path)| (name, Proof::GoogleFile(PathBuf::from(path))));
        let aws = || {
            let service = endpoint.aws_service.as_deref()?;
            let (name, keys) = AwsKeys::of(&self.environment, service)?;
            Some((name, Proof::AwsKeys(keys)))
        };
        let (variable, proof) = file.or_else(aws)?;
        let variable = variable.to_owned();
        Some(Credential {
            proof,
            source: CredentialSource::Environment { variable },
        })
    }

    /// Whatever is in the files of keys and sign-ins.
    pub fn saved_secrets(&self) -> Vec<SecretString> {
        let files = [Some(&*self.connections), self.shared.as_ref()];
        let saved = files.into_iter().flatten();
        let saved = saved.filter_map(|file| file.read().ok());
        let mut secrets: Vec<_> = saved.flat_map(|saved| saved.secrets()).collect();
        let codex = self.codex.as_ref().and_then(CodexHome::read);
        secrets.extend(match codex {
            Some(Proof::Key(key)) => vec![key],
            Some(Proof::Tokens(tokens)) => tokens.secrets().cloned().collect(),
            Some(Proof::GoogleFile(_) | Proof::AwsKeys(_)) | None => Vec::new(),
        });
        secrets
    }

    /// The key of a tool, such as a web search: saved, or in `<TOOL>_API_KEY`.
    pub fn tool_key(&self, tool: &str) -> Option<SecretString> {
        let saved = self.connections.read().ok();
        let saved = saved.and_then(|saved| saved.tool_keys.get(tool).cloned());
        let shared = || {
            let shared = self.shared.as_ref()?.read().ok()?;
            shared.tool_keys.get(tool).cloned()
        };
        saved.or_else(shared).or_else(|| {
            let variable = format!("{}_API_KEY", tool.to_ascii_uppercase());
            let names = [variable];
            first_set(Some(&names), &self.environment).map(|(_, key)| key.into())
        })
    }
}

fn saved_credential(saved: &Saved, provider: &str) -> Option<Credential> {
    let service: &SavedService = saved.services.get(provider)?;
    let proof = match (&service.tokens, &service.api_key) {
        (Some(tokens), None) => Proof::Tokens(tokens.clone()),
        (Some(tokens), Some(_)) if service.mode == connections::OAUTH => {
            Proof::Tokens(tokens.clone())
        }
        (_, Some(key)) => Proof::Key(key.clone()),
        (None, None) => return None,
    };
    Some(Credential {
        proof,
        source: CredentialSource::Saved { at: service.at },
    })
}

/// A key as it may be shown.
pub(crate) fn mask(key: &SecretString) -> String {
    let characters: Vec<char> = key.expose_secret().chars().collect();
    let count = characters.len();
    if count <= 8 {
        // Never fewer than four, so that nobody reads a tiny key off its mask.
        return "*".repeat(count.max(4));
    }
    let first: String = characters[..4].iter().collect();
    let last: String = characters[count - 4..].iter().collect();
    format!("{first}...{last}")
}

/// A key as it was pasted, made fit to be a header.
pub(crate) fn cleaned_key(key: &SecretString) -> Result<SecretString, &'static str> {
    let key = key.expose_secret().trim();
    if key.is_empty() {
        return Err("the key is empty");
    }
    if key.len() > KEY_BYTES_MAX {
        return Err("the key is too long to be one");
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the key holds characters that no key has: paste it again");
    }
    Ok(key.into())
}

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_shows_four_characters_at_each_end_or_none() {
        let masked = |key: &str| mask(&key.into());
        assert_eq!(masked("sk-proj-abcdefgh1234"), "sk-p...1234");
        assert_eq!(masked("123456789"), "1234...6789");
        assert_eq!(masked("12345678"), "********");
        assert_eq!(masked("abc"), "****");
        assert_eq!(masked(""), "****");
        assert_eq!(masked("äöü-schlüssel"), "äöü-...ssel");
    }

    #[test]
    fn a_pasted_key_is_cleaned_or_refused() {
        let cleaned = |key: &str| cleaned_key(&key.into());
        assert_eq!(cleaned(" sk-1 \n").expect("a key").expose_secret(), "sk-1");
        for broken in [
            "",
            "  ",
            "a b",
            "a\nb",
            "schlüssel",
            &"x".repeat(KEY_BYTES_MAX + 1),
        ] {
            assert!(cleaned(broken).is_err(), "{broken:?}");
        }
    }
}
