//! The configuration: what new threads of a directory begin with can be written, the model and how hard
//! it thinks. Everything else of the app-server's configuration is refused by name.

use std::path::PathBuf;

use serde_json::Value;
use vocabulary::{Call, Changed, Changes, NamedModel, Refusal, Reply, ThreadId};

use super::calls::CodexPurpose;
use super::hear::{read, repeated};
use super::refuse::CodexError;
use super::wire::config::{
    ConfigBatchWriteParams, ConfigEdit, ConfigReadResponse, ConfigValueWriteParams,
    ConfigWriteResponse,
};
use super::wire::results::Empty;
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

/// No versions are kept of what is written: a write says what it changes, and the last one counts.
const VERSION: &str = "unversioned";

#[derive(Debug)]
pub enum ConfigRequest {
    Read,
    Write(ConfigWrite),
}

/// What is to be written, and by which method that was said.
#[derive(Debug)]
pub struct ConfigWrite {
    method: &'static str,
    edits: Vec<ConfigEdit>,
}

/// What an answer of the engine is for. What becomes a default is in force in the thread first: that is
/// what clients mean who have their configuration loaded anew.
#[derive(Clone, Debug)]
pub enum ConfigPurpose {
    Changed(KeptDefaults),
    Kept(KeptDefaults),
}

#[derive(Clone, Debug)]
pub struct KeptDefaults {
    thread: ThreadId,
    settings: Vec<Changed>,
    directory: PathBuf,
}

pub fn request(method: &str, params: &Value) -> Option<Result<ConfigRequest, CodexError>> {
    Some(match method {
        "config/read" => Ok(ConfigRequest::Read),
        "config/value/write" => value_write(params),
        "config/batchWrite" => batch_write(params),
        _ => return None,
    })
}

fn value_write(params: &Value) -> Result<ConfigRequest, CodexError> {
    let method = "config/value/write";
    let params: ConfigValueWriteParams = read(method, params.clone())?;
    check(method, params.file_path, params.expected_version)?;
    let edits = vec![params.edit];
    Ok(ConfigRequest::Write(ConfigWrite { method, edits }))
}

fn batch_write(params: &Value) -> Result<ConfigRequest, CodexError> {
    let method = "config/batchWrite";
    let params: ConfigBatchWriteParams = read(method, params.clone())?;
    check(method, params.file_path, params.expected_version)?;
    let edits = params.edits;
    Ok(ConfigRequest::Write(ConfigWrite { method, edits }))
}

fn check(method: &str, file: Option<String>, version: Option<String>) -> Result<(), CodexError> {
    if file.is_some() {
        let why = "the thread's directory says where; expected null";
        return Err(CodexError::params(format!("{method}: filePath: {why}")));
    }
    if version.is_some_and(|version| version != VERSION) {
        let message = format!("{method}: expectedVersion: no versions are kept; expected null");
        return Err(CodexError::params(message));
    }
    Ok(())
}

impl Codex {
    pub(super) fn config(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: ConfigRequest,
    ) -> Result<(), CodexError> {
        match request {
            ConfigRequest::Read => {
                let answer = ConfigReadResponse {
                    config: Empty {},
                    origins: Empty {},
                    layers: None,
                };
                send(out, respond(&id, &answer));
                Ok(())
            }
            ConfigRequest::Write(write) => self.config_write(out, id, write),
        }
    }

    /// All edits or none: what cannot be kept is found before anything is written.
    fn config_write(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        write: ConfigWrite,
    ) -> Result<(), CodexError> {
        let method = write.method;
        let newest = self.listening.newest();
        let Some(known) = newest.and_then(|thread| self.listening.known(thread)) else {
            let message = format!("{method}: open a thread first: its directory is meant");
            return Err(CodexError::request(message));
        };
        let (mut model, mut effort) = (None, None);
        for edit in write.edits {
            match edit.key_path.as_str() {
                "model" => model = Some(word(method, &edit)?),
                "model_reasoning_effort" => effort = Some(word(method, &edit)?),
                other => return Err(unknown_key(method, other)),
            }
        }
        let now = self.names.of(&known.settings.model);
        let chosen = model.as_deref().unwrap_or(now);
        // A word that we made up for a model that has no efforts is nobody's wish.
        let effort = effort.filter(|effort| !self.names.is_made_up(effort, chosen, now));
        let kept = KeptDefaults {
            thread: known.card.id,
            settings: [
                model.is_some().then_some(Changed::Model),
                effort.is_some().then_some(Changed::Effort),
            ]
            .into_iter()
            .flatten()
            .collect(),
            directory: known.card.directory.clone(),
        };
        let thread = kept.thread;
        let changes = Changes {
            named_model: model.map(NamedModel::Listed),
            effort,
            ..Changes::default()
        };
        let purpose = CodexPurpose::Config(id, Box::new(ConfigPurpose::Changed(kept)));
        self.calls
            .make(out, purpose, Call::ChangeThread { thread, changes });
        Ok(())
    }

    pub(super) fn configured(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        purpose: ConfigPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match purpose {
            ConfigPurpose::Changed(kept) => {
                let (thread, settings) = (kept.thread, kept.settings.clone());
                let purpose = ConfigPurpose::Kept(kept);
                let purpose = CodexPurpose::Config(id.clone(), Box::new(purpose));
                let call = Call::KeepDefaults { thread, settings };
                self.calls.make(out, purpose, call);
            }
            ConfigPurpose::Kept(kept) => {
                reply.done()?;
                let answer = ConfigWriteResponse {
                    status: "ok",
                    version: VERSION,
                    // In which file there is the engine's own business.
                    file_path: kept.directory.to_string_lossy().into_owned(),
                };
                send(out, respond(id, &answer));
            }
        }
        Ok(())
    }
}

fn word(method: &str, edit: &ConfigEdit) -> Result<String, CodexError> {
    let word = edit.value.as_str().map(str::trim);
    let word = word.filter(|word| !word.is_empty());
    word.map(str::to_owned).ok_or_else(|| {
        let key = repeated(&edit.key_path);
        CodexError::params(format!("{method}: {key}: expected a word"))
    })
}

fn unknown_key(method: &str, key: &str) -> CodexError {
    let key = repeated(key);
    let message = format!(
        "{method}: {key}: this is not kept by the server; expected model or model_reasoning_effort"
    );
    CodexError::params(message)
}
