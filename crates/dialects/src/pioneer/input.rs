//! What a user says, as a client sends it: words with marks in them, pictures, files, and what they point at.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use vocabulary::{InputPiece, TextMark};

use super::wire::params::{ByteRange, TextElement, UserInput};
use crate::images::{self, IMAGES_MAX};
use crate::turn_input::{self, MARKS_MAX, TurnInput, is_usual, named};

/// How much of a client's own word an error repeats.
const REPEATED_CHARS_MAX: usize = 80;
/// Files that one message may have.
const FILES_MAX: usize = 20;
const TYPES: &str =
    "text, image, localImage, file, localFile, skill or mention (audio and video are not taken)";

/// An input, and the files of the server's machine that go with it.
#[derive(Debug)]
pub struct PioneerInput {
    pub said: TurnInput,
    pub files: Vec<PathBuf>,
}

/// Its texts one below the other. What is wrong is said with the field that is.
pub fn read(input: &[UserInput]) -> Result<PioneerInput, String> {
    let mut reader = InputReader::default();
    for (at, piece) in input.iter().enumerate() {
        reader
            .take(piece)
            .map_err(|(field, why)| format!("input[{at}].{field}: {why}"))?;
    }
    let InputReader {
        texts,
        images,
        pieces,
        pointed,
        files,
    } = reader;
    if images.len() > IMAGES_MAX {
        return Err(format!("input: at most {IMAGES_MAX} pictures"));
    }
    if files.len() > FILES_MAX {
        return Err(format!("input: at most {FILES_MAX} files"));
    }
    let text = texts.join("\n");
    let is_blank = text.trim().is_empty() && images.is_empty() && files.is_empty();
    if is_blank && pointed.is_empty() {
        return Err("input must have some text".to_owned());
    }
    let said = TurnInput {
        text,
        images,
        pieces: if is_usual(&pieces) {
            Vec::new()
        } else {
            pieces
        },
        pointed,
    };
    Ok(PioneerInput { said, files })
}

/// The field that is wrong, and why.
type WrongField = (&'static str, String);

#[derive(Default)]
struct InputReader<'a> {
    texts: Vec<&'a str>,
    images: Vec<vocabulary::Image>,
    pieces: Vec<InputPiece>,
    pointed: Vec<String>,
    files: Vec<PathBuf>,
}

impl<'a> InputReader<'a> {
    fn take(&mut self, piece: &'a UserInput) -> Result<(), WrongField> {
        let url = piece.url.as_deref().unwrap_or_default();
        let path = piece.path.as_deref().unwrap_or_default();
        match piece.kind.as_str() {
            "text" => {
                let text = piece.text.as_deref();
                let text = text.ok_or_else(|| ("text", "expected a text".to_owned()))?;
                let marks = marks(text, &piece.text_elements)?;
                let bytes = text.len();
                self.pieces.push(InputPiece::Text { bytes, marks });
                self.texts.push(text);
            }
            "image" => self.picture(images::from_url(url).map_err(|why| ("url", why.to_owned()))?),
            "localImage" => {
                self.picture(images::from_path(path).map_err(|why| ("path", why.to_owned()))?);
            }
            "file" => self.file(url).map_err(|why| ("url", why))?,
            "localFile" => match Path::new(path).is_absolute() {
                true => self.files.push(path.into()),
                false => return Err(("path", "expected an absolute path".to_owned())),
            },
            "mention" => {
                let pointed = named(piece.path.as_deref(), "the user points at");
                let pointed = pointed.ok_or_else(|| ("path", "expected a path".to_owned()))?;
                self.pointed.push(pointed);
            }
            "skill" => {
                let words = "the user wants this skill to be used:";
                let pointed = named(piece.name.as_deref(), words);
                let pointed = pointed.ok_or_else(|| ("name", "expected a name".to_owned()))?;
                self.pointed.push(pointed);
            }
            other => {
                let other: String = other.chars().take(REPEATED_CHARS_MAX).collect();
                return Err(("type", format!("expected {TYPES}, not `{other}`")));
            }
        }
        Ok(())
    }

    fn picture(&mut self, image: vocabulary::Image) {
        self.images.push(image);
        self.pieces.push(InputPiece::Image);
    }

    /// A file that comes whole: a picture is one, text is read.
    fn file(&mut self, url: &str) -> Result<(), String> {
        const EXPECTED: &str = "expected a data: URL in base64, of text or a picture";
        let data = url.strip_prefix("data:").ok_or(EXPECTED)?;
        let (kind, base64) = data.split_once(',').ok_or(EXPECTED)?;
        let kind = kind.strip_suffix(";base64").ok_or(EXPECTED)?;
        if kind.starts_with("image/") {
            self.picture(images::from_url(url)?);
            return Ok(());
        }
        let bytes = STANDARD.decode(base64).map_err(|_| EXPECTED)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            "models of this server read text and pictures; this file is neither".to_owned()
        })?;
        self.pointed.push(format!("[a file of the user's]\n{text}"));
        Ok(())
    }
}

fn marks(text: &str, elements: &[TextElement]) -> Result<Vec<TextMark>, WrongField> {
    const FIELD: &str = "textElements";
    if elements.len() > MARKS_MAX {
        return Err((FIELD, format!("at most {MARKS_MAX}")));
    }
    let mark = |element: &TextElement| {
        let ByteRange { start, end } = element.byte_range;
        turn_input::mark(text, (start, end), element.placeholder.as_ref())
    };
    let marks = elements.iter().map(mark).collect::<Result<_, _>>();
    marks.map_err(|why: String| (FIELD, why))
}
