//! What a service did not take, so that it is not sent again: the requests of a conversation that
//! was healed once go out healed at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::format::{Omitted, OmittedPictures, Remedy};
use crate::{Message, ModelRequest};

/// Conversations that are remembered, the last ones first to stay.
const CONVERSATIONS_MAX: usize = 256;

/// What one service did not take.
#[derive(Debug, Default)]
pub(crate) struct Omissions {
    /// Of nobody: it is the account that may not see them.
    summaries: AtomicBool,
    conversations: Mutex<VecDeque<HealedConversation>>,
}

#[derive(Clone, Debug)]
struct HealedConversation {
    /// `ModelRequest::cache_key`.
    key: String,
    omitted: Omitted,
    /// How often the user had spoken.
    user_messages: usize,
}

impl Omissions {
    /// What is left out of a request from the beginning.
    pub(crate) fn known(&self, request: &ModelRequest) -> Omitted {
        let conversations = self.conversations.lock();
        let key = request.cache_key.as_deref();
        let healed = conversations
            .iter()
            .find(|each| Some(each.key.as_str()) == key);
        let mut omitted = healed.map_or_else(Omitted::default, |healed| {
            let mut omitted = healed.omitted;
            // A conversation that became shorter was summarised: what was refused is gone.
            if omitted.natives_before > request.messages.len() {
                omitted.natives_before = 0;
            }
            // Pictures that came since may be better ones.
            if omitted.pictures == OmittedPictures::All
                && user_messages(request) > healed.user_messages
            {
                omitted.pictures = OmittedPictures::Old;
            }
            omitted
        });
        omitted.summaries |= self.summaries.load(Ordering::Relaxed);
        omitted
    }

    /// Keeps what was left out of a request that was refused before.
    pub(crate) fn learn(&self, request: &ModelRequest, omitted: Omitted) {
        self.summaries
            .fetch_or(omitted.summaries, Ordering::Relaxed);
        let Some(key) = request.cache_key.clone() else {
            return;
        };
        let mut conversations = self.conversations.lock();
        conversations.retain(|each| each.key != key);
        conversations.truncate(CONVERSATIONS_MAX - 1);
        conversations.push_front(HealedConversation {
            key,
            omitted,
            user_messages: user_messages(request),
        });
    }
}

fn user_messages(request: &ModelRequest) -> usize {
    let users = request.messages.iter();
    users
        .filter(|each| matches!(***each, Message::User(_)))
        .count()
}

/// One step further with this remedy in a request of so many messages, and how that is told; nothing
/// where it was taken already.
pub(crate) fn next(
    omitted: Omitted,
    remedy: Remedy,
    messages: usize,
) -> Option<(Omitted, &'static str)> {
    let mut next = omitted;
    let without = match (remedy, omitted.pictures) {
        (Remedy::Natives, _) => {
            // Thoughts that come later are the account's own.
            next.natives_before = messages;
            "the hidden thoughts of earlier answers"
        }
        (Remedy::Summaries, _) => {
            next.summaries = true;
            "a summary of the model's thoughts"
        }
        (Remedy::Pictures, OmittedPictures::None) => {
            next.pictures = OmittedPictures::Old;
            "the earlier pictures"
        }
        (Remedy::Pictures, OmittedPictures::Old | OmittedPictures::All) => {
            next.pictures = OmittedPictures::All;
            "pictures"
        }
    };
    (next != omitted).then_some((next, without))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn request(key: &str, users: usize) -> ModelRequest {
        ModelRequest {
            cache_key: Some(key.to_owned()),
            messages: std::iter::repeat_with(|| Arc::new(Message::user("hi")))
                .take(users)
                .collect(),
            ..ModelRequest::default()
        }
    }

    fn without(pictures: OmittedPictures) -> Omitted {
        Omitted {
            pictures,
            ..Omitted::default()
        }
    }

    #[test]
    fn every_step_is_taken_once() {
        let mut omitted = Omitted::default();
        let mut steps = Vec::new();
        for remedy in [Remedy::Pictures, Remedy::Natives, Remedy::Summaries].repeat(4) {
            if let Some((next, without)) = next(omitted, remedy, 3) {
                omitted = next;
                steps.push(without);
            }
        }
        assert_eq!(steps.len(), 4, "{steps:?}");
    }

    #[test]
    fn a_conversation_is_remembered_and_new_pictures_are_tried() {
        let omissions = Omissions::default();
        omissions.learn(&request("a", 2), without(OmittedPictures::All));
        assert_eq!(
            omissions.known(&request("a", 2)),
            without(OmittedPictures::All)
        );
        assert_eq!(
            omissions.known(&request("a", 3)),
            without(OmittedPictures::Old)
        );
        assert_eq!(omissions.known(&request("b", 2)), Omitted::default());
        for number in 0..CONVERSATIONS_MAX {
            omissions.learn(&request(&number.to_string(), 1), Omitted::default());
        }
        assert_eq!(omissions.known(&request("a", 2)), Omitted::default());
        assert_eq!(omissions.conversations.lock().len(), CONVERSATIONS_MAX);
    }

    #[test]
    fn thoughts_since_the_refusal_stay() {
        let omissions = Omissions::default();
        let (omitted, _) = next(Omitted::default(), Remedy::Natives, 2).expect("a step");
        omissions.learn(&request("a", 2), omitted);
        for (messages, natives_before) in [(2, 2), (5, 2), (1, 0)] {
            let known = omissions.known(&request("a", messages));
            assert_eq!(known.natives_before, natives_before, "{messages}");
        }
    }

    #[test]
    fn an_account_without_summaries_is_one_for_all_conversations() {
        let omissions = Omissions::default();
        let omitted = Omitted {
            summaries: true,
            ..Omitted::default()
        };
        omissions.learn(&ModelRequest::default(), omitted);
        assert_eq!(omissions.known(&request("a", 1)), omitted);
    }
}
