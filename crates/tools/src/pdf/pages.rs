//! Pages of a PDF file as text, within limits.

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, LoadOptions, Object, ObjectId};

use super::placed_text::PlacedText;
use super::widths::PdfFont;
use super::{PdfPages, WantedPages};

/// Of one stream when it is unpacked.
const UNPACKED_BYTES_MAX: usize = 16 << 20;
/// Of what a page draws.
const CONTENT_BYTES_MAX: usize = 8 << 20;
const PAGES_MAX: usize = 20_000;
/// Drawings in drawings in pages.
const FORMS_DEEP_MAX: usize = 4;
const FORMS_MAX: usize = 500;

/// The text of the wanted pages, or why there is none, as in "it …".
pub fn read(file: &[u8], wanted: WantedPages) -> Result<PdfPages, String> {
    let options = LoadOptions {
        max_decompressed_size: Some(UNPACKED_BYTES_MAX),
        ..LoadOptions::default()
    };
    let document = Document::load_mem_with_options(file, options).map_err(|error| match error {
        lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_) => encrypted(),
        other => format!("is damaged: {other}"),
    })?;
    // What opens without a password has its pages by now.
    let is_locked = document.trailer.has(b"Encrypt") && document.page_iter().next().is_none();
    if is_locked {
        return Err(encrypted());
    }
    let pages: Vec<ObjectId> = document.page_iter().take(PAGES_MAX).collect();
    let total = pages.len() as u64;
    if total == 0 {
        return Err("is damaged: it has no pages".to_owned());
    }
    let first = match wanted.first {
        0 => 1,
        number if number < 0 => total.saturating_sub(number.unsigned_abs()) + 1,
        number => number.unsigned_abs(),
    };
    let mut reader = PageReader {
        document: &document,
        fonts: HashMap::new(),
        text: PlacedText::default(),
        forms_left: 0,
    };
    let mut texts = Vec::new();
    let mut bytes = 0;
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    for page in pages.into_iter().skip(skipped) {
        if texts.len() as u64 >= wanted.limit || bytes > wanted.bytes_max {
            break;
        }
        let mut text = reader.page(page);
        // A page that is longer than an answer is a mistake in the file, or an attack.
        text.truncate(text.floor_char_boundary(wanted.bytes_max));
        bytes += text.len();
        texts.push(text);
    }
    Ok(PdfPages {
        total,
        first,
        texts,
    })
}

fn encrypted() -> String {
    "is encrypted, and cannot be read without its password".to_owned()
}

/// Reads pages, one after the other.
struct PageReader<'a> {
    document: &'a Document,
    /// By where they lie: the same is used again and again.
    fonts: HashMap<*const Dictionary, Option<Rc<PdfFont<'a>>>>,
    text: PlacedText,
    forms_left: usize,
}

impl<'a> PageReader<'a> {
    /// What a page cannot show of itself is left out.
    fn page(&mut self, page: ObjectId) -> String {
        let document = self.document;
        self.forms_left = FORMS_MAX;
        let content = document.get_page_content_with_limit(page, CONTENT_BYTES_MAX);
        let resources = document.get_page_resources(page);
        let (own, inherited) = resources.unwrap_or((None, Vec::new()));
        let inherited = inherited.into_iter();
        let inherited = inherited.filter_map(|id| document.get_dictionary(id).ok());
        let resources: Vec<&Dictionary> = own.into_iter().chain(inherited).collect();
        if let Ok(content) = content {
            self.draw(&content, &resources, 0);
        }
        std::mem::take(&mut self.text).finish()
    }

    fn draw(&mut self, content: &[u8], resources: &[&'a Dictionary], deep: usize) {
        let Ok(content) = Content::decode(content) else {
            return;
        };
        let mut font = None;
        for Operation { operator, operands } in &content.operations {
            let number = |at: usize| {
                let number = operands.get(at).and_then(|operand| operand.as_float().ok());
                f64::from(number.unwrap_or_default())
            };
            let last_text = || operands.last().and_then(|operand| operand.as_str().ok());
            match operator.as_str() {
                "q" => self.text.save(),
                "Q" => self.text.restore(),
                "cm" => self.text.transform(std::array::from_fn(number)),
                "BT" => self.text.begin(),
                "Tf" => {
                    font = self.font(operands.first(), resources);
                    self.text.style.size = number(1);
                }
                "Tc" => self.text.style.letter_space = number(0),
                "Tw" => self.text.style.word_space = number(0),
                "Tz" => self.text.style.stretch = number(0) / 100.0,
                "TL" => self.text.style.leading = number(0),
                "Td" => self.text.move_line(number(0), number(1)),
                "TD" => {
                    self.text.style.leading = -number(1);
                    self.text.move_line(number(0), number(1));
                }
                "Tm" => self.text.set_matrix(std::array::from_fn(number)),
                "T*" => self.text.next_line(),
                "Tj" => self.show(font.as_deref(), last_text()),
                "'" | "\"" => {
                    self.text.next_line();
                    self.show(font.as_deref(), last_text());
                }
                "TJ" => {
                    let list = operands.first().and_then(|operand| operand.as_array().ok());
                    for piece in list.into_iter().flatten() {
                        match piece.as_float() {
                            Ok(back) => self.text.move_back(f64::from(back)),
                            Err(_) => self.show(font.as_deref(), piece.as_str().ok()),
                        }
                    }
                }
                "Do" => self.form(operands.first(), resources, deep),
                _ => {}
            }
        }
    }

    fn show(&mut self, font: Option<&PdfFont<'_>>, letters: Option<&[u8]>) {
        if let (Some(font), Some(letters)) = (font, letters) {
            self.text.show(font, letters);
        }
    }

    fn font(
        &mut self,
        name: Option<&Object>,
        resources: &[&'a Dictionary],
    ) -> Option<Rc<PdfFont<'a>>> {
        let font = self.resource(b"Font", name, resources)?.as_dict().ok()?;
        let document = self.document;
        let known = self.fonts.entry(std::ptr::from_ref(font));
        let read = || PdfFont::of(document, font, UNPACKED_BYTES_MAX).map(Rc::new);
        known.or_insert_with(read).clone()
    }

    /// Draws what was drawn once to be used in several places.
    fn form(&mut self, name: Option<&Object>, resources: &[&'a Dictionary], deep: usize) {
        let form = self.resource(b"XObject", name, resources);
        let Some(form) = form.and_then(|form| form.as_stream().ok()) else {
            return;
        };
        let is_form = form
            .dict
            .get(b"Subtype")
            .is_ok_and(|kind| kind.as_name().is_ok_and(|kind| kind == b"Form"));
        if !is_form || deep >= FORMS_DEEP_MAX || self.forms_left == 0 {
            return;
        }
        self.forms_left -= 1;
        let Ok(content) = form.decompressed_content_with_limit(CONTENT_BYTES_MAX) else {
            return;
        };
        let own = self.document.get_dict_in_dict(&form.dict, b"Resources");
        let own: Vec<&Dictionary> = own.ok().into_iter().collect();
        let resources = match own.is_empty() {
            true => resources,
            false => &own,
        };
        self.text.save();
        if let Some(matrix) = self.matrix(&form.dict) {
            self.text.transform(matrix);
        }
        self.draw(&content, resources, deep + 1);
        self.text.restore();
    }

    fn matrix(&self, form: &Dictionary) -> Option<[f64; 6]> {
        let matrix = self.document.dereference(form.get(b"Matrix").ok()?).ok()?;
        let numbers = matrix.1.as_array().ok()?;
        let number = |at: usize| {
            let number = numbers.get(at).and_then(|number| number.as_float().ok());
            f64::from(number.unwrap_or_default())
        };
        Some(std::array::from_fn(number))
    }

    fn resource(
        &self,
        kind: &[u8],
        name: Option<&Object>,
        resources: &[&'a Dictionary],
    ) -> Option<&'a Object> {
        let name = name?.as_name().ok()?;
        let found = resources.iter().find_map(|resources| {
            let of_kind = self.document.get_dict_in_dict(resources, kind).ok()?;
            of_kind.get(name).ok()
        })?;
        Some(self.document.dereference(found).ok()?.1)
    }
}
