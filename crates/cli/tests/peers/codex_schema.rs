//! The schemas that the official client prints, and our frames held against them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use jsonschema::Validator;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::tap::TappedFrame;

const BINARY: &str =
    "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
/// Methods of ours that the app-server has not.
const OURS: &str = "dragoman/";
/// One that the app-server had, and clients of that time still use.
const OLDER: &str = "thread/rollback";
/// Results whose type is not named after their params.
const NAMED_OTHERWISE: [(&str, &str); 10] = [
    ("account/logout", "LogoutAccountResponse"),
    ("account/rateLimits/read", "GetAccountRateLimitsResponse"),
    ("account/usage/read", "GetAccountTokenUsageResponse"),
    ("config/batchWrite", "ConfigWriteResponse"),
    ("config/mcpServer/reload", "McpServerRefreshResponse"),
    ("config/value/write", "ConfigWriteResponse"),
    ("configRequirements/read", "ConfigRequirementsReadResponse"),
    ("project/list", "ProjectListResponse"),
    ("plugin/installed", "PluginInstalledResponse"),
    ("memory/status", "MemoryStatusResponse"),
];

/// The client's own program, without the Node.js around it.
pub fn binary() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("DRAGOMAN_PEER_CODEX")
        .context("it is not known where codex is: run `cargo xtask test`")?;
    Ok(PathBuf::from(folder).join(BINARY))
}

/// What the app-server may say, by its own account.
pub struct CodexJudge {
    folder: TempDir,
    is_experimental: bool,
    /// Files of results by method.
    results: HashMap<String, PathBuf>,
    /// Schemas of frames by method, and those that were needed before, by what they are for.
    notifications: HashMap<String, Value>,
    requests: HashMap<String, Value>,
    validators: HashMap<String, Validator>,
    /// By connection and id, what a client asked for.
    asked: HashMap<(String, String), String>,
}

impl CodexJudge {
    /// With what is experimental, or only what is stable.
    pub fn new(experimental: bool) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(binary()?);
        command
            .args(["app-server", "generate-json-schema", "--out"])
            .arg(folder.path())
            .env("CODEX_HOME", folder.path());
        if experimental {
            command.arg("--experimental");
        }
        let output = command.output()?;
        ensure!(output.status.success(), "no schemas: {output:?}");
        let client = read(folder.path(), "ClientRequest.json")?;
        let mut judge = Self {
            results: HashMap::new(),
            notifications: by_method(&read(folder.path(), "ServerNotification.json")?),
            requests: by_method(&read(folder.path(), "ServerRequest.json")?),
            validators: HashMap::new(),
            asked: HashMap::new(),
            is_experimental: experimental,
            folder,
        };
        for (method, schema) in by_method(&client) {
            let params = schema["properties"]["params"]["$ref"].as_str();
            let name = params.and_then(|name| name.rsplit('/').next());
            let name = name.map(|name| name.replace("Params", "Response"));
            let named = NAMED_OTHERWISE.iter().find(|(other, _)| *other == method);
            let name = named.map(|(_, name)| (*name).to_owned()).or(name);
            let folders = ["v2", "v1", "."].map(|each| judge.folder.path().join(each));
            let files = name.iter().flat_map(|name| {
                let file = format!("{name}.json");
                folders.iter().map(move |folder| folder.join(&file))
            });
            if let Some(file) = files.into_iter().find(|file| file.is_file()) {
                judge.results.insert(method, file);
            }
        }
        Ok(judge)
    }

    /// All that a client can ask for.
    pub fn methods(&self) -> anyhow::Result<BTreeSet<String>> {
        let client = read(self.folder.path(), "ClientRequest.json")?;
        Ok(by_method(&client).into_keys().collect())
    }

    /// What is wrong with these; all of one server.
    pub fn misfits(&mut self, frames: &[TappedFrame]) -> Vec<String> {
        let mut misfits = Vec::new();
        for tapped in frames {
            let connection = tapped.connection.to_string();
            let wrong = self.judge(&connection, tapped.by_server, &tapped.frame);
            misfits.extend(wrong.map(|wrong| format!("{wrong}: {}", tapped.frame)));
        }
        misfits
    }

    /// A client's frame is only remembered: its answer is to fit.
    pub fn judge(&mut self, connection: &str, by_server: bool, frame: &Value) -> Option<String> {
        let method = frame["method"].as_str();
        let id = (!frame["id"].is_null()).then(|| frame["id"].to_string());
        let key = |id: &String| (connection.to_owned(), id.clone());
        match (by_server, method, id) {
            (false, Some(method), Some(id)) => {
                self.asked.insert(key(&id), method.to_owned());
                None
            }
            (false, ..) => None,
            (true, Some(method), None) => {
                let schema = self.notifications.get(method).cloned();
                self.held("notification", method, schema, frame)
            }
            (true, Some(method), Some(_)) => {
                let schema = self.requests.get(method).cloned();
                self.held("request", method, schema, frame)
            }
            (true, None, _) if frame.get("error").is_some() => {
                let schema = read(self.folder.path(), "JSONRPCError.json").ok();
                // One to a frame that could not be read has no id to give.
                let schema = schema.filter(|_| !frame["id"].is_null());
                schema.and_then(|schema| self.held("error", "", Some(schema), frame))
            }
            (true, None, Some(id)) => {
                let Some(method) = self.asked.get(&key(&id)).cloned() else {
                    return Some("an answer to nothing".to_owned());
                };
                // What only those ask for who take part in experiments is no part of what is stable.
                let is_known = self.is_experimental || self.results.contains_key(&method);
                if method.starts_with(OURS) || method == OLDER || !is_known {
                    return None;
                }
                let file = self.results.get(&method);
                let schema = file.and_then(|file| read(file, "").ok());
                self.held("result", &method, schema, &frame["result"])
            }
            (true, None, None) => Some("neither an answer nor a notification".to_owned()),
        }
    }

    fn held(
        &mut self,
        kind: &str,
        method: &str,
        schema: Option<Value>,
        value: &Value,
    ) -> Option<String> {
        let name = format!("{kind} {method}");
        if !self.validators.contains_key(&name) {
            let Some(schema) = schema else {
                return Some(format!("the app-server has no {name}"));
            };
            match jsonschema::validator_for(&schema) {
                Ok(validator) => self.validators.insert(name.clone(), validator),
                Err(error) => return Some(format!("{name}: {error}")),
            };
        }
        let error = self.validators.get(&name)?.validate(value).err()?;
        Some(format!("{name}: {}: {error}", error.instance_path()))
    }
}

fn read(folder: &Path, name: &str) -> anyhow::Result<Value> {
    let path = match name {
        "" => folder.to_path_buf(),
        _ => folder.join(name),
    };
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}

/// One schema for each method, with the definitions that it may use.
fn by_method(all: &Value) -> HashMap<String, Value> {
    let each = all["oneOf"].as_array().into_iter().flatten();
    each.filter_map(|entry| {
        let method = entry["properties"]["method"]["enum"][0].as_str()?;
        let mut schema = entry.clone();
        schema["definitions"] = all["definitions"].clone();
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        Some((method.to_owned(), schema))
    })
    .collect()
}

#[test]
fn every_frame_of_every_transcript_fits_the_clients_own_schema() -> anyhow::Result<()> {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut frames, mut misfits) = (0, Vec::new());
    for experimental in [true, false] {
        let mut judge = CodexJudge::new(experimental)?;
        for story in std::fs::read_dir(&stories)? {
            let path = story?.path().join("codex.transcript");
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            judge.asked.clear();
            for (line, number) in text.lines().zip(1..) {
                let Some((who, frame)) = line.split_once(' ') else {
                    continue;
                };
                let (Some(direction @ ('<' | '>')), Ok(frame)) =
                    (who.chars().last(), serde_json::from_str::<Value>(frame))
                else {
                    continue;
                };
                let who = who.trim_end_matches(['<', '>']);
                frames += usize::from(direction == '<');
                let wrong = judge.judge(who, direction == '<', &frame);
                let at = path.display();
                misfits.extend(wrong.map(|wrong| format!("{at}:{number}: {wrong}")));
            }
        }
    }
    let shown: Vec<_> = misfits.iter().take(40).cloned().collect();
    ensure!(
        misfits.is_empty(),
        "{} misfits:\n{}",
        misfits.len(),
        shown.join("\n")
    );
    ensure!(frames > 1_000, "only {frames} frames were looked at");
    Ok(())
}

#[test]
fn the_methods_we_know_of_are_those_of_the_pinned_client() -> anyhow::Result<()> {
    let known = include_str!("../../../dialects/src/codex/tests/methods.txt");
    let known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    assert_eq!(CodexJudge::new(true)?.methods()?, known);
    Ok(())
}

#[test]
fn a_frame_that_lacks_what_the_client_needs_is_no_fit() -> anyhow::Result<()> {
    let mut judge = CodexJudge::new(true)?;
    let delta = json!({ "method": "item/agentMessage/delta", "params": {
        "threadId": "t", "turnId": "u", "itemId": "i", "delta": "d" } });
    assert_eq!(judge.judge("a", true, &delta), None);
    let mut lacking = delta.clone();
    lacking["params"]
        .as_object_mut()
        .context("params")?
        .remove("delta");
    assert!(judge.judge("a", true, &lacking).is_some());
    let unknown = json!({ "method": "no/such", "params": {} });
    assert!(judge.judge("a", true, &unknown).is_some());
    judge.judge(
        "a",
        false,
        &json!({ "id": 1, "method": "model/list", "params": {} }),
    );
    let answer = json!({ "id": 1, "result": { "data": [{ "id": "x" }] } });
    assert!(judge.judge("a", true, &answer).is_some());
    assert!(judge.judge("b", true, &answer).is_some(), "nobody asked");
    Ok(())
}
