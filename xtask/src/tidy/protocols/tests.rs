//! The rule on small pages, schemas and sources.

use std::collections::BTreeMap;

use super::page::Page;
use super::{Documents, Fields, PARTS, citations, compare, schema};

const PAGE: &str = "\
# A dialect

## Client -> Server Messages

### say

| field | type | required | meaning |
|---|---|---|---|
| `text` | string | yes | the words |
| `how.loud` | number | | how loud |

```json
### not a heading
```

| result | meaning |
|---|---|
| `done` | whether |

### shout

**Not available**: nobody listens.

## Server -> Client Events

### heard

## Shared Types

### Voice

## Decisions

1. **First**: because.
12. **Twelfth**: because.
";

fn compared(page: &str, messages: &[(&str, &[&str])]) -> Vec<String> {
    let page = Page::read(page);
    let messages: BTreeMap<String, Fields> = messages
        .iter()
        .map(|(name, fields)| ((*name).to_owned(), names(fields)))
        .collect();
    let section = "Client -> Server";
    let headings: Vec<_> = page.below(section).collect();
    let findings = compare("a.md", section, &headings, &messages);
    findings.iter().map(ToString::to_string).collect()
}

fn names(fields: &[&str]) -> Fields {
    fields.iter().map(|field| (*field).to_owned()).collect()
}

#[test]
fn a_page_that_tells_all_is_tidy() {
    assert!(compared(PAGE, &[("say", &["text", "how"])]).is_empty());
    // What is not available may have a type all the same.
    let typed: [(&str, &[&str]); 2] = [("say", &["text", "how"]), ("shout", &[])];
    assert!(compared(PAGE, &typed).is_empty());
}

#[test]
fn a_message_without_a_heading_is_found() {
    let found = compared(PAGE, &[("say", &["text", "how"]), ("sing", &[])]);
    assert_eq!(
        found,
        ["a.md:1: `sing` has a wire type and no heading below `Client -> Server …`"]
    );
}

#[test]
fn a_heading_without_a_type_needs_a_reason() {
    let found = compared(PAGE, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("a.md:5: `say` has no wire type"));
    let unreasoned = PAGE.replace("nobody listens.", "");
    assert_eq!(compared(&unreasoned, &[]).len(), 2);
}

#[test]
fn a_mark_that_is_no_longer_true_is_found() {
    let page = PAGE.replace("Not available", "No type");
    let found = compared(&page, &[("say", &["text", "how"]), ("shout", &[])]);
    assert_eq!(found, ["a.md:20: `shout` has a wire type now; describe it"]);
}

#[test]
fn fields_are_compared_both_ways() {
    let found = compared(PAGE, &[("say", &["text", "tone"])]);
    assert_eq!(
        found,
        [
            "a.md:5: `say` has a field `tone`, which its table lacks",
            "a.md:10: the wire type of `say` has no field `how`"
        ]
    );
}

#[test]
fn schemas_of_both_kinds_are_read() {
    let tagged = r##"{"client": {
        "oneOf": [
            {"$ref": "#/$defs/Say", "properties": {"type": {"const": "say"}}},
            {"$ref": "#/$defs/More"}],
        "$defs": {
            "Say": {"properties": {"text": {}}},
            "More": {"oneOf": [{"properties": {"type": {"const": "shout"}, "loud": {}}}]}}}}"##;
    let found = schema::messages(tagged, "client").expect("a schema");
    let expected = [("say", names(&["text"])), ("shout", names(&["loud"]))];
    assert_eq!(
        found,
        expected.map(|(name, of)| (name.to_owned(), of)).into()
    );

    let methods = r##"{"server": {
        "anyOf": [
            {"properties": {"method": {"const": "a/b"}, "params": {"$ref": "#/$defs/Either"}}},
            {"properties": {"method": {"const": "c"}, "params": true}},
            {"properties": {"id": {}, "method": false}}],
        "$defs": {"Either": {"oneOf": [
            {"properties": {"x": {}}}, {"properties": {"y": {}}}]}}}}"##;
    let found = schema::messages(methods, "server").expect("a schema");
    let expected = [("a/b", names(&["x", "y"])), ("c", names(&[]))];
    assert_eq!(
        found,
        expected.map(|(name, of)| (name.to_owned(), of)).into()
    );
    assert!(schema::messages("{}", "server").is_err());
}

#[test]
fn a_dialect_without_a_page_and_a_schema_without_one_are_found() {
    let mut documents = Documents::default();
    for part in PARTS.iter().filter(|part| part.page != "pioneer") {
        documents.take(&format!("docs/protocols/{}.md", part.page), "# A dialect");
    }
    for name in PARTS.iter().flat_map(|part| part.schemas) {
        let empty = r#"{"client": {}, "server": {}}"#;
        documents.take(&format!("schemas/{name}.json"), empty);
    }
    documents.take("schemas/klingon.json", "{}");
    documents.take("schemas/cowork.json", "not JSON");
    let found: Vec<_> = documents
        .check()
        .into_iter()
        .map(|finding| finding.path)
        .collect();
    assert_eq!(
        found,
        [
            // Once for each side.
            "schemas/cowork.json",
            "schemas/cowork.json",
            "docs/protocols/pioneer.md",
            "schemas/klingon.json"
        ]
    );
}

fn cited(path: &str, text: &str) -> Vec<String> {
    let page = PAGE.replace("### heard", "### heard\n\n### say/it");
    let pages = BTreeMap::from([("cowork", Page::read(&page))]);
    let findings = citations::check(path, text, &pages);
    findings.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn what_a_wire_type_cites_is_on_its_page() {
    let wire = "crates/dialects/src/cowork/wire/a.rs";
    for right in [
        "/// Client -> Server Messages: say. With more words.",
        "/// Client -> Server Messages.",
        "/// Shared Types: Voice.",
        "/// say/it, say/*",
        "/// heard: what was heard.",
        "/// Ours: anything.",
        "let a = 1; // Shared Types: Nothing",
    ] {
        assert_eq!(cited(wire, right), Vec::<String>::new(), "{right}");
    }
    for wrong in [
        "/// Client -> Server Messages: sing.",
        // There, but in another section.
        "/// Server -> Client Events: say.",
        "/// Server -> Client Tales: say.",
        "/// Shared Types: Tone.",
        "/// say/nothing",
        "/// tone: what it sounds like.",
    ] {
        assert_eq!(cited(wire, wrong).len(), 1, "{wrong}");
    }
    // Protocol 1 has sections of its own, and this page has none of them.
    let first = "crates/dialects/src/cowork/v1/wire.rs";
    assert_eq!(cited(first, "/// Shared Types: Voice.").len(), 1);
    assert!(cited("crates/engine/src/a.rs", "/// Shared Types: Tone.").is_empty());
}

#[test]
fn pages_and_decisions_that_are_named_are_there() {
    let anywhere = "crates/engine/src/a.rs";
    for right in [
        "/// See docs/protocols/cowork.md.",
        "// docs/protocols/cowork.md, decision 12: because.",
        "//! (docs/protocols/cowork.md, \"Shared Types\")",
        "// A decision a person made; seed corn.",
    ] {
        assert_eq!(cited(anywhere, right), Vec::<String>::new(), "{right}");
    }
    for wrong in [
        "/// See docs/protocols/klingon.md.",
        "// docs/protocols/cowork.md, decision 2: because.",
        "// docs/protocols/cowork.md, \"Nowhere\"",
        "// Decision 1: because.",
        "/// As seed 000 has it.",
    ] {
        assert_eq!(cited(anywhere, wrong).len(), 1, "{wrong}");
    }
}
