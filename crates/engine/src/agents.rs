//! The seam for "what drives a turn": the built-in loop over a model today, external agents later.

use std::sync::Arc;

use async_trait::async_trait;

use crate::turn::{Start, Turn, TurnEnd};

pub mod model;
pub mod sub;

/// Drives one turn to its end. Everything that happens is told through the turn.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    async fn run(&self, turn: Arc<Turn>, start: Start) -> TurnEnd;
}
