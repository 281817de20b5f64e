//! A sub-agent's conversation: how it begins, and what is kept of it so that it can go on.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use providers::Message;
use tools::{Failure, SpawnKind, SpawnRequest, SubAgentModel, Thoroughness};
use vocabulary::{ModelRef, ToolCall};

use super::super::compaction::ContextFill;
use super::super::{briefing, budgets};
use crate::library::offer;
use crate::limits::{
    SUB_AGENT_STEPS_MAX, SUB_AGENT_STEPS_QUICK, SUB_AGENT_STEPS_THOROUGH, SUB_AGENTS_KEPT_MAX,
};
use crate::prompts::sub_agents;
use crate::turn::{Turn, meter};

/// All that a sub-agent knows.
pub struct SubConversation {
    /// By which it is resumed: the item of the call that started it.
    pub id: String,
    pub kind: SpawnKind,
    pub model: ModelRef,
    pub system: String,
    pub messages: Vec<Arc<Message>>,
    pub fill: ContextFill,
}

impl SubConversation {
    /// The one that a call goes on with, or a new one; the task is its newest message.
    pub async fn of(turn: &Turn, call: &ToolCall, request: &SpawnRequest) -> Result<Self, Failure> {
        let mut conversation = match &request.resume {
            Some(id) => turn
                .sub_agents
                .take(id)
                .ok_or_else(|| Failure::Error(not_kept(id)))?,
            None => Self::begun(turn, call, request).await,
        };
        let task = Message::user(sub_agents::task(request));
        conversation.messages.push(Arc::new(task));
        Ok(conversation)
    }

    async fn begun(turn: &Turn, call: &ToolCall, request: &SpawnRequest) -> Self {
        let model = model_of(turn, request);
        let context = briefing::sub_agent_context(turn, &request.kind, &model).await;
        Self {
            id: call.item.to_string(),
            kind: request.kind.clone(),
            model,
            system: sub_agents::system(&request.kind),
            messages: vec![Arc::new(Message::note(context))],
            fill: ContextFill::default(),
        }
    }

    /// Tells it what nobody said.
    pub fn note(&mut self, text: String) {
        self.messages.push(Arc::new(Message::note(text)));
    }
}

pub fn steps_max(request: &SpawnRequest) -> u32 {
    match request.thoroughness {
        Some(Thoroughness::Quick) => SUB_AGENT_STEPS_QUICK,
        Some(Thoroughness::Medium) | None => SUB_AGENT_STEPS_MAX,
        Some(Thoroughness::Thorough) => SUB_AGENT_STEPS_THOROUGH,
    }
}

/// The model that a person named for sub-agents; else as the call or the kind wants it: the small one
/// for looking around, the thread's own for all else.
fn model_of(turn: &Turn, request: &SpawnRequest) -> ModelRef {
    let named = turn.permits.borrow().settings.sub_agent_model.clone();
    let own = turn.model.as_ref();
    let of_provider = |model: String| ModelRef {
        provider: own.provider.clone(),
        model,
    };
    if !named.is_empty() {
        return offer::model_named(&turn.own(), &own.provider, &named);
    }
    let by_kind = match &request.kind {
        SpawnKind::Explore => SubAgentModel::Small,
        SpawnKind::Own(kind) => kind.model.clone().unwrap_or(SubAgentModel::Same),
        SpawnKind::Research | SpawnKind::General | SpawnKind::Review | SpawnKind::Named(_) => {
            SubAgentModel::Same
        }
    };
    match request.model.clone().unwrap_or(by_kind) {
        SubAgentModel::Same => own.clone(),
        SubAgentModel::Named(model) => of_provider(model),
        SubAgentModel::Small => {
            let models = &turn.own().models;
            let small = models.small_model(&own.provider, &own.model);
            let small = small.map(of_provider);
            // One whose price is not known cannot be held to a budget.
            let budgets = budgets(turn);
            let fits = |small: &ModelRef| meter::unpriced(models, small, &budgets).is_none();
            small.filter(fits).unwrap_or_else(|| own.clone())
        }
    }
}

fn not_kept(id: &str) -> String {
    format!(
        "there is no sub-agent {id} to resume: the newest {SUB_AGENTS_KEPT_MAX} are kept while the \
         thread is awake, and one that is at work cannot be resumed. Start a new one without \
         \"resume\", and put into the task what the earlier one found."
    )
}

/// The sub-agents of a thread that can go on, the newest last.
#[derive(Default)]
pub struct KeptSubAgents(Mutex<VecDeque<SubConversation>>);

impl KeptSubAgents {
    pub fn take(&self, id: &str) -> Option<SubConversation> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|each| each.id == id)?;
        kept.remove(at)
    }

    pub fn keep(&self, conversation: SubConversation) {
        let mut kept = self.0.lock();
        kept.push_back(conversation);
        while kept.len() > SUB_AGENTS_KEPT_MAX {
            kept.pop_front();
        }
    }

    /// Whether the sub-agent of this id changes nothing; none where it is not kept.
    pub fn only_reads(&self, id: &str) -> Option<bool> {
        let kept = self.0.lock();
        let known = kept.iter().find(|each| each.id == id);
        known.map(|each| each.kind.only_reads())
    }
}
