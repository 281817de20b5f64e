//! A session of an agent: made anew or taken up again, with its mode and its model.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    CancelNotification, ContentBlock, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, PromptRequest, ResumeSessionRequest, ResumeSessionResponse,
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOptions, SessionId, SessionModeState, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use serde_json::{Value, json};

use crate::limits::MODELS_MAX;
use crate::{AcpError, AcpErrorKind, AgentConnection};

/// What the agent calls a conversation, and what can be set in it.
#[derive(Debug)]
pub struct AgentSession {
    pub id: SessionId,
    modes: Option<SessionModeState>,
    /// The mode that it was in when it was opened.
    first_mode: Option<String>,
    options: Vec<SessionConfigOption>,
    models: Vec<AgentModelChoice>,
    model: Option<String>,
    /// The option by which the model is set; by a method of its own where there is none.
    model_option: Option<String>,
}

/// A model that the agent has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentModelChoice {
    pub id: String,
    pub name: String,
}

/// What an agent knows of a conversation that it had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionMemory {
    Everything,
    Nothing,
}

/// Modes in which an agent looks and changes nothing, by the ids that known agents give them.
const PLAN_MODES: [&str; 2] = ["plan", "read-only"];

impl AgentSession {
    fn new(
        id: SessionId,
        modes: Option<SessionModeState>,
        options: Option<Vec<SessionConfigOption>>,
        raw: &Value,
    ) -> Self {
        let mut session = Self {
            id,
            first_mode: modes
                .as_ref()
                .map(|modes| modes.current_mode_id.to_string()),
            modes,
            options: options.unwrap_or_default(),
            models: Vec::new(),
            model: None,
            model_option: None,
        };
        match session.model_select() {
            Some((option, current, models)) => {
                session.model_option = Some(option);
                session.model = Some(current);
                session.models = models;
            }
            // As agents had it before there were options.
            None => {
                session.model = raw["models"]["currentModelId"].as_str().map(str::to_owned);
                let listed = raw["models"]["availableModels"].as_array();
                session.models = listed
                    .into_iter()
                    .flatten()
                    .filter_map(listed_model)
                    .collect();
            }
        }
        session.models.truncate(MODELS_MAX);
        session
    }

    /// The option that chooses the model, its value, and what there is.
    fn model_select(&self) -> Option<(String, String, Vec<AgentModelChoice>)> {
        let is_model = |option: &&SessionConfigOption| {
            option.category == Some(SessionConfigOptionCategory::Model)
        };
        let option = self.options.iter().find(is_model)?;
        let SessionConfigKind::Select(select) = &option.kind else {
            return None;
        };
        let choices = match &select.options {
            SessionConfigSelectOptions::Ungrouped(options) => options.iter().collect(),
            SessionConfigSelectOptions::Grouped(groups) => {
                groups.iter().flat_map(|group| &group.options).collect()
            }
            // A later version of the protocol may have more.
            _ => Vec::new(),
        };
        let models = choices.into_iter().map(|choice| AgentModelChoice {
            id: choice.value.to_string(),
            name: choice.name.clone(),
        });
        let current = select.current_value.to_string();
        Some((option.id.to_string(), current, models.collect()))
    }

    pub fn models(&self) -> &[AgentModelChoice] {
        &self.models
    }

    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The mode in which it changes nothing, if it has one.
    pub fn plan_mode(&self) -> Option<String> {
        let modes = &self.modes.as_ref()?.available_modes;
        let has = |id: &&str| modes.iter().any(|mode| &*mode.id.0 == *id);
        PLAN_MODES
            .iter()
            .find(|id| has(id))
            .map(|id| (*id).to_owned())
    }

    pub fn first_mode(&self) -> Option<String> {
        self.first_mode.clone()
    }
}

fn listed_model(model: &Value) -> Option<AgentModelChoice> {
    let id = model["modelId"].as_str()?;
    Some(AgentModelChoice {
        id: id.to_owned(),
        name: model["name"].as_str().unwrap_or(id).to_owned(),
    })
}

impl AgentConnection {
    pub async fn new_session(&mut self, directory: &Path) -> Result<AgentSession, AcpError> {
        let request = NewSessionRequest::new(directory);
        let raw = self.ask_session("session/new", &request).await?;
        let answer: NewSessionResponse = self.parsed("session/new", raw.clone())?;
        Ok(AgentSession::new(
            answer.session_id,
            answer.modes,
            answer.config_options,
            &raw,
        ))
    }

    /// Takes up a session of before, where the agent can do that and still has it; else makes a new one.
    pub async fn old_session(
        &mut self,
        id: &str,
        directory: &Path,
    ) -> Result<(AgentSession, SessionMemory), AcpError> {
        let taken_up = match (
            self.can().session_capabilities.resume.is_some(),
            self.can().load_session,
        ) {
            (true, _) => self.resume_session(id, directory).await,
            (false, true) => self.load_session(id, directory).await,
            (false, false) => {
                return Ok((self.new_session(directory).await?, SessionMemory::Nothing));
            }
        };
        match taken_up {
            Ok(session) => Ok((session, SessionMemory::Everything)),
            Err(error) if error.kind == AcpErrorKind::Refused => {
                tracing::debug!(%error, "an agent's session is gone");
                Ok((self.new_session(directory).await?, SessionMemory::Nothing))
            }
            Err(error) => Err(error),
        }
    }

    async fn resume_session(
        &mut self,
        id: &str,
        directory: &Path,
    ) -> Result<AgentSession, AcpError> {
        let request = ResumeSessionRequest::new(id.to_owned(), directory);
        let raw = self.ask_session("session/resume", &request).await?;
        let answer: ResumeSessionResponse = self.parsed("session/resume", raw.clone())?;
        let id = SessionId::new(id);
        Ok(AgentSession::new(
            id,
            answer.modes,
            answer.config_options,
            &raw,
        ))
    }

    /// What was said before comes along, and is passed over: it is known here.
    async fn load_session(&mut self, id: &str, directory: &Path) -> Result<AgentSession, AcpError> {
        let request = LoadSessionRequest::new(id.to_owned(), directory);
        let raw = self.ask_session("session/load", &request).await?;
        let answer: Option<LoadSessionResponse> = self.parsed("session/load", raw.clone())?;
        let (modes, options) =
            answer.map_or((None, None), |answer| (answer.modes, answer.config_options));
        Ok(AgentSession::new(SessionId::new(id), modes, options, &raw))
    }

    /// Sets the model, unless it is set already. One that the agent does not list is refused.
    pub async fn set_model(
        &mut self,
        session: &mut AgentSession,
        model: &str,
    ) -> Result<(), AcpError> {
        if session.model() == Some(model) {
            return Ok(());
        }
        if !session.models.iter().any(|choice| choice.id == model) {
            let known: Vec<&str> = session.models.iter().map(|each| &each.id[..]).collect();
            let known = match known.is_empty() {
                true => "it lets nobody choose; take the model `default`".to_owned(),
                false => format!("it has `default`, {}", known.join(", ")),
            };
            return Err(AcpError::new(
                AcpErrorKind::Refused,
                format!("the agent has no model {model:?}: {known}"),
            ));
        }
        match session.model_option.clone() {
            Some(option) => self.set_option(session, &option, model).await?,
            None => {
                let id = session.id.to_string();
                let request = json!({"sessionId": id, "modelId": model});
                self.ask_session("session/set_model", &request).await?;
            }
        }
        session.model = Some(model.to_owned());
        Ok(())
    }

    async fn set_option(
        &mut self,
        session: &AgentSession,
        option: &str,
        value: &str,
    ) -> Result<(), AcpError> {
        let request =
            SetSessionConfigOptionRequest::new(session.id.clone(), option.to_owned(), value);
        self.ask_session("session/set_config_option", &request)
            .await?;
        Ok(())
    }

    /// Sets the mode, unless it is set already.
    pub async fn set_mode(
        &mut self,
        session: &mut AgentSession,
        mode: &str,
    ) -> Result<(), AcpError> {
        let current = session
            .modes
            .as_ref()
            .map(|modes| &*modes.current_mode_id.0);
        if current == Some(mode) {
            return Ok(());
        }
        let request = SetSessionModeRequest::new(session.id.clone(), mode.to_owned());
        self.ask_session("session/set_mode", &request).await?;
        if let Some(modes) = &mut session.modes {
            modes.current_mode_id = mode.to_owned().into();
        }
        Ok(())
    }

    /// Says something to the agent; the answer with this number ends its turn.
    pub fn prompt(
        &mut self,
        session: &SessionId,
        words: Vec<ContentBlock>,
    ) -> Result<u64, AcpError> {
        let request = PromptRequest::new(session.clone(), words);
        self.request("session/prompt", &request)
    }

    /// Tells the agent to stop; it answers the prompt all the same.
    pub fn cancel(&self, session: &SessionId) -> Result<(), AcpError> {
        self.notify("session/cancel", &CancelNotification::new(session.clone()))
    }
}
