//! Rules and patches.

use super::*;

#[test]
fn a_rule_against_edits_or_writes_is_against_patches_too() {
    let decide = |tool: &str, text: &str, path: &str| {
        let decision = policy(text).decide(&PolicyCall {
            tool,
            summary: "",
            command: None,
            paths: &[path.to_owned()],
            hosts: &[],
            judgement: &Judgement::Allow,
        });
        word(&decision)
    };
    for named in ["edit", "write", "ed*", "applyPatch"] {
        let refuse =
            format!("[[rule]]\neffect = \"refuse\"\ntool = \"{named}\"\npath = \"keys/**\"");
        assert_eq!(decide("applyPatch", &refuse, "keys/a"), "refuse", "{named}");
        assert_eq!(decide("applyPatch", &refuse, "src/a"), "allow", "{named}");
    }
    let refuse = "[[rule]]\neffect = \"refuse\"\ntool = \"applyPatch\"";
    assert_eq!(decide("edit", refuse, "a"), "allow");
}
