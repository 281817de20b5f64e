//! The harness context: an assignment in this protocol's words (Shared Types: HarnessContextPayload).

use vocabulary::{Assignment, Changes, ThreadSettings, Timestamp};

use super::wire::ServerEvent;
use super::wire::extras::{HarnessContext, HarnessContextPayload, HarnessContextState};
use crate::Frame;

pub fn changes(context: HarnessContextPayload) -> Changes {
    let assignment = Assignment {
        run: context.run_id,
        task: context.task_id,
        objective: context.objective,
        criteria: context.acceptance_criteria,
        constraints: context.constraints,
        metadata: context.metadata.unwrap_or_default(),
        // The session knows the time.
        updated_at: Timestamp(0),
    };
    Changes {
        assignment: Some(Box::new(assignment)),
        ..Changes::default()
    }
}

/// Server -> Client Events: harness_context.
pub fn context(session: &str, settings: &ThreadSettings) -> Frame {
    let set = settings.assignment.as_deref();
    let payload = set.map(payload);
    let state = set.zip(payload.as_ref()).map(|(set, payload)| {
        let updated_at = set.updated_at.iso();
        HarnessContextState {
            payload,
            updated_at,
        }
    });
    ServerEvent::HarnessContext(HarnessContext {
        session_id: session,
        context: state,
    })
    .frame()
}

fn payload(set: &Assignment) -> HarnessContextPayload {
    let metadata = set.metadata.clone();
    HarnessContextPayload {
        run_id: set.run.clone(),
        task_id: set.task.clone(),
        objective: set.objective.clone(),
        acceptance_criteria: set.criteria.clone(),
        constraints: set.constraints.clone(),
        metadata: Some(metadata).filter(|pairs| !pairs.is_empty()),
    }
}
