//! What the story is played with.

use std::collections::BTreeMap;

use bytes::Bytes;
use uuid::Uuid;
use vocabulary::{
    AgentMode, EndedTurn, IndexedTurn, ModelRef, Seq, Status, TenantId, Thread, ThreadCard,
    ThreadId, ThreadSettings, Timestamp, Title, TurnId, TurnOutcome, WorkspaceId,
};

use crate::{Batch, EntryRow, StoredEvent};

/// Thread `number` of tenant `local`, last updated at millisecond `number`.
pub fn a_thread(number: u64) -> Thread {
    let at = Timestamp(number.cast_signed());
    Thread {
        card: ThreadCard {
            id: ThreadId(Uuid::from_u128(u128::from(number))),
            tenant: TenantId::new("local"),
            workspace: WorkspaceId::new("home"),
            directory: "/somewhere".into(),
            client_id: None,
            created_at: at,
            folders: None,
            forked_from: None,
            ephemeral: false,
        },
        title: Title::default(),
        settings: ThreadSettings {
            model: ModelRef {
                provider: "rehearsal".to_owned(),
                model: "rehearsal".to_owned(),
            },
            auto_approve: false,
            approvals: vocabulary::Approvals::Auto,
            sandbox: vocabulary::SandboxMode::WorkspaceWrite,
            network: false,
            mode: AgentMode::Code,
            agent: None,
            max_steps: 100,
            sub_agent_model: String::new(),
            observability: false,
            mcp: true,
            effort: None,
            verbosity: None,
            summary: None,
            budgets: Default::default(),
            assignment: None,
            instructions: None,
            git: None,
        },
        status: Status::Ready,
        archived: false,
        updated_at: at,
        active_at: None,
        message_count: 0,
        preview: "Say hello".to_owned(),
        labels: BTreeMap::new(),
        section: None,
    }
}

/// Its payload tells its seq, so that a mixed-up row is seen.
pub fn an_event(seq: u64) -> StoredEvent {
    StoredEvent {
        seq: Seq(seq),
        at: Timestamp(1_000 + seq.cast_signed()),
        payload: Bytes::from(format!("payload of {seq}")),
    }
}

pub fn an_entry(ordinal: u64, message: u64, seq: u64) -> EntryRow {
    EntryRow {
        ordinal,
        message,
        seq: Seq(seq),
    }
}

/// A turn that runs, from the event `seq` on, whose entry stands at `ordinal`.
pub fn a_turn(number: u64, ordinal: u64, seq: u64) -> IndexedTurn {
    IndexedTurn {
        number,
        turn: TurnId::new(format!("turn {number}")),
        first_seq: Seq(seq),
        first_ordinal: ordinal,
        started_at: an_event(seq).at,
        ended: None,
    }
}

/// The same turn, ended.
pub fn ended(turn: IndexedTurn, ordinal: u64, seq: u64, outcome: TurnOutcome) -> IndexedTurn {
    let ended = Some(EndedTurn {
        last_seq: Seq(seq),
        last_ordinal: ordinal,
        at: an_event(seq).at,
        outcome,
    });
    IndexedTurn { ended, ..turn }
}

/// Events of these seqs and a state that names the last of them.
pub fn a_batch(seqs: &[u64]) -> Batch {
    let last = seqs.last().copied().unwrap_or_default();
    Batch {
        events: seqs.iter().copied().map(an_event).collect(),
        state: Bytes::from(format!("state at {last}")),
        high_water: Seq(last),
        ..Batch::default()
    }
}
