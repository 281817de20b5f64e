//! A PDF file as `read` shows it: the text of its pages, and a small one whole besides, for models that
//! read such files by themselves.

use base64::Engine as _;
use serde_json::Value;
use vocabulary::{ContentBlock, ToolOutput};

use super::lines::ANSWER_BYTES_MAX;
use super::{error, fields};
use crate::pdf::{self, PdfPages, WantedPages};
use crate::{Failure, ToolCx, walk};

/// What of an answer is left for what is said about the pages.
const NOTES_BYTES_MAX: usize = 1024;
/// What services take as a file: no more bytes, …
const DOCUMENT_BYTES_MAX: usize = 3_300_000;
/// … and no more pages, as each is paid for as a picture and as text.
const DOCUMENT_PAGES_MAX: u64 = 20;
const NO_TEXT: &str = "[no text on this page: it may be scanned, or a picture]";
const NO_TEXT_AT_ALL: &str = "[There is no text on these pages. If they are scanned, make text of them \
    with a command such as ocrmypdf, or pictures with pdftoppm, and read those.]";

pub(super) async fn show(cx: &ToolCx, input: &Value, file: Vec<u8>) -> Result<ToolOutput, Failure> {
    let (given, offset, limit) = fields(input)?;
    let wanted = WantedPages {
        first: offset.unwrap_or(1),
        limit: limit.unwrap_or(u64::MAX),
        bytes_max: ANSWER_BYTES_MAX - NOTES_BYTES_MAX,
    };
    let is_whole = offset.is_none() && limit.is_none() && file.len() <= DOCUMENT_BYTES_MAX;
    let whole = is_whole.then(|| base64::prelude::BASE64_STANDARD.encode(&file));
    let pages = tokio::select! {
        pages = pdf::text(&cx.sandbox, file, wanted) => pages,
        () = cx.cancel.cancelled() => return Err(walk::cancelled()),
    };
    let pages = pages.map_err(|why| error(format!("{given} {why}")))?;
    if pages.texts.is_empty() {
        return Err(error(format!(
            "\"offset\" {} is past the end: {given} has {} pages",
            pages.first, pages.total
        )));
    }
    let text = in_words(&pages);
    let total = pages.total;
    match whole.filter(|_| total <= DOCUMENT_PAGES_MAX) {
        Some(base64) => Ok(ToolOutput::Content(vec![
            ContentBlock::Text(format!("{given} is a PDF file, pages in all: {total}.")),
            ContentBlock::Document {
                name: name_of(given),
                media_type: "application/pdf".to_owned(),
                base64: base64.into(),
                text,
            },
        ])),
        None => Ok(ToolOutput::Text(text)),
    }
}

fn name_of(given: &str) -> String {
    given.rsplit('/').next().unwrap_or(given).to_owned()
}

/// The pages with their numbers, as many as one answer holds.
fn in_words(pages: &PdfPages) -> String {
    let mut text = String::new();
    let mut last = pages.first - 1;
    for (number, page) in (pages.first..).zip(&pages.texts) {
        let words = if page.is_empty() { NO_TEXT } else { page };
        let shown = format!("[page {number}]\n{words}\n");
        if number > pages.first && text.len() + shown.len() > ANSWER_BYTES_MAX - NOTES_BYTES_MAX {
            break;
        }
        text.push_str(&shown);
        last = number;
    }
    if pages.texts.iter().all(String::is_empty) {
        text.push_str(NO_TEXT_AT_ALL);
    } else if last < pages.total {
        let (first, total) = (pages.first, pages.total);
        let next = last + 1;
        text.push_str(&format!(
            "[pages {first}-{last} of {total}; read on with offset {next}]"
        ));
    }
    text.trim_end().to_owned()
}
