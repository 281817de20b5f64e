//! Methods of the app-server that this server chose not to have, and why.
//!
//! A method is served (`hear::request` reads it), declined here, or unknown: three answers that differ.

/// Why, and for which methods.
struct Declined {
    why: &'static str,
    methods: &'static [&'static str],
}

/// The reason to give, where a method was declined.
pub fn reason(method: &str) -> Option<&'static str> {
    let mut groups = DECLINED.iter();
    let group = groups.find(|group| group.methods.contains(&method))?;
    Some(group.why)
}

#[cfg(test)]
pub fn methods() -> impl Iterator<Item = &'static str> {
    let methods = DECLINED.iter().flat_map(|group| group.methods);
    methods.copied()
}

const DECLINED: &[Declined] = &[
    Declined {
        why: "files are read and changed in a thread, by its agent and within its permissions",
        methods: &[
            "fs/copy",
            "fs/createDirectory",
            "fs/getMetadata",
            "fs/readDirectory",
            "fs/readFile",
            "fs/remove",
            "fs/unwatch",
            "fs/watch",
            "fs/writeFile",
        ],
    },
    Declined {
        why: "programs run in a thread, or by command/exec, within its permissions",
        methods: &[
            "process/kill",
            "process/resizePty",
            "process/spawn",
            "process/writeStdin",
        ],
    },
    Declined {
        why: "command/exec runs a command to its end; one that is written to is a thread's terminal",
        methods: &[
            "command/exec/resize",
            "command/exec/terminate",
            "command/exec/write",
        ],
    },
    Declined {
        why: "there are no plugins here; skills and MCP servers are added with files",
        methods: &[
            "marketplace/add",
            "marketplace/remove",
            "marketplace/upgrade",
            "plugin/install",
            "plugin/read",
            "plugin/reconcile",
            "plugin/share/checkout",
            "plugin/share/delete",
            "plugin/share/list",
            "plugin/share/save",
            "plugin/share/updateTargets",
            "plugin/skill/read",
            "plugin/uninstall",
        ],
    },
    Declined {
        why: "there are no apps here; MCP servers do what they do",
        methods: &["app/read"],
    },
    Declined {
        why: "skills are found where they lie; no other roots are taken from a client",
        methods: &["skills/extraRoots/set"],
    },
    Declined {
        why: "a thread has no goal of its own here; say it in a message",
        methods: &["thread/goal/set"],
    },
    Declined {
        why: "messages are not queued here; one that comes while a turn runs can steer it",
        methods: &[
            "thread/queue/add",
            "thread/queue/delete",
            "thread/queue/reorder",
            "thread/queue/start",
            "thread/queue/update",
        ],
    },
    Declined {
        why: "nothing is remembered across threads here",
        methods: &[
            "memory/reset",
            "thread/memory/read",
            "thread/memoryMode/set",
        ],
    },
    Declined {
        why: "threads are grouped by their directory here, not by projects",
        methods: &[
            "project/create",
            "project/delete",
            "project/import",
            "project/move",
            "project/read",
            "project/update",
        ],
    },
    Declined {
        why: "attachments of threads are not kept here; send files with a message",
        methods: &[
            "thread/attachment/add",
            "thread/attachment/remove",
            "thread/attachmentOwner/list",
        ],
    },
    Declined {
        why: "what a model is told is what happened in the thread, and nothing else",
        methods: &["thread/inject_items"],
    },
    Declined {
        why: "models are spoken to in turns only",
        methods: &[
            "thread/prediction/request",
            "thread/sample",
            "thread/sample/cancel",
        ],
    },
    Declined {
        why: "turns end by steps and budgets here, not by a clock that a question would stop",
        methods: &[
            "thread/decrement_elicitation",
            "thread/increment_elicitation",
        ],
    },
    Declined {
        why: "which turns a person has read is kept by their client",
        methods: &["thread/readState/update"],
    },
    Declined {
        why: "people approve here, no other model does; there is nothing of it to overrule",
        methods: &["thread/approveGuardianDeniedAction"],
    },
    Declined {
        why: "there is no speech here",
        methods: &[
            "thread/realtime/appendAudio",
            "thread/realtime/appendSpeech",
            "thread/realtime/appendText",
            "thread/realtime/listVoices",
            "thread/realtime/start",
            "thread/realtime/stop",
            "thread/timeline/list",
        ],
    },
    Declined {
        why: "the log of a thread is the server's own; it is kept small by itself",
        methods: &["rollout/compress"],
    },
    Declined {
        why: "a turn keeps the settings that it began with; turn/start and thread/settings/update \
              set the next one's",
        methods: &["turn/settings/update"],
    },
    Declined {
        why: "no feature waits behind a switch here",
        methods: &["experimentalFeature/enablement/set"],
    },
    Declined {
        why: "clients connect to this server themselves; nothing is relayed",
        methods: &[
            "remoteControl/client/list",
            "remoteControl/client/revoke",
            "remoteControl/disable",
            "remoteControl/enable",
            "remoteControl/pairing/start",
            "remoteControl/pairing/status",
            "remoteControl/status/read",
        ],
    },
    Declined {
        why: "threads work on the server's own machine, and nowhere else",
        methods: &["environment/add", "environment/info", "environment/status"],
    },
    Declined {
        why: "tools and resources of MCP servers are used by agents in their turns, where a person is asked",
        methods: &[
            "mcpServer/event/stream/start",
            "mcpServer/event/stream/stop",
            "mcpServer/resource/read",
            "mcpServer/tool/call",
        ],
    },
    Declined {
        why: "this server does not run on Windows",
        methods: &["windowsSandbox/readiness", "windowsSandbox/setupStart"],
    },
    Declined {
        why: "providers are signed in to with `dragoman auth`",
        methods: &[
            "account/bedrock/discover",
            "account/bedrock/setup",
            "account/gatewayOAuth/cancel",
            "account/gatewayOAuth/login",
            "account/gatewayOAuth/read",
            "account/gcp/setup",
        ],
    },
    Declined {
        why: "a provider has one account at a time here",
        methods: &["accountSession/list", "accountSession/switch"],
    },
    Declined {
        why: "limits and credits of an account are its provider's own",
        methods: &[
            "account/rateLimitResetCredit/consume",
            "account/sendAddCreditsNudgeEmail",
            "account/workspaceMessages/read",
        ],
    },
    Declined {
        why: "nothing is sent to anybody from here; the log lies in the data directory",
        methods: &["feedback/save", "feedback/upload"],
    },
    Declined {
        why: "this server knows who connects by tokens and sign-ins, and verifies nobody besides",
        methods: &[
            "userVerification/cancel",
            "userVerification/delete",
            "userVerification/enroll",
            "userVerification/status",
            "userVerification/verify",
        ],
    },
    Declined {
        why: "sessions of another program are taken over with `dragoman sessions import`",
        methods: &[
            "externalAgentConfig/detect",
            "externalAgentConfig/import",
            "externalAgentConfig/import/readHistories",
            "externalAgentConfig/import/recordHistory",
        ],
    },
    Declined {
        why: "`dragoman doctor` and GET /metrics tell how the server does",
        methods: &["server/diagnostics"],
    },
    Declined {
        why: "it is for tests of the app-server",
        methods: &["mock/experimentalMethod"],
    },
];
