//! Counts by a label, of which there are only so many.

use std::borrow::Borrow;

use parking_lot::RwLock;

use crate::limits::LABELS_MAX;

/// What all labels past the limit are called.
pub const OTHER: &str = "other";

/// Few, so that a list is as good as a map. The last one of a full list is everybody else's.
pub struct LabelledBy<L, C>(RwLock<Vec<(Option<L>, C)>>);

impl<L, C> Default for LabelledBy<L, C> {
    fn default() -> Self {
        Self(RwLock::new(Vec::new()))
    }
}

impl<L, C: Default> LabelledBy<L, C> {
    pub fn with<B>(&self, label: &B, count: impl FnOnce(&C))
    where
        L: Borrow<B>,
        B: PartialEq + ToOwned<Owned = L> + ?Sized,
    {
        let is_it = |(known, _): &(Option<L>, C)| match known {
            Some(known) => known.borrow() == label,
            None => true,
        };
        if let Some((_, counts)) = self.0.read().iter().find(|entry| is_it(entry)) {
            return count(counts);
        }
        let mut all = self.0.write();
        if !all.iter().any(is_it) {
            let label = (all.len() < LABELS_MAX).then(|| label.to_owned());
            all.push((label, C::default()));
        }
        if let Some((_, counts)) = all.iter().find(|entry| is_it(entry)) {
            count(counts);
        }
    }

    /// None: those past the limit.
    pub fn each(&self, mut see: impl FnMut(Option<&L>, &C)) {
        for (label, counts) in self.0.read().iter() {
            see(label.as_ref(), counts);
        }
    }
}
