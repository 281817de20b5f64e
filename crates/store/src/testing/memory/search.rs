//! The index of words in memory.

use std::collections::BTreeMap;

use vocabulary::{Seq, TenantId, ThreadId};

use super::world::World;
use crate::search::{FREQUENCY_MAX, TextPlace, TextVerdict, WindowRule};
use crate::words::{Phrase, SearchTerms, TextWords};
use crate::{
    IndexPart, IndexPiece, IndexSearch, IndexSpan, MatchedText, Result, SearchMatch, SearchSpan,
    SearchWindow, StoreError, UnindexedEvents,
};

#[derive(Default)]
pub(super) struct TextIndex {
    /// Every event ever written, in order.
    log: Vec<(ThreadId, Seq)>,
    /// How many of them were indexed.
    indexed: u64,
    threads: i64,
    /// By number.
    texts: BTreeMap<i64, TextWords>,
}

impl TextIndex {
    pub(super) fn next_thread(&mut self) -> i64 {
        self.threads += 1;
        self.threads
    }

    pub(super) fn written(&mut self, thread: ThreadId, events: Vec<Seq>) {
        self.log.extend(events.into_iter().map(|seq| (thread, seq)));
    }

    pub(super) fn forget(&mut self, thread: i64) {
        self.remove(TextPlace::first_of(thread), TextPlace::last_of(thread));
    }

    fn remove(&mut self, from: i64, upto: i64) {
        self.texts
            .retain(|number, _| !(from..=upto).contains(number));
    }
}

impl World {
    pub(super) fn unindexed(&self, part: IndexPart, limit: u32) -> UnindexedEvents {
        let index = &self.texts;
        // There was nothing before this index.
        let (after, end) = match part {
            IndexPart::Old => (0, 0),
            IndexPart::New => (index.indexed, index.log.len() as u64),
        };
        let upto = end.min(after + u64::from(limit));
        let event = |(thread, seq): &(ThreadId, Seq)| {
            let kept = self.threads.get(thread)?;
            Some((*thread, kept.events.get(seq)?.clone()))
        };
        let log = &index.log[after as usize..upto as usize];
        UnindexedEvents {
            events: log.iter().filter_map(event).collect(),
            span: IndexSpan { part, after, upto },
            end,
        }
    }

    pub(super) fn index(&mut self, piece: IndexPiece) -> bool {
        if piece.span.after == piece.span.upto {
            return true;
        }
        if piece.span.part != IndexPart::New || piece.span.after != self.texts.indexed {
            return false;
        }
        self.texts.indexed = piece.span.upto;
        for hidden in piece.hidden {
            if let Some(kept) = self.threads.get(&hidden.thread) {
                let (from, upto) = TextPlace::between(kept.number, hidden.from, hidden.upto);
                self.texts.remove(from, upto);
            }
        }
        for text in piece.texts {
            let number = self.threads.get(&text.thread).map(|kept| kept.number);
            let place = number.and_then(|number| TextPlace::of(number, text.seq, text.kind));
            if let Some(place) = place {
                let words = TextWords::of(&text.text);
                self.texts.texts.insert(place.number(), words);
            }
        }
        true
    }

    pub(super) fn search(
        &self,
        tenant: &TenantId,
        search: &IndexSearch<'_>,
    ) -> Result<SearchWindow> {
        if search.terms.is_empty() {
            return Ok(SearchWindow::default());
        }
        let (from, upto) = self.rows_of(tenant, search)?;
        let mut rule = WindowRule::new(search.span);
        let mut window = SearchWindow::default();
        let all = self.texts.texts.iter().rev();
        let found = all.filter(|(number, words)| {
            (from..=upto).contains(*number) && search.terms.find(words).is_some()
        });
        for place in found.filter_map(|(number, _)| TextPlace::read(*number)) {
            let mut threads = self.threads.values();
            let kept = threads.find(|kept| kept.number == place.thread);
            let kept = kept.filter(|kept| {
                kept.thread.card.tenant == *tenant && search.query.matches(&kept.thread)
            });
            let is_searched = |_| Ok::<_, StoreError>(kept.is_some());
            match rule.judge(place, &search.query.kinds, is_searched)? {
                TextVerdict::Take => {}
                TextVerdict::Pass => continue,
                TextVerdict::Full => {
                    window.more = true;
                    break;
                }
            }
            let Some(kept) = kept else { continue };
            let text = match place.seq {
                0 => Some(MatchedText::Title(kept.thread.title.text.clone())),
                seq => {
                    let event = kept.events.get(&Seq(seq.cast_unsigned()));
                    event.cloned().map(MatchedText::Event)
                }
            };
            window.matches.extend(text.map(|text| SearchMatch {
                thread: kept.thread.card.id,
                updated_at: kept.thread.updated_at,
                kind: place.kind,
                text,
            }));
        }
        let phrases = search.terms.phrases.iter();
        window.frequencies = phrases.map(|phrase| self.frequency(phrase)).collect();
        Ok(window)
    }

    fn rows_of(&self, tenant: &TenantId, search: &IndexSearch<'_>) -> Result<(i64, i64)> {
        let own = |thread: ThreadId| {
            let kept = self.threads.get(&thread);
            let kept = kept.filter(|kept| kept.thread.card.tenant == *tenant);
            kept.map(|kept| kept.number).ok_or(StoreError::BadCursor)
        };
        if let Some(thread) = search.query.thread {
            return Ok(match own(thread) {
                Ok(number) => (TextPlace::first_of(number), TextPlace::last_of(number)),
                Err(_) => (0, -1),
            });
        }
        Ok(match search.span {
            SearchSpan::Newest => (0, i64::MAX),
            SearchSpan::Below(thread) => (0, TextPlace::first_of(own(thread)?) - 1),
            SearchSpan::Between { first, last } => (
                TextPlace::first_of(own(last)?),
                TextPlace::last_of(own(first)?),
            ),
        })
    }

    fn frequency(&self, phrase: &Phrase) -> u32 {
        let phrase = SearchTerms {
            phrases: vec![phrase.clone()],
        };
        let phrase = phrase.exact();
        let all = self.texts.texts.values();
        let count = all.filter(|words| phrase.find(words).is_some()).count();
        u32::try_from(count).unwrap_or(u32::MAX).min(FREQUENCY_MAX)
    }

    pub(super) fn threads_with(&self, tenant: &TenantId, terms: &SearchTerms) -> Vec<ThreadId> {
        let has = |number: i64| {
            let (from, upto) = (TextPlace::first_of(number), TextPlace::last_of(number));
            let mut texts = self.texts.texts.range(from..=upto);
            texts.any(|(_, words)| terms.find(words).is_some())
        };
        let own = self.threads.values();
        let own = own.filter(|kept| kept.thread.card.tenant == *tenant);
        own.filter(|kept| has(kept.number))
            .map(|kept| kept.thread.card.id)
            .collect()
    }
}
