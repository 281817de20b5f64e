//! The sign-in of the Codex CLI, `auth.json` in its home.
//!
//! It is used when nothing of our own is saved. A refresh token can be used once: whoever renews
//! takes the sign-in away from every copy of it. So there is no copy. The session stays in the
//! Codex CLI's file, is read from there each time, and when we renew it we write the new tokens back
//! there, as a second Codex process would do. Only if that cannot be written are the new tokens kept
//! in our own file instead, and a warning says that the Codex CLI must sign in again.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::tokens::Tokens;
use super::{Proof, lock};

/// The provider that may use it.
pub const PROVIDER: &str = "codex-cli";

const FILE_BYTES_MAX: u64 = 1024 * 1024;

pub struct CodexHome {
    path: PathBuf,
}

impl CodexHome {
    pub fn new(home: PathBuf) -> Self {
        Self {
            path: home.join("auth.json"),
        }
    }

    pub fn read(&self) -> Option<Proof> {
        let root = self.load()?;
        let key = || {
            let key = root.get("OPENAI_API_KEY")?.as_str()?.trim();
            (!key.is_empty()).then(|| Proof::Key(key.into()))
        };
        let tokens = || Some(Proof::Tokens(Tokens::of_codex(root.get("tokens")?)?));
        if root.get("auth_mode").and_then(Value::as_str) == Some("apikey") {
            return key();
        }
        tokens().or_else(key)
    }

    /// Puts renewed tokens in the place of those they were renewed from; whether these were still
    /// there.
    pub fn replace(&self, old: &Tokens, new: &Tokens) -> io::Result<bool> {
        let Some(mut root) = self.load() else {
            return Ok(false);
        };
        let Some(tokens) = root.get_mut("tokens").and_then(Value::as_object_mut) else {
            return Ok(false);
        };
        let refresh = tokens.get("refresh_token").and_then(Value::as_str);
        if refresh != old.refresh.as_ref().map(ExposeSecret::expose_secret) {
            return Ok(false);
        }
        for (name, secret) in [
            ("access_token", Some(&new.access)),
            ("refresh_token", new.refresh.as_ref()),
            ("id_token", new.id.as_ref()),
        ] {
            if let Some(secret) = secret {
                tokens.insert(name.to_owned(), json!(secret.expose_secret()));
            }
        }
        root.insert(
            "last_refresh".to_owned(),
            json!(format!("{:.6}", jiff::Timestamp::now())),
        );
        let text = serde_json::to_vec_pretty(&root)?;
        lock::write_private(&self.path, &text)?;
        Ok(true)
    }

    fn load(&self) -> Option<Map<String, Value>> {
        let file = File::open(&self.path).ok()?;
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(auth: &Value) -> (tempfile::TempDir, CodexHome) {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("auth.json"), auth.to_string()).expect("written");
        let codex = CodexHome::new(home.path().to_owned());
        (home, codex)
    }

    #[test]
    fn tokens_come_before_a_key_unless_it_says_so() {
        let tokens = json!({"access_token": "a", "refresh_token": "r", "account_id": "acc"});
        let (_home, codex) = home(&json!({"OPENAI_API_KEY": "sk-1", "tokens": tokens}));
        assert!(matches!(codex.read(), Some(Proof::Tokens(_))));
        let (_home, codex) = home(&json!({"OPENAI_API_KEY": "sk-1", "tokens": null}));
        assert!(matches!(codex.read(), Some(Proof::Key(_))));
        let auth = json!({"auth_mode": "apikey", "OPENAI_API_KEY": "sk-1", "tokens": tokens});
        let (_home, codex) = home(&auth);
        assert!(matches!(codex.read(), Some(Proof::Key(_))));
        let (_home, codex) = home(&json!({"OPENAI_API_KEY": null}));
        assert!(codex.read().is_none());
        let (_home, codex) = home(&json!([1]));
        assert!(codex.read().is_none());
    }

    #[test]
    fn renewed_tokens_take_the_place_of_the_old_ones_only() {
        let auth = json!({
            "tokens": {"access_token": "a", "refresh_token": "r", "account_id": "acc"},
            "theirs": 1,
        });
        let (home, codex) = home(&auth);
        let old = Tokens::of_codex(&auth["tokens"]).expect("tokens");
        let answer = json!({"access_token": "a2", "refresh_token": "r2"});
        let new = Tokens::of_answer(&answer, Some(&old), 0).expect("tokens");
        assert!(codex.replace(&old, &new).expect("written"));
        let text = std::fs::read(home.path().join("auth.json")).expect("the file");
        let file: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(file["tokens"]["refresh_token"], "r2");
        assert_eq!(file["tokens"]["account_id"], "acc");
        assert_eq!(file["theirs"], 1);
        assert!(
            !codex.replace(&old, &new).expect("read"),
            "the old ones are gone"
        );
    }
}
