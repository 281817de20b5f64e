//! What the lines say is what holds.

use vocabulary::{ModelRef, ThreadSettings};

use super::*;

fn settings(auto_approve: bool, approvals: Approvals) -> ThreadSettings {
    let settings = serde_json::json!({
        "model": ModelRef { provider: "p".to_owned(), model: "m".to_owned() },
        "auto_approve": auto_approve,
        "max_steps": 100,
        "sub_agent_model": "",
        "observability": false,
        "mcp": false,
    });
    ThreadSettings {
        approvals,
        ..serde_json::from_value(settings).expect("settings")
    }
}

fn fenced(mode: Mode) -> Sandbox {
    Sandbox::with_mode(mode, std::path::Path::new("/bin/true"))
}

fn text(settings: &ThreadSettings, sandbox: &Sandbox) -> String {
    let is_full = false;
    lines(settings, CommandHold { sandbox, is_full }, &[]).join("\n")
}

#[test]
fn the_lines_follow_the_state() {
    let auto = settings(false, Approvals::Auto);
    let fence = fenced(Mode::Bubblewrap);
    let said = text(&auto, &fence);
    for words in [
        "write in the workspace and a temporary directory, nowhere else",
        "no network",
        "What the sandbox holds runs at once",
        "with `escalate`",
        "A no is final",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.lines().count(), 5, "{said}");

    let open = text(&auto, &fence.clone().with_network(true));
    assert!(open.contains("Commands reach the network"), "{open}");
    let bare = text(&auto, &Sandbox::nothing());
    assert!(bare.contains("No sandbox holds commands"), "{bare}");
    assert!(bare.contains("asked before every command"), "{bare}");
    assert!(!bare.contains("escalate"), "{bare}");

    let never = text(&settings(false, Approvals::Never), &fence);
    assert!(
        never.contains("Nobody is asked: what would need"),
        "{never}"
    );
    assert!(never.contains("`escalate` is refused"), "{never}");
    let all = text(&settings(true, Approvals::Ask), &fence);
    assert!(all.contains("calls run at once"), "{all}");
    assert!(all.contains("`escalate` is refused"), "{all}");

    let reads = ThreadSettings {
        sandbox: SandboxMode::ReadOnly,
        ..auto.clone()
    };
    let reads = text(&reads, &fence);
    assert!(reads.contains("write nothing but a temporary"), "{reads}");
    let plans = ThreadSettings {
        mode: AgentMode::Plan,
        ..auto.clone()
    };
    let planned = text(&plans, &fence);
    assert!(planned.starts_with("You are planning"), "{planned}");
    assert!(planned.contains("have no network"), "{planned}");
    let planned = text(&plans, &Sandbox::nothing());
    assert!(planned.contains("so none runs"), "{planned}");
    let stopped = text(&settings(false, Approvals::OnFailure), &fence);
    assert!(stopped.contains("Where it stops one"), "{stopped}");
    let full = CommandHold {
        sandbox: &fence.clone().opened(),
        is_full: true,
    };
    let full = lines(&auto, full, &[]).join("\n");
    for words in [
        "There is no sandbox",
        "reach the network",
        "Calls run at once",
    ] {
        assert!(full.contains(words), "{words}: {full}");
    }
    let hold = CommandHold {
        sandbox: &fence,
        is_full: false,
    };
    let granted = lines(&auto, hold, &["npm install".to_owned()]);
    let last = "The user allowed for longer than once: npm install";
    assert_eq!(granted.last().map(String::as_str), Some(last));
}
