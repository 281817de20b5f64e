//! Fonts of a PDF file: which letters their codes mean, and how wide they are.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

/// Of letters whose width is not said, in thousandths of the size.
const WIDTH_DEFAULT: f64 = 500.0;
const WIDTH_DEFAULT_WIDE: f64 = 1000.0;
const WIDTHS_MAX: usize = 70_000;

pub struct PdfFont<'a> {
    encoding: Encoding<'a>,
    widths: HashMap<u32, f64>,
    width_default: f64,
    /// Whether a code has two bytes.
    is_wide: bool,
}

impl<'a> PdfFont<'a> {
    pub fn of(document: &'a Document, font: &'a Dictionary, unpacked_max: usize) -> Option<Self> {
        let encoding = font.get_font_encoding_with_limit(document, unpacked_max);
        let is_wide = font
            .get(b"Subtype")
            .is_ok_and(|kind| kind.as_name().is_ok_and(|kind| kind == b"Type0"));
        let (widths, width_default) = match is_wide {
            true => wide_widths(document, font).unwrap_or_default(),
            false => (simple_widths(document, font).unwrap_or_default(), None),
        };
        let usual = match is_wide {
            true => WIDTH_DEFAULT_WIDE,
            false => WIDTH_DEFAULT,
        };
        Some(Self {
            encoding: encoding.ok()?,
            widths,
            width_default: width_default.unwrap_or(usual),
            is_wide,
        })
    }

    pub fn text(&self, letters: &[u8]) -> Option<String> {
        let text = Document::decode_text(&self.encoding, letters).ok()?;
        Some(text).filter(|text| !text.is_empty())
    }

    /// The width of each letter, and whether it is the blank that is stretched between words.
    pub fn widths(&self, letters: &[u8]) -> impl Iterator<Item = (f64, bool)> {
        let bytes = if self.is_wide { 2 } else { 1 };
        letters.chunks(bytes).map(move |code| {
            let code = code
                .iter()
                .fold(0, |code, byte| code << 8 | u32::from(*byte));
            let width = self.widths.get(&code).copied();
            let is_blank = !self.is_wide && code == u32::from(b' ');
            (width.unwrap_or(self.width_default), is_blank)
        })
    }
}

fn list<'a>(document: &'a Document, of: &'a Dictionary, name: &[u8]) -> Option<&'a Vec<Object>> {
    document
        .dereference(of.get(name).ok()?)
        .ok()?
        .1
        .as_array()
        .ok()
}

fn number(document: &Document, object: &Object) -> Option<f64> {
    let (_, object) = document.dereference(object).ok()?;
    object.as_float().ok().map(f64::from)
}

fn simple_widths(document: &Document, font: &Dictionary) -> Option<HashMap<u32, f64>> {
    let first = number(document, font.get(b"FirstChar").ok()?)? as u32;
    let widths = list(document, font, b"Widths")?.iter().take(256);
    let numbers = (first..).zip(widths);
    let known = numbers.filter_map(|(code, width)| Some((code, number(document, width)?)));
    Some(known.collect())
}

/// A list of `first [width …]` and `first last width`.
fn wide_widths(document: &Document, font: &Dictionary) -> Option<(HashMap<u32, f64>, Option<f64>)> {
    let inner = list(document, font, b"DescendantFonts")?.first()?;
    let inner = document.dereference(inner).ok()?.1.as_dict().ok()?;
    let default = inner
        .get(b"DW")
        .ok()
        .and_then(|width| number(document, width));
    let mut widths = HashMap::new();
    let mut rest = list(document, inner, b"W").map_or(&[][..], Vec::as_slice);
    while let [first, second, others @ ..] = rest {
        let first = number(document, first).unwrap_or_default() as u32;
        let second = document.dereference(second).map_or(second, |found| found.1);
        rest = others;
        if let Ok(list) = second.as_array() {
            let each = list.iter().filter_map(|width| number(document, width));
            widths.extend((first..).zip(each).take(WIDTHS_MAX));
        } else if let ([width, others @ ..], Some(last)) = (others, number(document, second)) {
            rest = others;
            let width = number(document, width).unwrap_or(WIDTH_DEFAULT_WIDE);
            let codes = first..=(last as u32).min(first.saturating_add(WIDTHS_MAX as u32));
            widths.extend(codes.map(|code| (code, width)));
        }
        if widths.len() > WIDTHS_MAX {
            break;
        }
    }
    Some((widths, default))
}
