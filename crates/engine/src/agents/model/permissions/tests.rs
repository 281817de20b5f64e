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
    lines(settings, sandbox, &[]).join("\n")
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
    assert!(text(&plans, &fence).starts_with("You are planning"));
    let granted = lines(&auto, &fence, &["npm install".to_owned()]);
    let last = "The user allowed for longer than once: npm install";
    assert_eq!(granted.last().map(String::as_str), Some(last));
}
