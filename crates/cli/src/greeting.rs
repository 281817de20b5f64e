//! What the server says when it starts: to people in a few lines, to programs as one line of JSON.

use engine::SandboxSetting;
use serde_json::{Value, json};
use server::home::HomeNotice;
use server::table::TONGUES;
use server::{RunningServer, Settings};
use tools::Sandbox;
use tools::sandbox::Mode;

use crate::screen::{self, LOUD, YELLOW};

/// Letters before the text of a line.
const INDENT: usize = 13;
/// Text is not squeezed into less.
const ROOM_MIN: usize = 30;

/// How a line is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// Something works less well than it could.
    Careful,
    /// Something is open that is usually closed, or cannot work.
    Loud,
}

/// One thing that people should know of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GreetingLine {
    pub name: &'static str,
    pub text: String,
    pub tone: Tone,
}

impl GreetingLine {
    fn new(name: &'static str, text: impl Into<String>, tone: Tone) -> Self {
        let text = text.into();
        Self { name, text, tone }
    }

    fn plain(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, text, Tone::Plain)
    }

    fn loud(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, text, Tone::Loud)
    }

    /// As a terminal of this width shows it; without one it is a single line.
    pub fn shown(&self, colours: bool, width: Option<usize>) -> String {
        let paint = match self.tone {
            Tone::Plain => "",
            Tone::Careful => YELLOW,
            Tone::Loud => LOUD,
        };
        let text = screen::harmless(&self.text);
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(INDENT));
        let mut lines = Vec::new();
        for (number, text) in screen::wrapped(&text, room.max(ROOM_MIN))
            .iter()
            .enumerate()
        {
            let name = if number == 0 { self.name } else { "" };
            let line = format!("  {name:<10} {text}");
            lines.push(screen::painted(&line, paint, colours));
        }
        lines.join("\n")
    }
}

/// The line for programs.
pub fn to_json(running: &RunningServer) -> Value {
    let listeners = running.others.iter().map(|(name, address)| {
        let url = format!("ws://{address}{}", own_path(name));
        json!({ "dialect": name, "url": url, "port": address.port() })
    });
    json!({
        "type": "server_listening",
        "url": running.url(),
        "port": running.address.port(),
        "cwd": running.settings().engine.directory.to_string_lossy(),
        "listeners": listeners.collect::<Vec<_>>(),
    })
}

fn own_path(name: &str) -> &'static str {
    let tongue = TONGUES.iter().find(|tongue| tongue.name == name);
    let path = tongue.and_then(|tongue| tongue.own.first());
    path.copied().unwrap_or("/")
}

/// What is known at once.
pub fn headline(running: &RunningServer) -> String {
    let mut address = running.address;
    if address.ip().is_unspecified() {
        // Nobody can open the address that stands for all.
        address.set_ip(match address.ip() {
            std::net::IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            std::net::IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    let version = env!("CARGO_PKG_VERSION");
    format!("Dragoman {version} is ready: http://{address}/  (Ctrl-C stops it)")
}

pub fn lines(running: &RunningServer) -> Vec<GreetingLine> {
    let settings = running.settings();
    let mut lines = vec![GreetingLine::plain("Clients", running.url())];
    for (name, address) in &running.others {
        let url = format!("ws://{address}{}", own_path(name));
        lines.push(GreetingLine::plain(name, url));
    }
    if !running.address.ip().is_loopback() {
        lines.push(GreetingLine::plain(
            "Reach",
            "other machines can reach this one; every client needs the token",
        ));
    }
    let directory = settings.engine.directory.to_string_lossy();
    let home = settings.engine.home.to_string_lossy();
    lines.push(GreetingLine::plain("Directory", directory));
    lines.push(GreetingLine::plain("Data", home));
    lines.extend(warnings(settings, is_root()));
    lines.extend(running.home_notice.as_ref().map(|notice| match notice {
        HomeNotice::Closed(words) => GreetingLine::new("Data", words, Tone::Careful),
        HomeNotice::Open(words) => GreetingLine::loud("Data", words),
    }));
    lines
}

/// What the operator has opened that is usually closed.
fn warnings(settings: &Settings, root: bool) -> Vec<GreetingLine> {
    let mut lines = Vec::new();
    if settings.engine.auto_approve {
        lines.push(GreetingLine::loud(
            "--yolo",
            match settings.engine.sandbox {
                SandboxSetting::Nothing => {
                    "EVERY COMMAND RUNS WITHOUT ASKING, and nothing fences it in"
                }
                SandboxSetting::Best { .. } | SandboxSetting::Only { .. } => {
                    "EVERY COMMAND RUNS WITHOUT ASKING, inside the sandbox"
                }
            },
        ));
    }
    if matches!(
        settings.engine.sandbox,
        SandboxSetting::Best { network: true } | SandboxSetting::Only { network: true, .. }
    ) {
        lines.push(GreetingLine::loud(
            "--network",
            "commands in the sandbox can reach the network, and send what they can read",
        ));
    }
    if settings.engine.allow_full_access {
        lines.push(GreetingLine::loud(
            "--allow-full-access",
            "a client may choose a thread whose commands nothing fences in",
        ));
    }
    if root {
        lines.push(GreetingLine::loud(
            "root",
            "RUNNING AS ROOT: what gets out of the sandbox can change this whole machine; run it \
             as an ordinary user",
        ));
    }
    lines
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What clients are asked for.
pub async fn access(running: &RunningServer) -> GreetingLine {
    let token = running.settings().token.is_some();
    let text = match (token, running.knows_api_tokens().await) {
        (true, Some(false)) => "clients need the server's token",
        (true, Some(true) | None) => "clients need the server's token, or one of `dragoman tokens`",
        (false, Some(true)) => "clients need a token; `dragoman tokens` lists them",
        (false, Some(false)) => "processes of your own user, without a token",
        (false, None) => "nobody, until the data directory can be read",
    };
    GreetingLine::plain("Access", text)
}

/// Which model new threads use, and whether it can be used.
pub async fn model(running: &RunningServer) -> GreetingLine {
    let (model, obstacle) = running.default_model().await;
    match obstacle {
        None => GreetingLine::plain("Model", model),
        Some(words) => GreetingLine::loud("Model", format!("{model} CANNOT BE USED: {words}")),
    }
}

/// What fences commands in. Finding out takes a moment.
pub async fn sandbox(running: &RunningServer) -> GreetingLine {
    let found = running.sandbox().await;
    let off = running.settings().engine.sandbox == SandboxSetting::Nothing;
    fence(&found, off)
}

fn fence(sandbox: &Sandbox, off: bool) -> GreetingLine {
    if off {
        return GreetingLine::loud(
            "Sandbox",
            "OFF (--sandbox off): a command that is allowed can read, change and send anything \
             that you can",
        );
    }
    let network = match sandbox.network() {
        true => "with the network",
        false => "without the network",
    };
    let mode = sandbox.mode();
    match (mode, sandbox.notice()) {
        (Mode::Bubblewrap, None) => GreetingLine::plain(
            "Sandbox",
            format!(
                "{}: commands change only the directory, {network}",
                mode.name()
            ),
        ),
        (Mode::Bubblewrap | Mode::Landlock, notice) => GreetingLine::new(
            "Sandbox",
            format!("{}, {network}. {}", mode.name(), notice.unwrap_or_default()),
            Tone::Careful,
        ),
        (Mode::Nothing, notice) => GreetingLine::loud("Sandbox", notice.unwrap_or("none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_in_colour_where_it_matters_and_only_on_a_terminal() {
        let line = GreetingLine::loud("--yolo", "a\x1b[2Jb");
        assert_eq!(line.shown(false, None), "  --yolo     a\\u{1b}[2Jb");
        assert_eq!(
            line.shown(true, None),
            "\x1b[1;31m  --yolo     a\\u{1b}[2Jb\x1b[0m"
        );
        let line = GreetingLine::plain("Data", "/home");
        assert_eq!(line.shown(true, None), line.shown(false, None));
        let long = GreetingLine::plain("Data", "x".repeat(20) + " " + &"y".repeat(20));
        let (first, second) = ("x".repeat(20), "y".repeat(20));
        assert_eq!(
            long.shown(false, Some(50)),
            format!("  Data       {first}\n             {second}")
        );
    }

    #[test]
    fn every_fence_is_told_and_a_weak_one_loudly() {
        let tone = |mode, off| fence(&Sandbox::with_mode(mode, "x".as_ref()), off).tone;
        assert_eq!(tone(Mode::Bubblewrap, false), Tone::Plain);
        assert_eq!(tone(Mode::Landlock, false), Tone::Careful);
        assert_eq!(tone(Mode::Nothing, false), Tone::Loud);
        assert_eq!(tone(Mode::Nothing, true), Tone::Loud);
    }
}
