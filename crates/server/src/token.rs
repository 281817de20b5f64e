//! The shared secret that lets a client in.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, bail};

use crate::limits::TOKEN_BYTES_MIN;

/// Where a token may come from, besides a file: never a flag, which every user of a machine sees.
pub const TOKEN_VARIABLE: &str = "DRAGOMAN_TOKEN";

/// Only a hash is kept: what is not in memory cannot be logged, and comparing hashes takes the
/// same time for every wrong guess, whatever its length.
#[derive(Clone)]
pub struct Token(blake3::Hash);

impl Token {
    pub fn new(secret: &str) -> anyhow::Result<Self> {
        let secret = secret.trim();
        if secret.len() < TOKEN_BYTES_MIN {
            bail!(
                "the token is too short to be safe; use at least {TOKEN_BYTES_MIN} characters, \
                 for example from `openssl rand -hex 32`"
            );
        }
        Ok(Self(blake3::hash(secret.as_bytes())))
    }

    /// Of a file that only we may read.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let secret = read_private(path)
            .with_context(|| format!("cannot use the token file {}", path.display()))?;
        Self::new(&secret)
    }

    pub fn is(&self, candidate: &str) -> bool {
        self.0 == blake3::hash(candidate.as_bytes())
    }
}

/// A file that only we can read: who else reads the token is us to the server.
pub fn read_private(path: &Path) -> anyhow::Result<String> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o777;
    // What root gave to a group was given on purpose: so come the secrets of orchestrators.
    let given = metadata.uid() == 0 && !rustix::process::geteuid().is_root();
    let private = if given { 0o640 } else { 0o600 };
    if mode & 0o077 & !private != 0 {
        bail!(
            "other users may read it (its mode is {mode:03o}): run `chmod 600 {}`, and make a new \
             token if one of them could have",
            path.display()
        );
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "correct horse battery staple";

    #[test]
    fn only_the_whole_secret_is_it() {
        let token = Token::new(&format!("{SECRET}\n")).expect("long enough");
        assert!(token.is(SECRET));
        for wrong in ["", "correct", "correct horse battery staplf", &SECRET[1..]] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn neither_debug_nor_an_error_tells_it() {
        let token = Token::new(SECRET).expect("long enough");
        assert_eq!(format!("{token:?}"), "Token(redacted)");
        let error = Token::new("hunter2").expect_err("too short");
        assert!(!format!("{error:?}").contains("hunter2"));
    }

    #[test]
    fn a_token_file_that_others_may_read_is_refused_with_what_to_do() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, SECRET).expect("a file");
        let read = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("a mode");
            Token::read(&path)
        };
        for mode in [0o600, 0o400] {
            assert!(read(mode).is_ok_and(|token| token.is(SECRET)), "{mode:o}");
        }
        for mode in [0o644, 0o640, 0o604, 0o620, 0o666] {
            let error = format!("{:#}", read(mode).expect_err("others may read it"));
            let advice = format!("run `chmod 600 {}`", path.display());
            assert!(
                error.contains(&advice) && !error.contains(SECRET),
                "{error}"
            );
        }
    }
}
