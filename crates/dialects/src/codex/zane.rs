//! What only Zane's clients ask for, or read in another shape.

use serde_json::Value;
use vocabulary::{Call, Entry, Event, Fact, Skill, SkillCall, SkillTier, ThreadView, TurnFact};

use super::calls::CodexPurpose;
use super::hear::read;
use super::refuse::CodexError;
use super::tell::{EventForClient, completed_turn};
use super::wire::results::Page;
use super::wire::zane::{
    ResetCreditOutcome, ResetCreditParams, ResetCreditResponse, ZaneRateLimits, ZaneSkill,
};
use super::{Codex, Endpoint, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

#[derive(Debug)]
pub enum ZaneRequest {
    Skills,
    RateLimits,
    /// There is none, whatever the key is.
    ResetCredit,
}

pub fn request(method: &str, params: Value) -> Option<Result<ZaneRequest, CodexError>> {
    match method {
        "skills/list" => Some(Ok(ZaneRequest::Skills)),
        "account/rateLimits/read" => Some(Ok(ZaneRequest::RateLimits)),
        "account/rateLimitResetCredit/consume" => {
            let known = read::<ResetCreditParams>(method, params);
            Some(known.map(|_| ZaneRequest::ResetCredit))
        }
        _ => None,
    }
}

impl Codex {
    pub(super) fn zane(&mut self, out: &mut Vec<Action>, id: Id, request: ZaneRequest) {
        match request {
            // Skills are a workspace's: that of the thread which was made last.
            ZaneRequest::Skills => match self.listening.newest() {
                Some(thread) => {
                    let call = SkillCall::List;
                    let call = Call::Skills { thread, call };
                    self.calls.make(out, CodexPurpose::ZaneSkills(id), call);
                }
                None => Self::zane_skills(out, &id, &[]),
            },
            ZaneRequest::RateLimits => send(out, respond(&id, &ZaneRateLimits::default())),
            ZaneRequest::ResetCredit => {
                let outcome = ResetCreditOutcome::NoCredit;
                send(out, respond(&id, &ResetCreditResponse { outcome }));
            }
        }
    }

    pub(super) fn zane_skills(out: &mut Vec<Action>, id: &Id, skills: &[Skill]) {
        let enabled = skills.iter().filter(|skill| skill.enabled);
        let data = enabled.map(shown).collect();
        let next_cursor = None;
        send(out, respond(id, &Page { data, next_cursor }));
    }

    /// For a client that comes back: it may believe that a turn still runs which ended while it was away,
    /// and only this tells it. To one that knows, it is nothing new.
    pub(super) fn last_turn_over(&self, out: &mut Vec<Action>, view: &ThreadView) {
        if self.endpoint != Endpoint::Zane || view.turn.is_some() {
            return;
        }
        let thread = &view.thread.card.id.to_string();
        let ended = |entry: &Entry| {
            let event: &Event = &entry.event;
            let Fact::Turn(TurnFact::Finished {
                turn,
                outcome,
                started_at,
                ..
            }) = &event.fact
            else {
                return None;
            };
            let told = EventForClient {
                thread,
                card: &view.thread.card,
                event,
                endpoint: self.endpoint,
            };
            Some(completed_turn(told, turn, outcome, *started_at))
        };
        if let Some(frame) = view.recent.iter().rev().find_map(ended) {
            send(out, frame);
        }
    }
}

fn shown(skill: &Skill) -> ZaneSkill<'_> {
    ZaneSkill {
        name: &skill.name,
        description: &skill.description,
        path: skill.path.to_string_lossy(),
        scope: match skill.tier {
            SkillTier::Project => "repo",
            SkillTier::Global | SkillTier::User => "user",
            SkillTier::BuiltIn => "system",
        },
        enabled: skill.enabled,
    }
}
