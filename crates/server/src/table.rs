//! Which path speaks which dialect.

use dialects::codex::{Codex, Endpoint};
use dialects::cowork::Cowork;
use dialects::cowork::v1::Cowork1;
use dialects::diminuendo::Diminuendo;
use dialects::pioneer::Pioneer;
use dialects::{Dialect, Hello};

/// Makes the dialect of one new connection.
pub type Make = fn(&Hello) -> Box<dyn Dialect>;

/// The main port's paths. A new dialect is a line here.
pub const PATHS: &[(&str, Make)] = &[
    ("/ws", cowork),
    ("/diminuendo", |_| Box::new(Diminuendo::default())),
    ("/codex", |_| Box::new(Codex::new(Endpoint::Codex))),
    ("/zane/ws", |_| Box::new(Codex::new(Endpoint::Zane))),
    ("/zane/ws/client", |_| Box::new(Codex::new(Endpoint::Zane))),
    ("/zane/ws/anchor", |_| Box::new(Codex::new(Endpoint::Zane))),
    ("/pioneer", |_| Box::new(Pioneer::default())),
];

/// `?protocol=1` asks for the first version.
fn cowork(hello: &Hello) -> Box<dyn Dialect> {
    match hello.query("protocol") {
        Some("1") => Box::new(Cowork1::default()),
        Some(_) | None => Box::new(Cowork::new()),
    }
}
