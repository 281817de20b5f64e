//! Sections of the list of threads: `threadSection/*` and `thread/section/move`.

use serde_json::Value;
use vocabulary::{
    Call, FieldChange, LibraryCall, LibraryReply, Refusal, Section, SectionAppearance, SectionCall,
    SectionId, SectionPlace, ThreadId, Why,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::hear::read;
use super::refuse::CodexError;
use super::wire::results::{Empty, Page};
use super::wire::sections::{
    ThreadSection, ThreadSectionAppearance, ThreadSectionCreateParams, ThreadSectionDeleteParams,
    ThreadSectionListParams, ThreadSectionMoveParams, ThreadSectionResponse,
    ThreadSectionUpdateParams,
};
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

const PAGE_DEFAULT: usize = 100;

#[derive(Debug)]
pub enum SectionRequest {
    List(ThreadSectionListParams),
    Create(ThreadSectionCreateParams),
    Update(ThreadSectionUpdateParams),
    Delete(ThreadSectionDeleteParams),
    Move(ThreadSectionMoveParams),
}

/// What an answer is for.
#[derive(Clone, Debug)]
pub struct SectionPurpose {
    method: &'static str,
    answer: SectionAnswer,
}

#[derive(Clone, Debug)]
enum SectionAnswer {
    List(ThreadSectionListParams),
    One,
    Done,
}

/// `None`: another subject's.
pub fn request(method: &str, params: &Value) -> Option<Result<SectionRequest, CodexError>> {
    let given = || params.clone();
    Some(match method {
        "threadSection/list" => match params {
            // It may come without any.
            Value::Null => Ok(SectionRequest::List(ThreadSectionListParams::default())),
            _ => read(method, given()).map(SectionRequest::List),
        },
        "threadSection/create" => read(method, given()).map(SectionRequest::Create),
        "threadSection/update" => read(method, given()).map(SectionRequest::Update),
        "threadSection/delete" => read(method, given()).map(SectionRequest::Delete),
        "thread/section/move" => read(method, given()).map(SectionRequest::Move),
        _ => return None,
    })
}

impl Codex {
    pub(super) fn sections(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: SectionRequest,
    ) -> Result<(), CodexError> {
        let method = request.method();
        let (call, answer) = match request {
            SectionRequest::List(params) => (SectionCall::List, SectionAnswer::List(params)),
            SectionRequest::Create(params) => {
                let call = SectionCall::Create {
                    name: params.name,
                    appearance: params.appearance.map(appearance),
                };
                (call, SectionAnswer::One)
            }
            SectionRequest::Update(params) => {
                let call = SectionCall::Update {
                    section: SectionId::new(params.section_id),
                    name: params.name,
                    appearance: FieldChange::given(
                        params.appearance.map(|given| given.map(appearance)),
                    ),
                };
                (call, SectionAnswer::One)
            }
            SectionRequest::Delete(params) => {
                let section = SectionId::new(params.section_id);
                (SectionCall::Delete { section }, SectionAnswer::Done)
            }
            SectionRequest::Move(params) => {
                let thread = parse(&params.thread_id)?;
                let to = place(params.section_id, params.before_thread_id.as_deref())?;
                (SectionCall::Move { thread, to }, SectionAnswer::Done)
            }
        };
        let waiting = CodexPurpose::Sections(id, SectionPurpose { method, answer });
        let call = Call::Library(LibraryCall::Sections(call));
        self.calls.make(out, waiting, call);
        Ok(())
    }

    pub(super) fn sections_answered(
        &self,
        out: &mut Vec<Action>,
        id: &Id,
        purpose: &SectionPurpose,
        reply: LibraryReply,
    ) -> Result<(), Refusal> {
        let frame = match (&purpose.answer, &reply) {
            (SectionAnswer::List(params), LibraryReply::Sections(all)) => {
                respond(id, &page(all, params))
            }
            (SectionAnswer::One, LibraryReply::Section(section)) => {
                let section = shown(section);
                respond(id, &ThreadSectionResponse { section })
            }
            (SectionAnswer::Done, LibraryReply::Moved | LibraryReply::Deleted(_)) => {
                respond(id, &Empty {})
            }
            // tidy: wildcard, because no other pair of the two is an answer.
            _ => {
                let message = "this answer is for another question";
                return Err(Refusal::new(Why::Internal, message));
            }
        };
        send(out, frame);
        Ok(())
    }

    pub(super) fn sections_refused(
        out: &mut Vec<Action>,
        id: &Id,
        purpose: &SectionPurpose,
        refusal: &Refusal,
    ) {
        let mut error = CodexError::from(refusal);
        if let Why::Invalid { field } = &refusal.why {
            let field = match field.as_ref() {
                "section" => "sectionId",
                "before" => "beforeThreadId",
                "thread" => "threadId",
                field => field,
            };
            error.message = format!("{}: {field}: {}", purpose.method, error.message);
        }
        send(out, error.frame(Some(id)));
    }
}

impl SectionRequest {
    fn method(&self) -> &'static str {
        match self {
            SectionRequest::List(_) => "threadSection/list",
            SectionRequest::Create(_) => "threadSection/create",
            SectionRequest::Update(_) => "threadSection/update",
            SectionRequest::Delete(_) => "threadSection/delete",
            SectionRequest::Move(_) => "thread/section/move",
        }
    }
}

fn place(
    section: Option<String>,
    before: Option<&str>,
) -> Result<Option<SectionPlace>, CodexError> {
    let before = before.map(parse).transpose()?;
    match (section, before) {
        (Some(section), before) => Ok(Some(SectionPlace {
            section: SectionId::new(section),
            before,
        })),
        (None, None) => Ok(None),
        (None, Some::<ThreadId>(_)) => {
            let message = "thread/section/move: beforeThreadId: expected a sectionId beside it";
            Err(CodexError::params(message))
        }
    }
}

/// A cursor is the id of the section that the page before ended with.
fn page<'a>(all: &'a [Section], params: &ThreadSectionListParams) -> Page<ThreadSection<'a>> {
    let after = params.cursor.as_deref();
    let place = |cursor: &str| all.iter().position(|each| each.id.as_str() == cursor);
    let rest = match after {
        None => all,
        // One that is gone is behind all that are there.
        Some(cursor) => place(cursor).map_or(&[][..], |place| &all[place + 1..]),
    };
    let limit = params
        .limit
        .map_or(PAGE_DEFAULT, |limit| (limit as usize).max(1));
    let data: Vec<_> = rest.iter().take(limit).map(shown).collect();
    let last = data.last().map(|last| last.id.to_owned());
    Page {
        next_cursor: last.filter(|_| rest.len() > limit),
        data,
    }
}

pub fn shown(section: &Section) -> ThreadSection<'_> {
    let drawn = |it: &SectionAppearance| ThreadSectionAppearance {
        icon: it.icon.clone(),
        color: it.color.clone(),
    };
    ThreadSection {
        id: section.id.as_str(),
        name: &section.name,
        appearance: section.appearance.as_ref().map(drawn),
    }
}

fn appearance(given: ThreadSectionAppearance) -> SectionAppearance {
    SectionAppearance {
        color: given.color,
        icon: given.icon,
    }
}
