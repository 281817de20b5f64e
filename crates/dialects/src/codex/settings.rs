//! What a thread is set to: changed between turns and while one runs, and told to whoever hears it.

use vocabulary::{AgentMode, Call, Catalog, Changes, NamedModel, Refusal, Reply, ThreadView};

use super::act::parse;
use super::calls::CodexPurpose;
use super::listening::KnownThread;
use super::permissions::{self, PermissionFields, REVIEWER, RequestedPermissions};
use super::refuse::CodexError;
use super::tell::notify;
use super::wire::params::{CollaborationMode, CollaborationSettings};
use super::wire::results::{CollaborationModeMask, Page};
use super::wire::settings::{
    ActiveCollaborationMode, ActiveCollaborationSettings, CodexThreadSettings,
    PermissionProfileListParams, PermissionProfileSummary, ThreadSettingsUpdateParams,
    ThreadSettingsUpdated,
};
use super::{Codex, Endpoint, respond, send, thinking};
use crate::Action;
use crate::jsonrpc::Id;

/// What a client may say of how work is to be done in a thread; it is kept with its settings.
pub const INSTRUCTIONS_BYTES_MAX: usize = 16 * 1024;

/// What the modes are for, in words that Zane's client shows and sends back.
const PLAN_WORDS: &str = "Look around and ask, change nothing, and propose a plan.";
const CODE_WORDS: &str = "Do the work.";

#[derive(Debug)]
pub enum SettingsRequest {
    Update(Box<ThreadSettingsUpdateParams>),
    Profiles(PermissionProfileListParams),
    Modes,
}

/// What an answer about settings is for.
#[derive(Debug)]
pub enum SettingsPurpose {
    /// To know the thread that is to be changed, where it is not heard.
    Thread(Id, Box<WantedSettings>),
    Profiles(Id, PermissionProfileListParams),
    /// The settings of a thread that is heard changed: how it stands now.
    Changed,
}

impl SettingsPurpose {
    /// Whose request it is; nobody's where the settings changed by themselves.
    pub fn id(&self) -> Option<&Id> {
        match self {
            SettingsPurpose::Thread(id, _) | SettingsPurpose::Profiles(id, _) => Some(id),
            SettingsPurpose::Changed => None,
        }
    }
}

/// Settings that are to change, read but for what depends on their thread.
#[derive(Clone, Debug)]
pub struct WantedSettings {
    permissions: RequestedPermissions,
    mode: Option<WantedMode>,
    params: ThreadSettingsUpdateParams,
}

/// A collaboration mode that was asked for.
#[derive(Clone, Debug, Default)]
pub struct WantedMode {
    plans: Option<bool>,
    pub settings: CollaborationSettings,
}

impl WantedMode {
    /// Reads what a request says of it.
    pub fn read(
        method: &str,
        mode: Option<&CollaborationMode>,
    ) -> Result<Option<Self>, CodexError> {
        let Some(mode) = mode else {
            return Ok(None);
        };
        let plans = match mode.mode.as_deref() {
            None => None,
            Some("plan") => Some(true),
            Some("default" | "code" | "pair_programming" | "execute" | "custom") => Some(false),
            Some(_) => {
                return Err(CodexError::params(format!(
                    "{method}: collaborationMode.mode: expected plan, default or code"
                )));
            }
        };
        let settings = mode.settings.clone().unwrap_or_default();
        let instructions = settings.developer_instructions.as_deref();
        if instructions.is_some_and(|text| text.len() > INSTRUCTIONS_BYTES_MAX) {
            return Err(CodexError::params(format!(
                "{method}: collaborationMode.settings.developer_instructions: at most \
                 {INSTRUCTIONS_BYTES_MAX} bytes"
            )));
        }
        Ok(Some(Self { plans, settings }))
    }

    /// What it changes. A thread that only talks is told as one that works, so a client that says this
    /// again wants nothing new.
    pub fn changes(&self, known: &KnownThread) -> Changes {
        let planning = known.settings.mode == AgentMode::Plan;
        let plans = self.plans.filter(|plans| *plans != planning);
        let instructions = self.settings.developer_instructions.as_deref();
        let instructions = instructions.map(str::trim).filter(|text| {
            let ours = [PLAN_WORDS, CODE_WORDS].contains(text);
            !text.is_empty() && !ours && known.settings.instructions.as_deref() != Some(text)
        });
        Changes {
            mode: plans.map(|plans| match plans {
                true => AgentMode::Plan,
                false => AgentMode::Code,
            }),
            instructions: instructions.map(str::to_owned),
            ..Changes::default()
        }
    }
}

impl Codex {
    pub(super) fn settings_request(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: SettingsRequest,
    ) -> Result<(), CodexError> {
        match request {
            SettingsRequest::Update(params) => self.update_settings(out, id, *params),
            SettingsRequest::Profiles(params) => {
                let purpose = SettingsPurpose::Profiles(id, params);
                self.calls
                    .make(out, CodexPurpose::Settings(purpose), Call::GetCatalog);
                Ok(())
            }
            SettingsRequest::Modes => {
                send(out, respond(&id, &modes(self.endpoint)));
                Ok(())
            }
        }
    }

    fn update_settings(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: ThreadSettingsUpdateParams,
    ) -> Result<(), CodexError> {
        let thread = parse(&params.thread_id)?;
        let wanted = WantedSettings::read(params)?;
        match self.listening.known(thread) {
            Some(known) => {
                let changes = self.settings_changes(known, &wanted)?;
                self.change(out, id, thread, changes);
            }
            None => {
                let purpose = SettingsPurpose::Thread(id, Box::new(wanted));
                let call = Call::ReadThread { thread, recent: 0 };
                self.calls.make(out, CodexPurpose::Settings(purpose), call);
            }
        }
        Ok(())
    }

    pub(super) fn settings_answer(
        &mut self,
        out: &mut Vec<Action>,
        purpose: &SettingsPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match purpose {
            SettingsPurpose::Thread(id, wanted) => {
                let view = reply.view()?;
                let known = KnownThread::new(&view);
                match self.settings_changes(&known, wanted) {
                    Ok(changes) => self.change(out, id.clone(), known.card.id, changes),
                    Err(wrong) => send(out, wrong.frame(Some(id))),
                }
            }
            SettingsPurpose::Profiles(id, params) => {
                send(out, respond(id, &profiles(&*reply.catalog()?, params)));
            }
            SettingsPurpose::Changed => {
                let view = reply.view()?;
                if self.listening.learn(&view) {
                    self.tell_settings(out, &view);
                }
            }
        }
        Ok(())
    }

    /// What is in force now depends on more than the settings themselves, so it is looked up.
    pub(super) fn settings_changed(&mut self, out: &mut Vec<Action>, thread: vocabulary::ThreadId) {
        let call = Call::ReadThread { thread, recent: 0 };
        let purpose = CodexPurpose::Settings(SettingsPurpose::Changed);
        self.calls.make(out, purpose, call);
    }

    /// Zane's protocol has no word for it.
    fn tell_settings(&self, out: &mut Vec<Action>, view: &ThreadView) {
        if self.endpoint == Endpoint::Zane {
            return;
        }
        let (known, settings) = (&view.thread, &view.thread.settings);
        let (model, effort) = (self.names.of(&settings.model), view.effort.as_deref());
        let told = ThreadSettingsUpdated {
            thread_id: &known.card.id.to_string(),
            thread_settings: CodexThreadSettings {
                cwd: known.card.directory.to_string_lossy(),
                approval_policy: permissions::approval_policy_in_force(self.endpoint, settings),
                approvals_reviewer: REVIEWER,
                sandbox_policy: permissions::sandbox_in_force(settings, view.sandbox),
                active_permission_profile: permissions::active_profile(settings, view.sandbox),
                model,
                model_provider: &settings.model.provider,
                effort,
                summary: settings.summary.map(vocabulary::SummaryDetail::word),
                collaboration_mode: ActiveCollaborationMode {
                    mode: match settings.mode {
                        AgentMode::Plan => "plan",
                        AgentMode::Chat | AgentMode::Code => "default",
                    },
                    settings: ActiveCollaborationSettings {
                        model,
                        reasoning_effort: effort,
                        developer_instructions: settings.instructions.as_deref(),
                    },
                },
            },
        };
        send(out, notify("thread/settings/updated", &told));
    }

    fn settings_changes(
        &self,
        known: &KnownThread,
        wanted: &WantedSettings,
    ) -> Result<Changes, CodexError> {
        let params = &wanted.params;
        wanted.permissions.check(METHOD, &known.card)?;
        let elsewhere = |cwd: &String| !cwd.is_empty() && known.card.directory != **cwd;
        if params.cwd.as_ref().is_some_and(elsewhere) {
            return Err(refused(
                "cwd: a thread stays where it began; start another one there",
            ));
        }
        let summary = format!("{METHOD}: summary");
        let summary = thinking::summary(&summary, params.summary.as_deref())?;
        let mode = wanted.mode.as_ref();
        let of_mode = mode.map(|mode| &mode.settings);
        let model = of_mode.and_then(|settings| settings.model.as_deref());
        let effort = of_mode.and_then(|settings| settings.reasoning_effort.as_deref());
        let (named_model, effort) = self.chosen(
            known,
            given(model).or(given(params.model.as_deref())),
            given(effort).or(given(params.effort.as_deref())),
        );
        let permissions =
            wanted
                .permissions
                .of_known(self.endpoint, &known.settings, known.sandbox);
        let of_mode = mode.map(|mode| mode.changes(known)).unwrap_or_default();
        Ok(Changes {
            named_model,
            effort,
            summary: summary.filter(|_| summary != known.settings.summary),
            mode: of_mode.mode,
            instructions: of_mode.instructions,
            ..permissions
        })
    }

    /// What a client chose that its thread has not: clients repeat everything with every turn.
    pub(super) fn chosen(
        &self,
        known: &KnownThread,
        model: Option<&str>,
        effort: Option<&str>,
    ) -> (Option<NamedModel>, Option<String>) {
        let settings = &known.settings;
        let in_use = self.names.of(&settings.model);
        let named = model.filter(|name| *name != in_use);
        let has = |effort: &&str| {
            let in_force = known.effort.as_deref().filter(|_| named.is_none());
            [settings.effort.as_deref(), in_force].contains(&Some(effort))
        };
        let made_up = |effort: &&str| {
            self.names
                .is_made_up(effort, named.unwrap_or(in_use), in_use)
        };
        let effort = effort.filter(|effort| !has(effort) && !made_up(effort));
        let named = named.map(|name| NamedModel::Listed(name.to_owned()));
        (named, effort.map(str::to_owned))
    }
}

const METHOD: &str = "thread/settings/update";

fn refused(message: &str) -> CodexError {
    CodexError::params(format!("{METHOD}: {message}"))
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

impl WantedSettings {
    fn read(params: ThreadSettingsUpdateParams) -> Result<Self, CodexError> {
        let fields = PermissionFields {
            method: METHOD,
            approval_policy: params.approval_policy.as_ref(),
            sandbox_policy: params.sandbox_policy.as_ref(),
            profile: params.permissions.as_deref(),
            ..PermissionFields::default()
        };
        let permissions = fields.read()?;
        if params
            .approvals_reviewer
            .as_deref()
            .is_some_and(|who| who != REVIEWER)
        {
            return Err(refused(
                "approvalsReviewer: expected user; nobody else answers here",
            ));
        }
        if params
            .service_tier
            .as_deref()
            .is_some_and(|tier| tier != "default")
        {
            return Err(refused(
                "serviceTier: expected none; models have one tier here",
            ));
        }
        let mode = WantedMode::read(METHOD, params.collaboration_mode.as_ref())?;
        Ok(Self {
            permissions,
            mode,
            params,
        })
    }
}

/// A cursor is the place of the next profile in the list.
fn profiles(
    catalog: &Catalog,
    params: &PermissionProfileListParams,
) -> Page<PermissionProfileSummary> {
    let start = params.cursor.as_deref();
    let start = start.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let limit = params
        .limit
        .map_or(usize::MAX, |limit| limit.max(1) as usize);
    let mut rest = permissions::profiles(catalog.permissions).skip(start);
    let data: Vec<_> = rest.by_ref().take(limit).collect();
    let next_cursor = rest.next().map(|_| (start + data.len()).to_string());
    Page { data, next_cursor }
}

/// collaborationMode/list
fn modes(endpoint: Endpoint) -> Page<CollaborationModeMask> {
    let mask = |name, mode, words| CollaborationModeMask {
        name,
        mode,
        model: None,
        reasoning_effort: None,
        developer_instructions: match endpoint {
            Endpoint::Zane => Some(words),
            Endpoint::Codex => None,
        },
    };
    let work = match endpoint {
        Endpoint::Zane => mask("Code", "code", CODE_WORDS),
        Endpoint::Codex => mask("Default", "default", CODE_WORDS),
    };
    Page {
        data: vec![mask("Plan", "plan", PLAN_WORDS), work],
        next_cursor: None,
    }
}
