//! Every setting of the server, once: its name, its words, its default, and where its value goes.

mod auth;
mod traces;

use server::origin;
use server::token::Token;

use super::choices::{
    approvals, checkpoints, checks, effort, log_format, network, sandbox, verbosity,
};
use super::file::absolute;
use super::setting::Fallback::{Nothing, Value};
use super::setting::SettingKind::{Choice, List, Path, Switch, Text};
use super::setting::{Setting, SettingPlaces};
use super::values::{
    address, attempts, contact, count, log_filter, micro_dollars, model, number, port, silence,
    wait,
};
use crate::commands::checkpoints::words::parse_size;

const BUDGETS: Option<&str> = Some("Budgets");
const LOGGING: Option<&str> = Some("Logging");
const SERVICES: Option<&str> = Some("Model services");

pub const MODEL: &str = "model";
pub const TOKEN: &str = "token";
pub const TOKEN_FILE: &str = "token-file";

/// What most settings have in common.
const USUAL: Setting = Setting {
    name: "",
    short: None,
    value: "TEXT",
    help: "",
    heading: None,
    fallback: Nothing(""),
    sample: "",
    kind: Switch(|_, _| ()),
    places: SettingPlaces::Everywhere,
};

/// Those that are switched on by being named.
const OFF: Setting = Setting {
    value: "yes|no",
    fallback: Value("false"),
    ..USUAL
};

/// A later one may look at what an earlier one has set.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "dir",
        short: Some('d'),
        value: "DIR",
        help: "The directory that threads work in",
        fallback: Value("."),
        sample: "~/project",
        kind: Path(|all, path| all.settings.engine.directory = path),
        ..USUAL
    },
    Setting {
        name: "port",
        short: Some('p'),
        value: "PORT",
        help: "The port to listen on; 0 takes any free one",
        fallback: Value("7337"),
        kind: Text(|all, text| port(text).map(|value| all.settings.port = value)),
        ..USUAL
    },
    Setting {
        name: "host",
        value: "ADDR",
        help: "The address to listen on; any but this machine's own needs a token",
        fallback: Value("127.0.0.1"),
        kind: Text(|all, text| address(text).map(|value| all.settings.host = value)),
        ..USUAL
    },
    Setting {
        name: "listen",
        value: "DIALECT=PORT",
        help: "Serve one dialect on a port of its own: cowork, cowork1, diminuendo, zane, codex, \
               pioneer (repeatable)",
        fallback: Nothing("all on one port"),
        sample: "zane=8788",
        kind: List(|all, text| text.parse().map(|value| all.settings.listen.push(value))),
        ..USUAL
    },
    Setting {
        name: "pioneer-strict-ids",
        help: "Take only request ids of exactly 21 letters and digits from pioneer's clients",
        kind: Switch(|all, on| all.settings.pioneer_strict_ids = on),
        ..OFF
    },
    Setting {
        name: TOKEN,
        help: "The token that clients must carry, where no file has it",
        fallback: Nothing("none: processes of your own user only"),
        kind: Text(|all, text| Token::new(text).map(|value| all.settings.token = Some(value))),
        places: SettingPlaces::VariableOnly,
        ..USUAL
    },
    Setting {
        name: TOKEN_FILE,
        value: "FILE",
        help: "A file with the token that clients must carry, and that only you may read; without \
               a token only processes of your own user are let in",
        fallback: Nothing("none"),
        sample: "~/.config/dragoman-token",
        kind: Path(|all, path| all.settings.token_file = Some(path)),
        ..USUAL
    },
    auth::AUTH_ISSUER,
    auth::AUTH_AUDIENCE,
    auth::AUTH_JWKS_URL,
    auth::AUTH_TENANT_CLAIM,
    auth::AUTH_ROLE_CLAIM,
    auth::AUTH_PROVISION,
    Setting {
        name: "allow-host",
        value: "NAME",
        help: "A further name this server goes by, as requests name it in Host (repeatable)",
        fallback: Nothing("this machine's own"),
        sample: "team.example",
        kind: List(|all, text| {
            origin::listed_host(text).map(|value| all.settings.allow_hosts.push(value))
        }),
        ..USUAL
    },
    Setting {
        name: "allow-origin",
        value: "URL",
        help: "A web page that may connect, like https://team.example or http://localhost:5173 \
               (repeatable)",
        fallback: Nothing("the server's own"),
        sample: "https://team.example",
        kind: List(|all, text| {
            origin::listed(text).map(|value| all.settings.allow_origins.push(value))
        }),
        ..USUAL
    },
    Setting {
        name: "yolo",
        short: Some('y'),
        help: "Run every command without asking; what the sandbox does not let it do stays undone",
        kind: Switch(|all, on| all.settings.engine.auto_approve = on),
        ..OFF
    },
    Setting {
        name: "approvals",
        value: "WHEN",
        help: "When the agent asks before it does something, where its client does not say \
               (default: auto, and as their protocol has it for threads begun in cowork)",
        fallback: Nothing("auto; in cowork as its protocol has it"),
        sample: "auto",
        kind: Choice(
            &[
                ("ask", "For whatever is not known to be harmless"),
                ("auto", "For what leaves the sandbox or destroys"),
                ("on-failure", "For what the sandbox stopped"),
                ("never", "For nothing: what would be asked for is refused"),
            ],
            approvals,
        ),
        ..USUAL
    },
    Setting {
        name: MODEL,
        value: "MODEL",
        help: "The model of new threads, as PROVIDER/MODEL (default: the first that can be used)",
        fallback: Nothing("the first that can be used"),
        sample: "ollama/qwen3",
        kind: Text(|all, text| {
            model(text).map(|value| all.settings.engine.default_model = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "effort",
        value: "LEVEL",
        help: "How hard models think where their thread does not say; one that lacks a level takes \
               its next lower one (default: each model's own)",
        fallback: Nothing("each model's own"),
        sample: "high",
        kind: Choice(
            &[
                ("none", "Not at all, where a model can do without"),
                ("minimal", "As little as possible"),
                ("low", "A little"),
                ("medium", "As much as most work needs"),
                ("high", "Long, for hard work"),
                ("xhigh", "Longer, for the hardest work"),
                ("max", "As long as it takes, whatever it costs"),
            ],
            effort,
        ),
        ..USUAL
    },
    Setting {
        name: "verbosity",
        value: "LEVEL",
        help: "How much models say where their thread does not say and their service lets it be \
               set: OpenAI's newer ones (default: each model's own)",
        fallback: Nothing("each model's own"),
        sample: "low",
        kind: Choice(
            &[
                ("low", "Short answers"),
                ("medium", "As most people like it"),
                ("high", "Long answers, with every detail"),
            ],
            verbosity,
        ),
        ..USUAL
    },
    Setting {
        name: "sandbox",
        value: "HOW",
        help: "Whether commands are fenced in (`dragoman sandbox check` tells by what)",
        fallback: Value("auto"),
        kind: Choice(
            &[
                ("auto", "By the best that this machine has"),
                (
                    "bubblewrap",
                    "By namespaces and mounts, or everything is asked for",
                ),
                ("landlock", "By Landlock, or everything is asked for"),
                ("off", "Not at all"),
            ],
            sandbox,
        ),
        ..USUAL
    },
    // After `sandbox`, whose choice it completes.
    Setting {
        name: "network",
        help: "Let fenced commands use the network",
        kind: Switch(network),
        ..OFF
    },
    Setting {
        name: "allow-full-access",
        help: "Let a client choose a thread without a sandbox",
        kind: Switch(|all, on| all.settings.engine.allow_full_access = on),
        ..OFF
    },
    Setting {
        name: "checkpoints",
        value: "HOW",
        help: "Whether the files of workspaces are kept, so that turns can be undone",
        fallback: Value("on"),
        kind: Choice(
            &[
                (
                    "on",
                    "Before the first change and after every turn (docs/checkpoints.md)",
                ),
                ("off", "Not at all"),
            ],
            checkpoints,
        ),
        ..USUAL
    },
    Setting {
        name: "checks",
        value: "WHICH",
        help: "Which checks and formatters run after the agent has edited files (docs/checks.md)",
        fallback: Value("auto"),
        kind: Choice(
            &[
                (
                    "auto",
                    "Those of the file, and in trusted directories what is found",
                ),
                ("configured", "Those of the file"),
                ("off", "None"),
            ],
            checks,
        ),
        ..USUAL
    },
    Setting {
        name: "trust",
        value: "DIR",
        help: "A directory whose projects you trust: their own checks and formatters run by \
               themselves, in the sandbox (repeatable)",
        fallback: Nothing("none"),
        sample: "~/project",
        kind: List(|all, text| {
            let trusted = &mut all.settings.engine.checks.trusted;
            absolute(text).map(|directory| trusted.push(directory))
        }),
        ..USUAL
    },
    Setting {
        name: "allow-private",
        value: "HOST",
        help: "A host on a private network that the web tools may ask, as HOST:PORT (repeatable)",
        fallback: Nothing("none"),
        sample: "wiki.internal:8080",
        kind: List(|all, text| {
            all.settings.engine.web.allow_private.push(text.to_owned());
            Ok(())
        }),
        ..USUAL
    },
    Setting {
        name: "push-contact",
        value: "ADDRESS",
        help: "Whom push services may turn to about our push messages: a mailto: or https: address; \
               some take no message without one",
        fallback: Nothing("none"),
        sample: "mailto:you@example.com",
        kind: Text(|all, text| {
            contact(text).map(|value| all.settings.engine.push_contact = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "turn-tokens",
        value: "N",
        help: "The most tokens a turn may use",
        heading: BUDGETS,
        fallback: Nothing("no limit"),
        sample: "200000",
        kind: Text(|all, text| {
            number(text).map(|value| all.settings.engine.budgets.turn_tokens = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "turn-cost",
        value: "USD",
        help: "The most a turn may cost, in dollars",
        heading: BUDGETS,
        fallback: Nothing("no limit"),
        sample: "0.50",
        kind: Text(|all, text| {
            micro_dollars(text)
                .map(|value| all.settings.engine.budgets.turn_micro_dollars = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "thread-tokens",
        value: "N",
        help: "The most tokens a thread may use",
        heading: BUDGETS,
        fallback: Nothing("no limit"),
        sample: "2000000",
        kind: Text(|all, text| {
            number(text).map(|value| all.settings.engine.budgets.thread_tokens = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "thread-cost",
        value: "USD",
        help: "The most a thread may cost, in dollars",
        heading: BUDGETS,
        fallback: Nothing("no limit"),
        sample: "5.00",
        kind: Text(|all, text| {
            micro_dollars(text)
                .map(|value| all.settings.engine.budgets.thread_micro_dollars = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "service-attempts",
        value: "N",
        help: "How often a request to a model service is made at most",
        heading: SERVICES,
        fallback: Value("10"),
        kind: Text(|all, text| {
            attempts(text).map(|value| all.settings.limits.attempts = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "service-wait",
        value: "TIME",
        help: "The longest wait that a model service may ask for, like 90s, 5m or 2h",
        heading: SERVICES,
        fallback: Value("5m"),
        kind: Text(|all, text| wait(text).map(|value| all.settings.limits.wait = Some(value))),
        ..USUAL
    },
    Setting {
        name: "service-first-byte",
        value: "TIME",
        help: "How long a model service may say nothing at all before its answer begins \
               (default: 5m; 30m for servers that take no key)",
        heading: SERVICES,
        fallback: Nothing("5m; 30m for servers that take no key"),
        sample: "10m",
        kind: Text(|all, text| {
            silence(text).map(|value| all.settings.limits.first_byte = Some(value))
        }),
        ..USUAL
    },
    Setting {
        name: "service-idle",
        value: "TIME",
        help: "How long a model service may say nothing at all within its answer",
        heading: SERVICES,
        fallback: Value("4m"),
        kind: Text(|all, text| silence(text).map(|value| all.settings.limits.idle = Some(value))),
        ..USUAL
    },
    Setting {
        name: "log",
        value: "LEVEL",
        help: "What is logged: off, error, warn, info, debug, trace, or levels of parts like \
               info,engine=debug",
        heading: LOGGING,
        fallback: Value("warn"),
        kind: Text(|all, text| log_filter(text).map(|value| all.log.filter = value)),
        ..USUAL
    },
    Setting {
        name: "log-format",
        value: "HOW",
        help: "How a line of the log is written",
        heading: LOGGING,
        fallback: Value("text"),
        kind: Choice(
            &[
                ("text", "For people; in colour on a terminal"),
                ("json", "For programs: one object a line"),
            ],
            log_format,
        ),
        ..USUAL
    },
    Setting {
        name: "log-file",
        value: "FILE",
        help: "Where the log goes instead of standard error",
        heading: LOGGING,
        fallback: Nothing("standard error"),
        sample: "~/.cowork/dragoman.log",
        kind: Path(|all, path| all.log.file = Some(path)),
        ..USUAL
    },
    Setting {
        name: "log-file-size",
        value: "SIZE",
        help: "How large the log file may become, like 500K or 10M; then it becomes FILE.1",
        heading: LOGGING,
        fallback: Value("10M"),
        kind: Text(|all, text| parse_size(text).map(|bytes| all.log.file_bytes_max = bytes)),
        ..USUAL
    },
    Setting {
        name: "log-files",
        value: "N",
        help: "How many old log files are kept",
        heading: LOGGING,
        fallback: Value("5"),
        kind: Text(|all, text| count(text).map(|count| all.log.old_files_max = count)),
        ..USUAL
    },
    traces::LANGFUSE_URL,
    traces::LANGFUSE_PUBLIC_KEY,
    traces::LANGFUSE_SECRET_KEY_FILE,
    traces::LANGFUSE_ENVIRONMENT,
    traces::LANGFUSE_RELEASE,
    traces::OTLP_ENDPOINT,
    Setting {
        name: "rehearsal",
        value: "FILE",
        help: "A script for the rehearsal model (docs/rehearsal.md)",
        fallback: Nothing("it talks with you"),
        sample: "~/rehearsal.toml",
        kind: Path(|all, path| all.settings.rehearsal = Some(path)),
        places: SettingPlaces::Quietly,
        ..USUAL
    },
    Setting {
        name: "raw-parts",
        help: "Send stream chunks with the provider's own part beside ours",
        kind: Switch(|all, on| all.settings.raw_parts = on),
        places: SettingPlaces::Quietly,
        ..OFF
    },
];
