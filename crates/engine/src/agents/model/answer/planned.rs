//! The text of an agent that plans: what it proposes becomes an item of its own, while it comes.

use providers::Block;
use vocabulary::{Growth, Item, Native, Opening, PlanMarks};

use super::ModelAnswer;
use super::blocks::Whole;
use super::plan::{PlanPiece, PlanSplitter};
use crate::turn::SessionGone;

/// A block of text that is being told apart.
#[derive(Default)]
pub(super) struct SplitBlock {
    content: u32,
    splitter: PlanSplitter,
    /// As the model wrote it: what it reads later.
    written: String,
    /// What marked the plan that is open.
    marks: PlanMarks,
    /// Whether any item was told of it.
    is_told: bool,
}

impl ModelAnswer<'_> {
    /// A text begins. Its first item begins with its first words.
    pub(super) async fn start_split(&mut self, content: u32) -> Result<(), SessionGone> {
        self.finish(Whole::Yes, None).await?;
        self.split = Some(SplitBlock {
            content,
            ..SplitBlock::default()
        });
        Ok(())
    }

    pub(super) async fn grow_split(&mut self, delta: &str) -> Result<(), SessionGone> {
        let Some(split) = &mut self.split else {
            return Ok(());
        };
        split.written.push_str(delta);
        let pieces = split.splitter.push(delta);
        for piece in pieces {
            self.tell_piece(piece).await?;
        }
        Ok(())
    }

    /// The text is over: the conversation goes on with it as it was written.
    pub(super) async fn finish_split(
        &mut self,
        whole: Whole,
        native: Option<Box<Native>>,
    ) -> Result<(), SessionGone> {
        let Some(mut split) = self.split.take() else {
            return Ok(());
        };
        let mut pieces = split.splitter.finish();
        let end = pieces.pop_if(|piece| matches!(piece, PlanPiece::End(_)));
        let (content, is_told) = (split.content, split.is_told);
        let text = split.written.clone();
        self.split = Some(split);
        // What stays empty is an answer, too.
        if !is_told && pieces.is_empty() && end.is_none() {
            self.open_item(content, Opening::Text, Growth::Text).await?;
        }
        for piece in pieces {
            self.tell_piece(piece).await?;
        }
        if let (Some(PlanPiece::End(after)), Some(split)) = (end, &mut self.split) {
            split.marks.after = after;
        }
        self.close_item(whole, native.clone()).await?;
        self.split = None;
        self.blocks.push(Block::Text { text, native });
        Ok(())
    }

    async fn tell_piece(&mut self, piece: PlanPiece) -> Result<(), SessionGone> {
        let Some(split) = &mut self.split else {
            return Ok(());
        };
        let content = split.content;
        split.is_told = true;
        match piece {
            PlanPiece::Text(text) => {
                if self.open.is_none() {
                    self.open_item(content, Opening::Text, Growth::Text).await?;
                }
                self.grow(text).await
            }
            PlanPiece::Begin(before) => {
                // The text before it has no marks of its own.
                self.close_item(Whole::Yes, None).await?;
                if let Some(split) = &mut self.split {
                    split.marks.before = before;
                }
                self.open_item(content, Opening::Plan, Growth::Plan).await
            }
            PlanPiece::Plan(text) => self.grow(text).await,
            PlanPiece::End(after) => {
                split.marks.after = after;
                self.close_item(Whole::Yes, None).await
            }
        }
    }

    /// Ends the item that is open, as a part of a text.
    async fn close_item(
        &mut self,
        whole: Whole,
        native: Option<Box<Native>>,
    ) -> Result<(), SessionGone> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let marks = self
            .split
            .as_mut()
            .map(|split| std::mem::take(&mut split.marks));
        let (text, partial) = (open.text.clone(), whole == Whole::No);
        let body = match open.growth {
            Growth::Plan => Item::Plan {
                text,
                partial,
                marks: marks.unwrap_or_default(),
                native,
            },
            Growth::Text
            | Growth::Reasoning { .. }
            | Growth::ReasoningPart { .. }
            | Growth::ToolInput { .. } => Item::AgentMessage {
                text,
                partial,
                native,
            },
        };
        self.tell_finished(open, body).await
    }
}
