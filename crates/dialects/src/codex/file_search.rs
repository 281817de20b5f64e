//! `fuzzyFileSearch`: once, or as a session whose query grows letter by letter.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vocabulary::{Call, FindFiles, FoundFile, FoundFiles, ThreadId};

use super::calls::CodexPurpose;
use super::hear::{read, repeated};
use super::refuse::CodexError;
use super::tell::notify;
use super::wire::file_search::{
    FuzzyFileSearchMatchType, FuzzyFileSearchParams, FuzzyFileSearchResponse,
    FuzzyFileSearchResult, FuzzyFileSearchSessionCompleted, FuzzyFileSearchSessionStartParams,
    FuzzyFileSearchSessionStopParams, FuzzyFileSearchSessionUpdateParams,
    FuzzyFileSearchSessionUpdated,
};
use super::wire::results::Empty;
use super::{Codex, Endpoint, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

/// Sessions that one connection may have; one more is refused.
const SESSIONS_MAX: usize = 16;
const FILES_DEFAULT: u32 = 50;
/// Directories of threads that are searched where no root is named, the newest first.
const THREADS_SEARCHED_MAX: usize = 8;

#[derive(Debug)]
pub enum FileSearchRequest {
    Once(FuzzyFileSearchParams),
    Start(FuzzyFileSearchSessionStartParams),
    Update(FuzzyFileSearchSessionUpdateParams),
    Stop(FuzzyFileSearchSessionStopParams),
}

/// What a search is for.
#[derive(Debug)]
pub enum FileSearchPurpose {
    Once(Id),
    Session { session: String, query: String },
}

/// The sessions of a connection, by the names that its client gave them.
#[derive(Default)]
pub struct FileSearches(HashMap<String, SearchSession>);

struct SearchSession {
    roots: Vec<PathBuf>,
    /// What was typed last; answers to what was typed before come too late.
    query: String,
}

pub fn request(method: &str, params: Value) -> Result<FileSearchRequest, CodexError> {
    Ok(match method {
        "fuzzyFileSearch" => FileSearchRequest::Once(read(method, params)?),
        "fuzzyFileSearch/sessionStart" => FileSearchRequest::Start(read(method, params)?),
        "fuzzyFileSearch/sessionUpdate" => FileSearchRequest::Update(read(method, params)?),
        "fuzzyFileSearch/sessionStop" => FileSearchRequest::Stop(read(method, params)?),
        _ => return Err(CodexError::unknown_method(repeated(method))),
    })
}

impl Codex {
    pub(super) fn file_search(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: FileSearchRequest,
    ) -> Result<(), CodexError> {
        match request {
            FileSearchRequest::Once(params) => return self.search_once(out, id, params),
            FileSearchRequest::Start(params) => {
                let roots = roots("fuzzyFileSearch/sessionStart", params.roots)?;
                let sessions = &mut self.searches.0;
                if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(&params.session_id) {
                    let message = format!("at most {SESSIONS_MAX} searches at once; stop one");
                    return Err(CodexError::request(message));
                }
                let query = String::new();
                sessions.insert(params.session_id, SearchSession { roots, query });
                send(out, respond(&id, &Empty {}));
            }
            FileSearchRequest::Update(params) => return self.search_again(out, &id, params),
            FileSearchRequest::Stop(params) => {
                self.searches.0.remove(&params.session_id);
                send(out, respond(&id, &Empty {}));
            }
        }
        Ok(())
    }

    fn search_once(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: FuzzyFileSearchParams,
    ) -> Result<(), CodexError> {
        let named = params.roots.unwrap_or_default();
        let (roots, threads) = match (named.is_empty(), self.endpoint) {
            (false, _) => (roots("fuzzyFileSearch", named)?, Vec::new()),
            // Its client means the directories that it works in.
            (true, Endpoint::Zane) => (Vec::new(), self.threads_searched()),
            (true, Endpoint::Codex) => {
                let message = "fuzzyFileSearch: roots: expected at least one absolute path";
                return Err(CodexError::params(message));
            }
        };
        let call = Call::FindFiles(FindFiles {
            query: params.query,
            roots,
            threads,
            limit: params.limit.unwrap_or(FILES_DEFAULT),
        });
        let purpose = CodexPurpose::FileSearch(FileSearchPurpose::Once(id));
        self.calls.make(out, purpose, call);
        Ok(())
    }

    fn threads_searched(&self) -> Vec<ThreadId> {
        let mut threads = self.listening.newest_first();
        threads.truncate(THREADS_SEARCHED_MAX);
        threads
    }

    fn search_again(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        params: FuzzyFileSearchSessionUpdateParams,
    ) -> Result<(), CodexError> {
        let Some(session) = self.searches.0.get_mut(&params.session_id) else {
            let name = repeated(&params.session_id);
            let message = format!("there is no search {name:?}; start it first");
            return Err(CodexError::request(message));
        };
        session.query.clone_from(&params.query);
        let call = Call::FindFiles(FindFiles {
            query: params.query.clone(),
            roots: session.roots.clone(),
            threads: Vec::new(),
            limit: FILES_DEFAULT,
        });
        send(out, respond(id, &Empty {}));
        let purpose = CodexPurpose::FileSearch(FileSearchPurpose::Session {
            session: params.session_id,
            query: params.query,
        });
        self.calls.make(out, purpose, call);
        Ok(())
    }

    pub(super) fn files_found(
        &self,
        out: &mut Vec<Action>,
        purpose: &FileSearchPurpose,
        found: &FoundFiles,
    ) {
        let files: Vec<_> = found.files.iter().map(shown).collect();
        match purpose {
            FileSearchPurpose::Once(id) => {
                let data = (self.endpoint == Endpoint::Zane).then(|| files.clone());
                send(out, respond(id, &FuzzyFileSearchResponse { files, data }));
            }
            FileSearchPurpose::Session { session, query } => {
                if !self.is_wanted(session, query) {
                    return;
                }
                let session_id = session;
                let updated = FuzzyFileSearchSessionUpdated {
                    session_id,
                    query,
                    files,
                };
                send(out, notify("fuzzyFileSearch/sessionUpdated", &updated));
                self.search_ended(out, session, query);
            }
        }
    }

    /// Also where it was refused: nobody waits for ever.
    pub(super) fn search_ended(&self, out: &mut Vec<Action>, session_id: &str, query: &str) {
        if self.is_wanted(session_id, query) {
            let completed = FuzzyFileSearchSessionCompleted { session_id };
            send(out, notify("fuzzyFileSearch/sessionCompleted", &completed));
        }
    }

    fn is_wanted(&self, session: &str, query: &str) -> bool {
        let session = self.searches.0.get(session);
        session.is_some_and(|session| session.query == query)
    }
}

fn roots(method: &str, named: Vec<String>) -> Result<Vec<PathBuf>, CodexError> {
    let is_absolute = |root: &String| Path::new(root).is_absolute();
    match !named.is_empty() && named.iter().all(is_absolute) {
        true => Ok(named.into_iter().map(PathBuf::from).collect()),
        false => Err(CodexError::params(format!(
            "{method}: roots: expected absolute paths"
        ))),
    }
}

fn shown(file: &FoundFile) -> FuzzyFileSearchResult<'_> {
    let name = file.path.rsplit('/').next();
    FuzzyFileSearchResult {
        root: file.root.to_string_lossy(),
        path: &file.path,
        match_type: match file.is_directory {
            true => FuzzyFileSearchMatchType::Directory,
            false => FuzzyFileSearchMatchType::File,
        },
        file_name: name.unwrap_or(&file.path),
        score: file.score,
        indices: &file.matched,
    }
}
