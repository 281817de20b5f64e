//! The published schemas: checked in as they are, served as they are, and true of every transcript.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dialects::schemas::all;
use serde_json::{Value, json};

use crate::judge::{Judge, Speaker};
use crate::{Site, scenarios_folder, tell};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// `DRAGOMAN_SCHEMAS=update` rewrites; anything else compares.
#[test]
fn the_checked_in_schemas_are_those_of_the_wire_types() {
    let update = std::env::var("DRAGOMAN_SCHEMAS").is_ok_and(|mode| mode == "update");
    for schema in all() {
        let path = folder().join(format!("{}.json", schema.dialect));
        let text = serde_json::to_string_pretty(&schema.document()).expect("JSON") + "\n";
        if update {
            std::fs::create_dir_all(folder()).expect("a folder");
            std::fs::write(&path, &text).expect("a written schema");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "schemas/{}.json is not what the wire types say; `cargo xtask schemas --update`",
            schema.dialect
        );
    }
}

#[test]
fn every_frame_of_every_transcript_fits_its_schema() {
    let mut judges = judges();
    let (mut frames, mut misfits) = (0, Vec::new());
    for (dialect, path) in transcripts() {
        let Some(judge) = judges.get_mut(dialect.as_str()) else {
            misfits.push(format!("{}: {dialect} has no schema", path.display()));
            continue;
        };
        judge.begin();
        let text = std::fs::read_to_string(&path).expect("a transcript");
        for (line, number) in text.lines().zip(1..) {
            let Some((client, speaker, frame)) = of_line(line) else {
                continue;
            };
            frames += 1;
            let misfit = judge.misfit(client, speaker, &frame);
            let at = path.display();
            misfits.extend(misfit.map(|misfit| format!("{at}:{number}: {misfit}")));
        }
    }
    assert!(
        misfits.is_empty(),
        "{} misfits:\n{}",
        misfits.len(),
        misfits.join("\n")
    );
    assert!(frames > 500, "only {frames} frames were looked at");
}

/// The frames of a story with one thing of each kind changed: were all of them let through, so would anything.
#[test]
fn a_frame_that_lacks_or_claims_too_much_is_a_misfit() {
    let mut judges = judges();
    for dialect in ["zane", "codex"] {
        let judge = judges.get_mut(dialect).expect("a judge");
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "i", "delta": "d" });
        let delta = json!({ "method": "item/agentMessage/delta", "params": params });
        let asks =
            json!({ "id": 1, "method": "thread/unsubscribe", "params": { "threadId": "t" } });
        let answer = json!({ "id": 1, "result": { "status": "unsubscribed" } });
        for (speaker, frame) in [
            (Speaker::Server, &delta),
            (Speaker::Client, &asks),
            (Speaker::Server, &answer),
        ] {
            assert_eq!(judge.misfit("a", speaker, frame), None, "{dialect}");
        }
        let mut bad = vec![
            json!({ "method": "item/agentMessage/delta" }),
            json!({ "method": "no/such", "params": {} }),
            json!({ "id": 1, "result": {} }),
            json!({ "id": 1, "result": { "status": "gone" } }),
            json!({ "id": 7, "result": { "status": "unsubscribed" } }),
            json!({ "type": "orbit.hello" }),
        ];
        for field in ["threadId", "turnId", "itemId", "delta"] {
            let mut lacking = delta.clone();
            let params = lacking["params"].as_object_mut().expect("params");
            params.remove(field);
            bad.push(lacking);
        }
        for frame in bad {
            let misfit = judge.misfit("a", Speaker::Server, &frame);
            assert!(misfit.is_some(), "{dialect} lets {frame} through");
        }
    }
}

/// A request whose answer nobody has described would be answered with anything.
#[test]
fn every_request_of_codex_and_zane_has_a_described_answer() {
    for schema in all() {
        if !["zane", "codex"].contains(&schema.dialect) {
            continue;
        }
        let requests = schema.client["anyOf"].as_array().expect("frames").iter();
        let requests = requests.filter(|frame| frame["properties"]["id"]["type"].is_array());
        let methods = requests.filter_map(|frame| frame["properties"]["method"]["const"].as_str());
        let answers = schema.server["x-answers"].as_object().expect("answers");
        let lacking: Vec<&str> = methods
            .filter(|each| !answers.contains_key(*each))
            .collect();
        assert_eq!(lacking, [""; 0], "{}", schema.dialect);
    }
}

#[test]
fn the_schemas_are_served() {
    tell(std::time::Duration::from_secs(30), async {
        let site = Site::open().await?;
        for schema in all() {
            let path = format!("/schema/{}.json", schema.dialect);
            let (status, body) = testkit::http::get(site.server.port(), &path).await?;
            anyhow::ensure!(status == 200, "{path} answered {status}");
            let served: Value = serde_json::from_str(&body)?;
            anyhow::ensure!(served == schema.document(), "{path} is another schema");
        }
        let (status, body) = testkit::http::get(site.server.port(), "/schema").await?;
        anyhow::ensure!(
            status == 200 && body.contains("cowork"),
            "/schema lists nothing"
        );
        Ok(())
    });
}

fn judges() -> BTreeMap<&'static str, Judge> {
    let schemas = all().into_iter();
    schemas
        .map(|schema| (schema.dialect, Judge::of(&schema)))
        .collect()
}

/// Who says what in a line of a transcript; nothing where it is no frame.
fn of_line(line: &str) -> Option<(&str, Speaker, Value)> {
    let (mark, frame) = line.split_once(' ')?;
    let speaker = match mark.chars().last()? {
        '>' => Speaker::Client,
        '<' => Speaker::Server,
        _ => return None,
    };
    // A line that is no JSON tells that the socket was closed.
    let frame = serde_json::from_str(frame).ok()?;
    Some((mark.trim_end_matches(['<', '>']), speaker, frame))
}

/// All transcripts, with the dialect each is in.
fn transcripts() -> Vec<(String, PathBuf)> {
    let stories = std::fs::read_dir(scenarios_folder()).expect("scenarios");
    let files = stories
        .flat_map(|story| std::fs::read_dir(story.expect("a story").path()).expect("a folder"));
    files
        .map(|file| file.expect("a file").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "transcript")
        })
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect()
}
