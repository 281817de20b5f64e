//! A session's own frames: settings, info, config, observability.

use std::path::Path;

use vocabulary::{
    ModelRef, Thread, ThreadCard, ThreadSettings, Timestamp, Title, TitleSource, TracingHealth,
    TracingState,
};

use super::names::{ModelName, spell};
use super::wire::ServerEvent;
use super::wire::backup::{
    HealthStatus, ObservabilityConfig, ObservabilityHealth, ObservabilityStatus,
};
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

const OBSERVABILITY_DISABLED: &str = "Langfuse observability is disabled.";
const MISSING_CREDENTIALS: &str = "Observability is on, but Langfuse is not configured: start the \
     server with LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY.";

/// `now`: since when it is so, where nothing has changed yet.
pub fn observability_status(
    session: &str,
    settings: &ThreadSettings,
    tracing: &TracingState,
    now: Timestamp,
) -> Frame {
    let enabled = settings.observability;
    let langfuse = &tracing.langfuse;
    let (status, reason, message, since) = match &tracing.health {
        _ if !enabled => {
            let message = Some(OBSERVABILITY_DISABLED);
            let reason = "observability_disabled";
            (HealthStatus::Disabled, reason, message, now)
        }
        TracingHealth::Unconfigured => {
            let message = Some(MISSING_CREDENTIALS);
            (HealthStatus::Degraded, "missing_credentials", message, now)
        }
        TracingHealth::Ready { since } => {
            let since = since.unwrap_or(now);
            (HealthStatus::Ready, "runtime_ready", None, since)
        }
        TracingHealth::Failing {
            refused,
            message,
            since,
        } => {
            let reason = if *refused {
                "export_refused"
            } else {
                "export_failed"
            };
            let message = Some(message.as_str());
            (HealthStatus::Degraded, reason, message, *since)
        }
    };
    ServerEvent::ObservabilityStatus(ObservabilityStatus {
        session_id: session,
        enabled,
        health: ObservabilityHealth {
            status,
            reason,
            message,
            updated_at: since.iso(),
        },
        config: Some(ObservabilityConfig {
            provider: "langfuse",
            base_url: &langfuse.base_url,
            otel_endpoint: &langfuse.traces_url,
            tracing_environment: langfuse.environment.as_deref(),
            release: langfuse.release.as_deref(),
            has_public_key: langfuse.has_public_key,
            has_secret_key: langfuse.has_secret_key,
            configured: langfuse.is_configured(),
        }),
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
