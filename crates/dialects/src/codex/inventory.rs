//! What there is besides threads and models: the skills of a directory, and lists that are empty here
//! because nothing of their kind exists.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vocabulary::{
    Call, Refusal, Reply, Skill, SkillCall, SkillLook, SkillTier, ThreadId, ThreadQuery,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::hear::read;
use super::refuse::CodexError;
use super::wire::inventory::{
    AccountRateLimitsResponse, AccountTokenUsageResponse, AppsInstalledResponse,
    BedrockCheckGovCloudRequirementsResponse, HooksListEntry, HooksListParams,
    MemoryStatusResponse, ModelProviderCapabilitiesReadResponse, PluginListResponse,
    SkillInterface, SkillMetadata, SkillScope, SkillsConfigWriteParams, SkillsConfigWriteResponse,
    SkillsListEntry, SkillsListParams, ThreadGoalClearResponse, ThreadGoalGetResponse,
};
use super::wire::params::ThreadParams;
use super::wire::results::{Empty, Page};
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

/// Directories that one request may ask for.
const DIRECTORIES_MAX: usize = 32;

#[derive(Debug)]
pub enum InventoryRequest {
    Skills(SkillsListParams),
    SkillWrite(SkillsConfigWriteParams),
    Hooks(HooksListParams),
    Plugins,
    /// A list in pages that has nothing in it: apps, features, projects, plugins that fit some words.
    EmptyPage,
    InstalledApps,
    /// Files of MCP servers are looked at anew whenever they are needed.
    ReloadServers,
    MemoryStatus,
    ProviderCapabilities,
    GovCloud,
    RateLimits,
    Usage,
    /// What threads can have elsewhere: only whether the thread is there is looked up.
    OfThread(ThreadParams, ThreadHas),
}

/// Nothing of it is kept here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadHas {
    Goal,
    /// Asked for to be taken away.
    GoalCleared,
    Queue,
    Attachments,
}

/// What an answer of the engine is for.
#[derive(Clone, Debug)]
pub enum InventoryPurpose {
    /// A thread of the directory, through which its skills are found.
    SkillThread(SkillsListing),
    Skills(SkillsListing),
    SkillWrite {
        thread: ThreadId,
        wanted: SkillsConfigWriteParams,
    },
    SkillWritten {
        name: String,
    },
    OfThread(ThreadHas),
}

/// One directory after the other; the first of those left is being looked at.
#[derive(Clone, Debug)]
pub struct SkillsListing {
    left: Vec<String>,
    done: Vec<SkillsListEntry>,
}

impl SkillsListing {
    fn found(&mut self, skills: Vec<SkillMetadata>) {
        if let Some(cwd) = self.left.pop() {
            self.done.push(SkillsListEntry {
                cwd,
                skills,
                errors: [],
            });
        }
    }
}

/// Only for the app-server's own clients.
pub fn request(method: &str, params: &Value) -> Option<Result<InventoryRequest, CodexError>> {
    use InventoryRequest as R;
    let of_thread = |has| Ok(R::OfThread(read(method, params.clone())?, has));
    Some(match method {
        "skills/list" => read(method, params.clone()).map(R::Skills),
        "skills/config/write" => read(method, params.clone()).map(R::SkillWrite),
        "hooks/list" => read(method, params.clone()).map(R::Hooks),
        "plugin/list" | "plugin/installed" => Ok(R::Plugins),
        "app/list" | "experimentalFeature/list" | "plugin/search" | "project/list" => {
            Ok(R::EmptyPage)
        }
        "config/mcpServer/reload" => Ok(R::ReloadServers),
        "app/installed" => Ok(R::InstalledApps),
        "memory/status" => Ok(R::MemoryStatus),
        "modelProvider/capabilities/read" => Ok(R::ProviderCapabilities),
        "account/bedrock/checkGovCloudRequirements" => Ok(R::GovCloud),
        "account/rateLimits/read" => Ok(R::RateLimits),
        "account/usage/read" => Ok(R::Usage),
        "thread/goal/get" => of_thread(ThreadHas::Goal),
        "thread/goal/clear" => of_thread(ThreadHas::GoalCleared),
        "thread/queue/list" => of_thread(ThreadHas::Queue),
        "thread/attachment/list" => of_thread(ThreadHas::Attachments),
        _ => return None,
    })
}

impl Codex {
    pub(super) fn inventory(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: InventoryRequest,
    ) -> Result<(), CodexError> {
        let answer = match request {
            InventoryRequest::Skills(params) => return self.skills(out, id, params),
            InventoryRequest::SkillWrite(params) => return self.skill_write(out, id, params),
            InventoryRequest::OfThread(params, has) => {
                let thread = parse(&params.thread_id)?;
                let purpose = InventoryPurpose::OfThread(has);
                self.look(out, id, purpose, Call::GetThread { thread });
                return Ok(());
            }
            InventoryRequest::Hooks(params) => {
                let mut cwds = within("hooks/list", params.cwds)?;
                if let Some(thread) = params.thread_id.as_deref() {
                    let known = self.listening.known(parse(thread)?);
                    let of_thread = known.map(|known| known.card.directory.to_string_lossy());
                    cwds.extend(of_thread.map(|cwd| cwd.into_owned()));
                }
                let data = cwds.into_iter().map(|cwd| HooksListEntry {
                    cwd: cwd.into(),
                    hooks: [],
                    warnings: [],
                    errors: [],
                });
                respond(&id, &page(data.collect()))
            }
            InventoryRequest::Plugins => respond(&id, &PluginListResponse::default()),
            InventoryRequest::EmptyPage => respond(&id, &page::<Empty>(Vec::new())),
            InventoryRequest::ReloadServers => respond(&id, &Empty {}),
            InventoryRequest::InstalledApps => respond(&id, &AppsInstalledResponse::default()),
            InventoryRequest::MemoryStatus => respond(&id, &MemoryStatusResponse::default()),
            InventoryRequest::ProviderCapabilities => {
                respond(&id, &ModelProviderCapabilitiesReadResponse::default())
            }
            InventoryRequest::GovCloud => {
                respond(&id, &BedrockCheckGovCloudRequirementsResponse::default())
            }
            InventoryRequest::RateLimits => respond(&id, &AccountRateLimitsResponse::default()),
            InventoryRequest::Usage => respond(&id, &AccountTokenUsageResponse::default()),
        };
        send(out, answer);
        Ok(())
    }

    fn look(&mut self, out: &mut Vec<Action>, id: Id, purpose: InventoryPurpose, call: Call) {
        let purpose = CodexPurpose::Inventory(id, Box::new(purpose));
        self.calls.make(out, purpose, call);
    }

    /// Nothing is cached, so `forceReload` changes nothing.
    fn skills(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: SkillsListParams,
    ) -> Result<(), CodexError> {
        let mut left = within("skills/list", params.cwds)?;
        if left.is_empty() {
            // The directory that this client works in.
            let newest = self.listening.newest();
            let known = newest.and_then(|thread| self.listening.known(thread));
            left.extend(known.map(|known| known.card.directory.to_string_lossy().into_owned()));
        }
        left.reverse();
        let done = Vec::new();
        self.next_skills(out, id, SkillsListing { left, done });
        Ok(())
    }

    /// Skills are looked up through a thread that works in the directory.
    fn next_skills(&mut self, out: &mut Vec<Action>, id: Id, listing: SkillsListing) {
        let Some(cwd) = listing.left.last() else {
            return send(out, respond(&id, &page(listing.done)));
        };
        let directory = PathBuf::from(cwd);
        let (purpose, call) = match self.listening.in_directory(&directory) {
            Some(thread) => {
                let call = SkillCall::List;
                (
                    InventoryPurpose::Skills(listing),
                    Call::Skills { thread, call },
                )
            }
            None => {
                let query = ThreadQuery {
                    hidden: true,
                    directories: vec![directory],
                    limit: Some(1),
                    ..ThreadQuery::default()
                };
                (
                    InventoryPurpose::SkillThread(listing),
                    Call::ListThreads(query),
                )
            }
        };
        self.look(out, id, purpose, call);
    }

    fn skill_write(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        wanted: SkillsConfigWriteParams,
    ) -> Result<(), CodexError> {
        if wanted.name.is_none() == wanted.path.is_none() {
            let message = "skills/config/write: name, path: expected one of the two";
            return Err(CodexError::params(message));
        }
        let Some(thread) = self.listening.newest() else {
            let message = "skills/config/write: open a thread of the directory first";
            return Err(CodexError::request(message));
        };
        let call = SkillCall::List;
        let purpose = InventoryPurpose::SkillWrite { thread, wanted };
        self.look(out, id, purpose, Call::Skills { thread, call });
        Ok(())
    }

    pub(super) fn inventoried(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        purpose: InventoryPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match purpose {
            InventoryPurpose::SkillThread(mut listing) => {
                let threads = reply.threads()?.threads;
                let Some(thread) = threads.first().map(|thread| thread.card.id) else {
                    listing.found(Vec::new());
                    self.next_skills(out, id.clone(), listing);
                    return Ok(());
                };
                let call = SkillCall::List;
                let purpose = InventoryPurpose::Skills(listing);
                self.look(out, id.clone(), purpose, Call::Skills { thread, call });
            }
            InventoryPurpose::Skills(mut listing) => {
                listing.found(reply.skills()?.into_iter().map(skill).collect());
                self.next_skills(out, id.clone(), listing);
            }
            InventoryPurpose::SkillWrite { thread, wanted } => {
                let skills = reply.skills()?;
                let Some(name) = meant(&skills, &wanted) else {
                    let field = if wanted.name.is_some() {
                        "name"
                    } else {
                        "path"
                    };
                    let message = format!("skills/config/write: {field}: there is no such skill");
                    send(out, CodexError::params(message).frame(Some(id)));
                    return Ok(());
                };
                let enabled = wanted.enabled;
                let call = SkillCall::SetEnabled {
                    name: name.clone(),
                    enabled,
                };
                let purpose = InventoryPurpose::SkillWritten { name };
                self.look(out, id.clone(), purpose, Call::Skills { thread, call });
            }
            InventoryPurpose::SkillWritten { name } => {
                let skills = reply.skills()?;
                let mut named = skills.iter().filter(|skill| skill.name == name);
                let effective_enabled = named.next().is_some_and(|skill| skill.enabled);
                let answer = SkillsConfigWriteResponse { effective_enabled };
                send(out, respond(id, &answer));
            }
            InventoryPurpose::OfThread(has) => {
                reply.thread()?;
                let answer = match has {
                    ThreadHas::Goal => respond(id, &ThreadGoalGetResponse::default()),
                    ThreadHas::GoalCleared => respond(id, &ThreadGoalClearResponse::default()),
                    ThreadHas::Queue | ThreadHas::Attachments => {
                        respond(id, &page::<Empty>(Vec::new()))
                    }
                };
                send(out, answer);
            }
        }
        Ok(())
    }
}

fn page<T>(data: Vec<T>) -> Page<T> {
    let next_cursor = None;
    Page { data, next_cursor }
}

fn within(method: &str, cwds: Vec<String>) -> Result<Vec<String>, CodexError> {
    if cwds.len() > DIRECTORIES_MAX {
        let message = format!("{method}: cwds: at most {DIRECTORIES_MAX}");
        return Err(CodexError::params(message));
    }
    if cwds.iter().any(|cwd| !Path::new(cwd).is_absolute()) {
        let message = format!("{method}: cwds: expected absolute paths");
        return Err(CodexError::params(message));
    }
    Ok(cwds)
}

/// The skill that a client means; of two with one name the first is in use.
fn meant(skills: &[Skill], wanted: &SkillsConfigWriteParams) -> Option<String> {
    let by_name = |skill: &&Skill| wanted.name.as_ref() == Some(&skill.name);
    let by_path = |skill: &&Skill| {
        let path = wanted.path.as_deref().map(Path::new);
        path == Some(skill.path.as_path())
    };
    let mut all = skills.iter();
    let skill = all.find(|skill| by_name(skill) || by_path(skill));
    skill.map(|skill| skill.name.clone())
}

fn skill(skill: Skill) -> SkillMetadata {
    SkillMetadata {
        name: skill.name,
        description: skill.description,
        short_description: skill
            .interface
            .as_ref()
            .and_then(|look| look.short_description.clone()),
        path: skill.path.to_string_lossy().into_owned(),
        scope: match skill.tier {
            SkillTier::Project => SkillScope::Repo,
            SkillTier::Global | SkillTier::User => SkillScope::User,
            SkillTier::BuiltIn => SkillScope::System,
        },
        enabled: skill.enabled,
        interface: skill.interface.map(interface),
    }
}

fn interface(look: SkillLook) -> SkillInterface {
    SkillInterface {
        display_name: look.display_name,
        short_description: look.short_description,
        icon_small_url: look.icon_small,
        icon_large_url: look.icon_large,
        default_prompt: look.default_prompt,
    }
}
