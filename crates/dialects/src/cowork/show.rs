//! A session's own frames: settings, info, config, observability.

use std::path::Path;

use vocabulary::{ModelRef, Thread, ThreadCard, ThreadSettings, Timestamp, Title, TitleSource};

use super::names::{ModelName, spell};
use super::wire::ServerEvent;
use super::wire::backup::{HealthStatus, ObservabilityHealth, ObservabilityStatus};
use super::wire::session::{
    ConfigUpdated, PersistedSessionSummary, PublicConfig, RuntimeConfig, SessionConfig,
    SessionInfo, SessionSettings, Sessions, TitleSource as WireTitleSource,
};
use crate::Frame;
use crate::frame::AsText;

/// What a thread is called that nobody has named.
const UNTITLED: &str = "New conversation";

pub fn title(title: &Title) -> &str {
    match title.text.as_str() {
        "" => UNTITLED,
        text => text,
    }
}

pub fn public_config<'a>(card: &'a ThreadCard, model: &'a ModelRef) -> PublicConfig<'a> {
    let (provider, model) = spell(model);
    PublicConfig {
        provider,
        model: AsText(model),
        working_directory: card.directory.to_string_lossy(),
        output_directory: card.output_folder().map(Path::to_string_lossy),
    }
}

pub fn session_settings(session: &str, settings: &ThreadSettings) -> Frame {
    ServerEvent::SessionSettings(SessionSettings {
        session_id: session,
        enable_mcp: settings.mcp,
    })
    .frame()
}

pub fn session_config(session: &str, settings: &ThreadSettings) -> Frame {
    let sub_agent_model = match settings.sub_agent_model.as_str() {
        "" => spell(&settings.model).1,
        model => ModelName::Plain(model),
    };
    ServerEvent::SessionConfig(SessionConfig {
        session_id: session,
        config: RuntimeConfig {
            yolo: settings.auto_approve,
            observability_enabled: settings.observability,
            sub_agent_model: AsText(sub_agent_model),
            max_steps: settings.max_steps,
        },
    })
    .frame()
}

pub fn config_updated(session: &str, card: &ThreadCard, model: &ModelRef) -> Frame {
    ServerEvent::ConfigUpdated(ConfigUpdated {
        session_id: session,
        config: public_config(card, model),
    })
    .frame()
}

pub fn session_info(
    session: &str,
    card: &ThreadCard,
    named: &Title,
    model: &ModelRef,
    updated_at: Timestamp,
) -> Frame {
    let (provider, model) = spell(model);
    ServerEvent::SessionInfo(SessionInfo {
        session_id: session,
        title: title(named),
        title_source: title_source(named.source),
        title_model: named.model.as_deref(),
        created_at: card.created_at.iso(),
        updated_at: updated_at.iso(),
        provider,
        model: AsText(model),
    })
    .frame()
}

fn title_source(source: TitleSource) -> WireTitleSource {
    match source {
        TitleSource::Default => WireTitleSource::Default,
        TitleSource::Heuristic => WireTitleSource::Heuristic,
        TitleSource::Model => WireTitleSource::Model,
        TitleSource::Manual => WireTitleSource::Manual,
    }
}

/// Langfuse is never configured in this build, and the event says so.
pub fn observability_status(session: &str, settings: &ThreadSettings, now: Timestamp) -> Frame {
    let enabled = settings.observability;
    let (status, reason, message) = if enabled {
        let message = "Observability is on, but Langfuse is not configured.";
        (HealthStatus::Degraded, "missing_credentials", Some(message))
    } else {
        (HealthStatus::Disabled, "disabled", None)
    };
    ServerEvent::ObservabilityStatus(ObservabilityStatus {
        session_id: session,
        enabled,
        health: ObservabilityHealth {
            status,
            reason,
            message,
            updated_at: now.iso(),
        },
        config: None,
    })
    .frame()
}

pub fn sessions(session: &str, threads: &[Thread]) -> Frame {
    ServerEvent::Sessions(Sessions {
        session_id: session,
        sessions: threads.iter().map(summary).collect(),
    })
    .frame()
}

fn summary(thread: &Thread) -> PersistedSessionSummary<'_> {
    let (provider, model) = spell(&thread.settings.model);
    PersistedSessionSummary {
        session_id: thread.card.id.to_string(),
        title: title(&thread.title),
        provider,
        model: AsText(model),
        created_at: thread.card.created_at.iso(),
        updated_at: thread.updated_at.iso(),
        message_count: thread.message_count,
    }
}
