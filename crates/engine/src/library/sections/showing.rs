//! Says of the threads that an answer shows in which section each is.

use vocabulary::{Call, Caller, InSection, Refusal, Reply, Thread};

use super::{KINDS, KeptSection};
use crate::Shared;
use crate::library::records;

/// Which thread is in which section, at one moment.
#[derive(Debug, Default)]
pub struct SectionedThreads(Vec<KeptSection>);

impl SectionedThreads {
    /// Whether what a call is answered with shows threads as a list does. New ones are in no section.
    pub fn are_shown_by(call: &Call) -> bool {
        matches!(
            call,
            Call::ListThreads(_)
                | Call::SearchThreads(_)
                | Call::GetThread { .. }
                | Call::FindThread { .. }
                | Call::ChangeThread { .. }
                | Call::RevertThread(_)
                | Call::ReadThread { .. }
                | Call::ReadTurns { .. }
        )
    }

    pub async fn read(shared: &Shared, caller: &Caller) -> Result<Self, Refusal> {
        let library = records::read(shared, &caller.tenant, KINDS).await?;
        Ok(Self(library.sections))
    }

    pub fn show(&self, reply: &mut Reply) {
        match reply {
            Reply::Thread(thread) => self.show_in([&mut **thread]),
            Reply::View(view) => self.show_in([&mut view.thread]),
            Reply::Threads(page) => self.show_in(&mut page.threads),
            Reply::Search(page) => {
                self.show_in(page.threads.iter_mut().map(|found| &mut found.thread));
            }
            Reply::Turns(page) => self.show_in([&mut page.view.thread]),
            // tidy: wildcard, because nothing else shows a thread as a list has it.
            _ => {}
        }
    }

    pub fn show_in<'a>(&self, threads: impl IntoIterator<Item = &'a mut Thread>) {
        if self.0.is_empty() {
            return;
        }
        for thread in threads {
            thread.section = self.0.iter().find_map(|kept| {
                let place = kept.place(thread.card.id)?;
                Some(Box::new(InSection {
                    section: kept.section.clone(),
                    entered_at: kept.threads.get(place)?.entered_at,
                }))
            });
        }
    }
}
