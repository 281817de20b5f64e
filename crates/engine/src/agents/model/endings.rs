//! How an answer ended, and what follows: a cut text is continued, a cut call is told its limit, an
//! empty answer is asked for again. None of it goes on for ever.

use providers::Block;
use vocabulary::{StopReason, TurnError, TurnErrorKind};

use super::answer::Answered;
use crate::limits::{CONTINUED_ANSWERS_MAX, CUT_CALLS_MAX, EMPTY_ANSWERS_MAX};

/// What follows an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// Its calls are made, and the model is asked again.
    MakeCalls,
    /// It was the last one.
    Rest,
    /// It was cut: it goes on where it ended, after this note.
    Continue(String),
    /// It counts for nothing; the model is asked again, after this note if there is one.
    AskAgain(Option<String>),
    GiveUp(TurnError),
}

/// Counts the bad endings of one conversation, each as often as it came in a row.
#[derive(Default)]
pub struct AnswerEndings {
    continued: u32,
    cut_calls: u32,
    empty: u32,
    /// All of them.
    bad: u32,
}

impl AnswerEndings {
    /// How many answers were cut or empty.
    pub fn bad(&self) -> u32 {
        self.bad
    }

    pub fn follow_up(&mut self, answered: &Answered) -> FollowUp {
        let limit = limit_words(answered.usage.output_tokens);
        let ending = AnswerEnding::of(answered);
        *self = Self {
            continued: counted(self.continued, ending == AnswerEnding::CutText),
            cut_calls: counted(self.cut_calls, ending == AnswerEnding::CutCall),
            empty: counted(self.empty, ending == AnswerEnding::Empty),
            bad: self.bad + u32::from(ending != AnswerEnding::Whole),
        };
        match ending {
            AnswerEnding::Whole if answered.calls.is_empty() => FollowUp::Rest,
            AnswerEnding::Whole => FollowUp::MakeCalls,
            AnswerEnding::CutText if self.continued > CONTINUED_ANSWERS_MAX => {
                let times = self.continued;
                give_up(
                    TurnErrorKind::OutputLimit,
                    format!(
                        "the model's answer was cut at {limit}, {times} times in a row; ask for a \
                         shorter answer, or say \"go on\""
                    ),
                )
            }
            AnswerEnding::CutText => FollowUp::Continue(format!(
                "Your answer was cut at {limit}. Go on exactly where it ends; repeat nothing."
            )),
            AnswerEnding::CutCall if self.cut_calls >= CUT_CALLS_MAX => give_up(
                TurnErrorKind::OutputLimit,
                format!(
                    "the model's answer reached {limit} in the middle of a call, {CUT_CALLS_MAX} \
                     times in a row, so nothing was run; ask for the file in parts, or choose a \
                     model that writes more at once"
                ),
            ),
            // The call is not even there to get a result.
            AnswerEnding::CutCall if answered.calls.is_empty() => {
                FollowUp::AskAgain(Some(cut_call_words(answered.usage.output_tokens)))
            }
            AnswerEnding::CutCall => FollowUp::MakeCalls,
            AnswerEnding::Empty if self.empty >= EMPTY_ANSWERS_MAX => give_up(
                TurnErrorKind::EmptyAnswer,
                format!(
                    "the model's answer was empty, {EMPTY_ANSWERS_MAX} times in a row; say it in \
                     other words, or choose another model"
                ),
            ),
            // The same request may well fare better, and a note would stay in the conversation.
            AnswerEnding::Empty if self.empty == 1 => FollowUp::AskAgain(None),
            AnswerEnding::Empty => FollowUp::AskAgain(Some(EMPTY.to_owned())),
        }
    }
}

const EMPTY: &str = "Your last answer was empty. If the work is done, say what you did and what \
                     came of it; if it is not, go on with it.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerEnding {
    Whole,
    CutText,
    CutCall,
    /// Neither a word nor a call; thoughts alone count as nothing.
    Empty,
}

impl AnswerEnding {
    fn of(answered: &Answered) -> Self {
        let is_cut = answered.reason == StopReason::Length;
        match (answered.cut_call, answered.calls.is_empty()) {
            (true, _) => AnswerEnding::CutCall,
            (false, false) => AnswerEnding::Whole,
            (false, true) if !says_something(&answered.blocks) => AnswerEnding::Empty,
            (false, true) if is_cut => AnswerEnding::CutText,
            (false, true) => AnswerEnding::Whole,
        }
    }
}

/// Whether there are words, calls or files in it.
pub fn says_something(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| match block {
        Block::Text { text, .. } => !text.trim().is_empty(),
        Block::ToolCall { .. } | Block::File { .. } => true,
        Block::Reasoning { .. } => false,
    })
}

/// What a model is told whose call was cut: that the arguments are not JSON would only make it
/// write the same again.
pub fn cut_call_words(output_tokens: u64) -> String {
    let limit = limit_words(output_tokens);
    format!(
        "Your answer reached {limit} in the middle of a call, so that call was not run. The same \
         call would be cut again. Do it in smaller parts: write the file in parts, its beginning \
         first, then add each further part with a call of its own."
    )
}

/// A service that does not count its tokens leaves the number out.
fn limit_words(output_tokens: u64) -> String {
    match output_tokens {
        0 => "its output limit".to_owned(),
        tokens => format!("its limit of {tokens} tokens"),
    }
}

fn counted(before: u32, again: bool) -> u32 {
    match again {
        true => before + 1,
        false => 0,
    }
}

fn give_up(kind: TurnErrorKind, message: String) -> FollowUp {
    FollowUp::GiveUp(TurnError { kind, message })
}
