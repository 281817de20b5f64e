//! Skills and slash commands: what their messages ask of the engine, and how they are answered.

use serde_json::json;
use vocabulary::{
    Call, CommandOrigin, Idempotency, Refusal, Reply, RunCommand, Seq, Skill, SkillCall, SkillLook,
    SkillText, SkillTier, SlashCommand, StartedTurn, TurnId, Why,
};

use super::commands::said;
use super::samples::{SESSION, card};

fn skill(name: &str, tier: SkillTier) -> Skill {
    Skill {
        name: name.to_owned(),
        path: format!("/home/user/.cowork/skills/{name}/SKILL.md").into(),
        tier,
        enabled: tier != SkillTier::Global,
        triggers: vec![name.to_owned()],
        description: "Does it".to_owned(),
        interface: None,
    }
}

fn call(call: SkillCall) -> Call {
    let thread = card().id;
    Call::Skills { thread, call }
}

fn slash(name: &str, hints: &[&str], origin: CommandOrigin) -> SlashCommand {
    SlashCommand {
        name: name.to_owned(),
        description: None,
        origin,
        hints: hints.iter().map(|&hint| hint.to_owned()).collect(),
    }
}

#[test]
fn skills_are_listed_with_where_they_come_from_and_how_they_look() {
    let mut stub = said(json!({ "type": "list_skills" }));
    assert_eq!(stub.call(), &call(SkillCall::List));
    let mut shown = skill("a", SkillTier::Project);
    shown.interface = Some(SkillLook {
        display_name: Some("A".to_owned()),
        icon_small: Some("data:image/png;base64,cG5n".to_owned()),
        agents: Some(vec!["openai".to_owned()]),
        ..SkillLook::default()
    });
    stub.reply(Ok(Reply::Skills(vec![
        shown,
        skill("b", SkillTier::Global),
        skill("c", SkillTier::User),
        skill("d", SkillTier::BuiltIn),
    ])));
    let entry = |name: &str, source: &str, enabled: bool| {
        json!({
            "name": name,
            "path": format!("/home/user/.cowork/skills/{name}/SKILL.md"),
            "source": source,
            "enabled": enabled,
            "triggers": [name],
            "description": "Does it",
        })
    };
    let mut first = entry("a", "project", true);
    first["interface"] = json!({
        "displayName": "A",
        "iconSmall": "data:image/png;base64,cG5n",
        "agents": ["openai"],
    });
    let skills = json!([
        first,
        entry("b", "global", false),
        entry("c", "user", true),
        entry("d", "built-in", true),
    ]);
    let expected = json!({ "type": "skills_list", "sessionId": SESSION, "skills": skills });
    assert_eq!(stub.take(), [expected]);
}

#[test]
fn a_skill_is_read() {
    let mut stub = said(json!({ "type": "read_skill", "skillName": "a" }));
    let name = "a".to_owned();
    assert_eq!(stub.call(), &call(SkillCall::Read { name }));
    stub.reply(Ok(Reply::SkillContent(Box::new(SkillText {
        skill: skill("a", SkillTier::User),
        content: "# A".to_owned(),
    }))));
    let sent = stub.take();
    assert_eq!(sent[0]["type"], "skill_content");
    assert_eq!(
        (&sent[0]["content"], &sent[0]["skill"]["name"]),
        (&json!("# A"), &json!("a"))
    );
}

#[test]
fn a_change_is_answered_with_the_skills_and_then_the_commands() {
    let name = || "a".to_owned();
    let set = |enabled| SkillCall::SetEnabled {
        name: name(),
        enabled,
    };
    for (kind, wanted) in [
        ("disable_skill", set(false)),
        ("enable_skill", set(true)),
        ("delete_skill", SkillCall::Delete { name: name() }),
    ] {
        let mut stub = said(json!({ "type": kind, "skillName": "a" }));
        assert_eq!(stub.call(), &call(wanted));
        stub.reply(Ok(Reply::Skills(Vec::new())));
        assert_eq!(stub.take_types(), ["skills_list"]);
        let thread = card().id;
        assert_eq!(stub.call(), &Call::ListCommands { thread });
        stub.reply(Ok(Reply::Commands(Vec::new())));
        assert_eq!(stub.take_types(), ["commands"]);
        let mut stub = said(json!({ "type": kind, "skillName": "a" }));
        stub.reply(Err(Refusal::invalid("skillName", "Skill \"a\" not found.")));
        let sent = stub.take();
        assert_eq!(sent.len(), 1, "nothing changed");
        assert_eq!(sent[0]["message"], "Skill \"a\" not found.");
        assert_eq!(sent[0]["code"], "validation_failed");
        assert_eq!(sent[0]["source"], "session");
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn commands_have_their_placeholders_as_hints_or_their_name() {
    let mut stub = said(json!({ "type": "list_commands" }));
    stub.reply(Ok(Reply::Commands(vec![
        slash("fix", &["$1", "$ARGUMENTS"], CommandOrigin::Command),
        slash("commit", &[], CommandOrigin::Skill),
        slash("server:ask", &["$1"], CommandOrigin::Mcp),
    ])));
    let commands = json!([
        { "name": "fix", "source": "command", "hints": ["$1", "$ARGUMENTS"] },
        { "name": "commit", "source": "skill", "hints": ["/commit"] },
        { "name": "server:ask", "source": "mcp", "hints": ["$1"] },
    ]);
    let expected = json!({ "type": "commands", "sessionId": SESSION, "commands": commands });
    assert_eq!(stub.take(), [expected]);
}

#[test]
fn a_command_is_run_as_it_was_written() {
    let message = json!({
        "type": "execute_command",
        "name": " review ",
        "arguments": " src/main.ts \n",
        "clientMessageId": "m1",
    });
    let mut stub = said(message.clone());
    let run = RunCommand {
        thread: card().id,
        name: "review".to_owned(),
        arguments: " src/main.ts \n".to_owned(),
        client_message_id: Some("m1".to_owned()),
        idempotency: Idempotency::Reconnect { joined_at: Seq(9) },
    };
    assert_eq!(stub.call(), &Call::RunCommand(run));
    let started = |again| {
        Ok(Reply::Turn(StartedTurn {
            turn: TurnId::new("t1"),
            again,
            joined: None,
        }))
    };
    stub.reply(started(false));
    assert!(stub.sent.is_empty(), "events tell the turn");
    // Sent again, it is told again to who sent it.
    let mut stub = said(message);
    stub.reply(started(true));
    let echo = json!({
        "type": "user_message",
        "sessionId": SESSION,
        "text": "/review src/main.ts",
        "clientMessageId": "m1",
    });
    assert_eq!(stub.take(), [echo]);
    for (refusal, code) in [
        (Refusal::busy(), "busy"),
        (
            Refusal::invalid("name", "Unknown command: x"),
            "validation_failed",
        ),
        (
            Refusal::new(Why::Forbidden, "not trusted"),
            "permission_denied",
        ),
    ] {
        let mut stub = said(json!({ "type": "execute_command", "name": "x" }));
        let message = refusal.message.clone();
        stub.reply(Err(refusal));
        let sent = stub.take();
        assert_eq!(
            (&sent[0]["message"], &sent[0]["code"]),
            (&json!(message), &json!(code))
        );
    }
}
