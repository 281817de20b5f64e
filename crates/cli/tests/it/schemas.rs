//! The published schemas: checked in as they are, served as they are, and true of every transcript.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dialects::schemas::{DialectSchema, all};
use jsonschema::Validator;
use serde_json::Value;

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
    let judges: BTreeMap<&str, Judge> = all().iter().map(Judge::of).collect();
    let (mut frames, mut misfits) = (0, Vec::new());
    for (dialect, path) in transcripts() {
        let Some(judge) = judges.get(dialect.as_str()) else {
            misfits.push(format!("{}: {dialect} has no schema", path.display()));
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("a transcript");
        for (line, number) in text.lines().zip(1..) {
            let Some((validator, frame)) = judge.of_line(line) else {
                continue;
            };
            frames += 1;
            if let Err(error) = validator.validate(&frame) {
                let at = error.instance_path();
                misfits.push(format!("{}:{number}: {at}: {error}", path.display()));
            }
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

/// What may be said in each direction.
struct Judge {
    client: Validator,
    server: Validator,
}

impl Judge {
    fn of(schema: &DialectSchema) -> (&'static str, Judge) {
        let validator = |schema: &Value| jsonschema::validator_for(schema).expect("a schema");
        let judge = Judge {
            client: validator(&schema.client),
            server: validator(&schema.server),
        };
        (schema.dialect, judge)
    }

    /// The frame of a transcript line, and what it must fit.
    fn of_line(&self, line: &str) -> Option<(&Validator, Value)> {
        let (direction, frame) = line.split_once(' ')?;
        let validator = match direction.chars().last()? {
            '>' => &self.client,
            '<' => &self.server,
            _ => return None,
        };
        // A line that is no JSON tells that the socket was closed.
        Some((validator, serde_json::from_str(frame).ok()?))
    }
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
