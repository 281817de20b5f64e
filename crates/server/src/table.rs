//! Which path and which listener speak which dialect.

use std::str::FromStr;

use anyhow::{Context, bail};
use dialects::codex::{Codex, Endpoint};
use dialects::cowork::Cowork;
use dialects::cowork::v1::Cowork1;
use dialects::diminuendo::Diminuendo;
use dialects::pioneer::Pioneer;
use dialects::{Dialect, Hello};

/// Makes the dialect of one new connection.
pub type Make = fn(&Hello) -> Box<dyn Dialect>;

/// Where and to whom one dialect is spoken.
pub struct Tongue {
    /// What `--listen` calls it.
    pub name: &'static str,
    pub make: Make,
    /// Its paths on the main port.
    pub main: &'static [&'static str],
    /// Its paths on a port of its own, where clients look for them.
    pub own: &'static [&'static str],
    /// Whether its clients may say on the socket who they are.
    pub authenticates: bool,
}

/// A new dialect is an entry here.
pub const TONGUES: &[Tongue] = &[
    Tongue {
        name: COWORK,
        make: cowork,
        main: &["/ws"],
        own: &["/ws"],
        authenticates: false,
    },
    Tongue {
        name: "cowork1",
        make: |_| Box::new(Cowork1::default()),
        main: &[],
        own: &["/ws"],
        authenticates: false,
    },
    Tongue {
        name: "diminuendo",
        make: |_| Box::new(Diminuendo::default()),
        main: &["/diminuendo"],
        own: &["/ws"],
        authenticates: true,
    },
    Tongue {
        name: ZANE,
        make: |_| Box::new(Codex::new(Endpoint::Zane)),
        main: &["/zane/ws", "/zane/ws/client", "/zane/ws/anchor"],
        own: &["/ws", "/ws/client", "/ws/anchor"],
        authenticates: false,
    },
    Tongue {
        name: "codex",
        make: |_| Box::new(Codex::new(Endpoint::Codex)),
        main: &["/codex"],
        own: &["/"],
        authenticates: false,
    },
    Tongue {
        name: "pioneer",
        make: |_| Box::new(Pioneer::default()),
        main: &["/pioneer"],
        own: &["/", "/{*any}"],
        authenticates: false,
    },
];

/// The one whose chunks can carry what a provider sent.
pub const COWORK: &str = "cowork";
/// The one whose clients look for a page at `/health`.
pub const ZANE: &str = "zane";

/// `?protocol=1` asks for the first version.
fn cowork(hello: &Hello) -> Box<dyn Dialect> {
    match hello.query("protocol") {
        Some("1") => Box::new(Cowork1::default()),
        Some(_) | None => Box::new(Cowork::new()),
    }
}

/// A dialect with a port of its own, as `--listen zane=8788` says.
#[derive(Clone)]
pub struct Listen {
    pub tongue: &'static Tongue,
    pub port: u16,
}

impl FromStr for Listen {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, port) = text
            .split_once('=')
            .with_context(|| format!("`{text}` is not DIALECT=PORT, like zane=8788"))?;
        let Some(tongue) = TONGUES.iter().find(|tongue| tongue.name == name) else {
            let names: Vec<_> = TONGUES.iter().map(|tongue| tongue.name).collect();
            bail!(
                "there is no dialect `{name}`; there are {}",
                names.join(", ")
            );
        };
        let port = port
            .parse()
            .with_context(|| format!("`{port}` is not a port"))?;
        Ok(Self { tongue, port })
    }
}

impl std::fmt::Debug for Listen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}={}", self.tongue.name, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_a_dialect_and_a_port() {
        let listen: Listen = "zane=8788".parse().expect("a listener");
        assert_eq!(format!("{listen:?}"), "zane=8788");
        let refused = |text: &str| Listen::from_str(text).expect_err(text).to_string();
        assert!(refused("zane").contains("DIALECT=PORT"));
        assert!(refused("klingon=1").contains("there are cowork, cowork1, diminuendo"));
        assert!(refused("codex=70000").contains("not a port"));
    }
}
