//! The thread itself: title, settings, plan, reset.

use vocabulary::{
    Changed, ModelRef, PlanStep, PlanStepStatus, RevertPoint, ThreadSettings, Title, UploadedFile,
};

use super::{EventContext, tools};
use crate::Frame;
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::conversation::{ResetDone, TodoItem, TodoStatus, Todos};
use crate::cowork::wire::extras::FileUploaded;
use crate::cowork::{harness, show};

/// What people read when turns were taken back.
const REVERTED: &str = "[info] The last turns were taken back, for everyone and for the agent.";

pub fn title_changed(told: EventContext<'_>, title: &Title, model: &ModelRef) -> Vec<Frame> {
    vec![session_info(told, title, model)]
}

/// The answers to `set_model`, `set_enable_mcp` and `set_config`, told to all who listen. The
/// catalog that follows a new model is each connection's own, and so is the status of observability
/// that goes before.
pub fn settings_changed(
    told: EventContext<'_>,
    settings: &ThreadSettings,
    changed: &[Changed],
    title: &Title,
) -> Vec<Frame> {
    let named = |settings: &[Changed]| changed.iter().any(|setting| settings.contains(setting));
    let mut frames = Vec::new();
    if named(&[Changed::Model]) {
        let model = &settings.model;
        frames.push(show::config_updated(told.session, told.card, model));
        frames.push(session_info(told, title, model));
    }
    if named(&[Changed::Mcp]) {
        frames.push(show::session_settings(told.session, settings));
    }
    if named(&[
        Changed::AutoApprove,
        Changed::MaxSteps,
        Changed::SubAgentModel,
        Changed::Observability,
    ]) {
        frames.push(show::session_config(told.session, settings));
    }
    if named(&[Changed::Assignment]) {
        frames.push(harness::context(told.session, settings));
    }
    frames
}

fn session_info(told: EventContext<'_>, title: &Title, model: &ModelRef) -> Frame {
    show::session_info(told.session, told.card, title, model, told.event.at)
}

pub fn uploaded(session: &str, file: &UploadedFile) -> Frame {
    ServerEvent::FileUploaded(FileUploaded {
        session_id: session,
        filename: &file.name,
        path: file.path.to_string_lossy(),
    })
    .frame()
}

pub fn reset(session: &str) -> Vec<Frame> {
    let done = ServerEvent::ResetDone(ResetDone {
        session_id: session,
    });
    vec![todos(session, &[]), done.frame()]
}

/// This protocol has no word for it: the plan is as it was, and people read why in the log. Who reads the
/// messages again does not find these turns.
pub fn reverted(session: &str, point: &RevertPoint) -> Vec<Frame> {
    vec![todos(session, &point.plan), tools::log(session, REVERTED)]
}

pub fn todos(session: &str, steps: &[PlanStep]) -> Frame {
    let todos = steps.iter().map(|step| TodoItem {
        content: &step.content,
        status: match step.status {
            PlanStepStatus::Pending => TodoStatus::Pending,
            PlanStepStatus::InProgress => TodoStatus::InProgress,
            PlanStepStatus::Completed => TodoStatus::Completed,
        },
        active_form: &step.active_form,
    });
    ServerEvent::Todos(Todos {
        session_id: session,
        todos: todos.collect(),
    })
    .frame()
}
