//! The output items of an answer, and which of them an event is about.

use std::ops::{Index, IndexMut};

use serde_json::Value;

use crate::format::blocks::BlockKey;
use crate::format::text;

#[derive(Default)]
pub(super) struct OutputItems(Vec<OutputItem>);

/// A message, a thought, a call, or something unknown.
#[derive(Default)]
pub(super) struct OutputItem {
    index: Option<u64>,
    id: Option<String>,
    pub key: Option<BlockKey>,
    /// Where the text of its current content part begins.
    pub part_from: usize,
    pub done: bool,
}

impl OutputItems {
    /// Adds the item an event is about.
    pub fn add(&mut self, value: &Value) -> usize {
        self.0.push(OutputItem {
            index: value["output_index"].as_u64(),
            id: id(value).map(str::to_owned),
            ..OutputItem::default()
        });
        self.0.len() - 1
    }

    /// The item an event is about: by its id, else by its number (some servers give an item a new
    /// id with every event), else the last that is not done.
    pub fn find(&self, value: &Value) -> Option<usize> {
        let id = id(value);
        let index = value["output_index"].as_u64();
        let by_id = id.and_then(|id| self.position(|item| item.id.as_deref() == Some(id)));
        let open = |item: &OutputItem| !item.done;
        match (by_id, index) {
            (Some(at), _) => Some(at),
            (None, Some(index)) => self.position(|item| open(item) && item.index == Some(index)),
            (None, None) if id.is_none() => self.position(open),
            (None, None) => None,
        }
    }

    /// The item that stands at this place of the finished answer.
    pub fn listed(&self, place: usize, item: &Value) -> Option<usize> {
        let number = u64::try_from(place).ok();
        let by_id = text(item, "id");
        let by_id = by_id.and_then(|id| self.position(|each| each.id.as_deref() == Some(id)));
        let unnumbered = |at: &usize| self.0.get(*at).is_some_and(|each| each.index.is_none());
        by_id
            .or_else(|| self.position(|each| each.index == number))
            .or_else(|| Some(place).filter(unnumbered))
    }

    fn position(&self, fits: impl Fn(&OutputItem) -> bool) -> Option<usize> {
        self.0.iter().rposition(fits)
    }
}

impl Index<usize> for OutputItems {
    type Output = OutputItem;

    fn index(&self, at: usize) -> &OutputItem {
        &self.0[at]
    }
}

impl IndexMut<usize> for OutputItems {
    fn index_mut(&mut self, at: usize) -> &mut OutputItem {
        &mut self.0[at]
    }
}

fn id(value: &Value) -> Option<&str> {
    text(value, "item_id").or_else(|| text(&value["item"], "id"))
}
