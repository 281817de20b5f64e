//! A session's backup: the same messages and the same event in both cowork protocols.

use serde_json::Value;

use crate::tongue::{Deed, Signal};

type Fields = Vec<(&'static str, Value)>;

/// The message that says it, with its fields; `None` where it is about something else.
pub fn message(deed: &Deed) -> Option<(&'static str, Fields)> {
    let named = |id: &String| ("checkpointId", Value::from(id.as_str()));
    Some(match deed {
        Deed::Checkpoint => ("session_backup_checkpoint", Vec::new()),
        Deed::Restore(to) => ("session_backup_restore", to.iter().map(named).collect()),
        Deed::DeleteCheckpoint(id) => ("session_backup_delete_checkpoint", vec![named(id)]),
        Deed::Checkpoints => ("session_backup_get", Vec::new()),
        _ => return None,
    })
}

/// Whether it tells that the original is being taken; its being there will be told, too.
pub fn is_on_its_way(frame: &Value) -> bool {
    frame["type"] == "session_backup_state" && frame["backup"]["status"] == "initializing"
}

/// Where a turn ends: its automatic checkpoint is told behind its last event.
#[derive(Default)]
pub struct Ends {
    checkpoint_owed: bool,
    /// Whether the checkpoint that was told last is that of a turn whose end was not heard here: one that
    /// a dead server left running. Whether it is taken before or after a client is back is chance.
    unheard: bool,
}

impl Ends {
    /// Hears `session_busy`.
    pub fn busy(&mut self, frame: &Value) {
        self.checkpoint_owed = frame["busy"] == false;
    }

    /// Hears `session_backup_state`.
    pub fn backup(&mut self, frame: &Value) -> Option<Signal> {
        if is_on_its_way(frame) {
            return None;
        }
        match frame["reason"].as_str() {
            Some("auto_checkpoint") => {
                let owed = std::mem::take(&mut self.checkpoint_owed);
                self.unheard = !owed;
                owed.then_some(Signal::Rest)
            }
            _ => Some(Signal::Done),
        }
    }

    /// Whether it comes when it pleases. Whether the original is there already when it is first asked
    /// for is a matter of milliseconds.
    pub fn aside(&self, frame: &str) -> bool {
        let told = frame.starts_with(r#"{"type":"session_backup_state""#);
        told && serde_json::from_str(frame).is_ok_and(|frame: Value| {
            is_on_its_way(&frame) || (frame["reason"] == "auto_checkpoint" && self.unheard)
        })
    }
}
