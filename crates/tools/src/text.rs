//! The text of a file and how it is written in bytes, so that a change keeps the one form.

use std::borrow::Cow;

/// A NUL within so many bytes marks a file as binary.
pub(crate) const PROBE_BYTES: usize = 8192;

/// How a text is written in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    Utf8Marked,
    Utf16Le,
    Utf16Be,
    /// What is not UTF-8 is read so. Each byte stands for one character, so nothing is lost.
    Windows1252,
}

impl Encoding {
    /// For people and models.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf8Marked => "UTF-8 with a byte order mark",
            Encoding::Utf16Le => "UTF-16 LE",
            Encoding::Utf16Be => "UTF-16 BE",
            Encoding::Windows1252 => "Windows-1252",
        }
    }

    /// What the byte order mark at the beginning says.
    pub fn of_mark(bytes: &[u8]) -> Option<Encoding> {
        match bytes {
            [0xef, 0xbb, 0xbf, ..] => Some(Encoding::Utf8Marked),
            // UTF-32 begins alike, and is left alone as binary.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Encoding::Utf16Le),
            [0xfe, 0xff, ..] => Some(Encoding::Utf16Be),
            _ => None,
        }
    }
}

/// Whether these first bytes of a file say that it is no text.
pub(crate) fn is_binary(beginning: &[u8]) -> bool {
    let probe = &beginning[..beginning.len().min(PROBE_BYTES)];
    match Encoding::of_mark(beginning) {
        Some(Encoding::Utf16Le | Encoding::Utf16Be) => false,
        _ => memchr::memchr(0, probe).is_some(),
    }
}

/// The text without its mark; `None` if it is none.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Cow<'_, str>, Encoding)> {
    if is_binary(bytes) {
        return None;
    }
    match Encoding::of_mark(bytes) {
        Some(encoding @ Encoding::Utf16Le) => {
            let text = encoding_rs::UTF_16LE
                .decode_without_bom_handling_and_without_replacement(&bytes[2..])?;
            Some((text, encoding))
        }
        Some(encoding @ Encoding::Utf16Be) => {
            let text = encoding_rs::UTF_16BE
                .decode_without_bom_handling_and_without_replacement(&bytes[2..])?;
            Some((text, encoding))
        }
        Some(Encoding::Utf8Marked) if let Ok(text) = std::str::from_utf8(&bytes[3..]) => {
            Some((Cow::Borrowed(text), Encoding::Utf8Marked))
        }
        _ => Some(match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), Encoding::Utf8),
            Err(_) => (windows_1252(bytes), Encoding::Windows1252),
        }),
    }
}

/// Reads bytes that are not UTF-8.
pub(crate) fn windows_1252(bytes: &[u8]) -> Cow<'_, str> {
    encoding_rs::WINDOWS_1252
        .decode_without_bom_handling(bytes)
        .0
}

/// The bytes of a text; the error is a character that the encoding does not have.
pub(crate) fn encode(text: &str, encoding: Encoding) -> Result<Vec<u8>, char> {
    let units = |bytes: fn(u16) -> [u8; 2]| {
        let marked = std::iter::once(0xfeff).chain(text.encode_utf16());
        marked.flat_map(bytes).collect()
    };
    match encoding {
        Encoding::Utf8 => Ok(text.as_bytes().to_vec()),
        Encoding::Utf8Marked => Ok([b"\xef\xbb\xbf", text.as_bytes()].concat()),
        Encoding::Utf16Le => Ok(units(u16::to_le_bytes)),
        Encoding::Utf16Be => Ok(units(u16::to_be_bytes)),
        Encoding::Windows1252 => {
            let (bytes, _, lossy) = encoding_rs::WINDOWS_1252.encode(text);
            match lossy {
                false => Ok(bytes.into_owned()),
                true => Err(first_foreign(text)),
            }
        }
    }
}

fn first_foreign(text: &str) -> char {
    let mut buffer = [0; 4];
    let foreign = |letter: &char| {
        encoding_rs::WINDOWS_1252
            .encode(letter.encode_utf8(&mut buffer))
            .2
    };
    text.chars().find(foreign).unwrap_or_default()
}

/// Whether the text ends its lines with CR LF: all of them, or most.
pub(crate) fn has_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf > 0 && crlf * 2 > memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// The text with the file's line ends, where it has only plain ones itself.
pub(crate) fn with_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    match crlf && !text.contains('\r') {
        true => Cow::Owned(text.replace('\n', "\r\n")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_encoding_is_recognised() {
        let table: [(&[u8], &str, Encoding); 6] = [
            (b"zw\xc3\xb6lf", "zwölf", Encoding::Utf8),
            (b"\xef\xbb\xbfa", "a", Encoding::Utf8Marked),
            (b"\xff\xfea\0\xf6\0", "aö", Encoding::Utf16Le),
            (b"\xfe\xff\0a\0\xf6", "aö", Encoding::Utf16Be),
            (b"zw\xf6lf \x80", "zwölf €", Encoding::Windows1252),
            (b"\xff\xfe", "", Encoding::Utf16Le),
        ];
        for (bytes, text, encoding) in table {
            assert_eq!(decode(bytes).unwrap(), (Cow::Borrowed(text), encoding));
        }
        for bytes in [&b"PNG\0"[..], b"\xff\xfe\0\0a\0\0\0", b"\xff\xfe\0\xd8"] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(encode("a → b", Encoding::Windows1252), Err('→'));
    }

    #[test]
    fn line_ends_follow_the_majority() {
        assert!(has_crlf("a\r\nb\r\nc\n"));
        assert!(!has_crlf("a\r\nb\n") && !has_crlf("a") && !has_crlf("a\n"));
        assert_eq!(with_ends("a\nb", true), "a\r\nb");
        assert_eq!(with_ends("a\r\nb\n", true), "a\r\nb\n");
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_encoded_to_the_same_bytes(bytes: Vec<u8>, mark in 0..4usize) {
            let mark: &[u8] = [&b""[..], b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"][mark];
            let bytes = [mark, &bytes].concat();
            if let Some((text, encoding)) = decode(&bytes) {
                prop_assert_eq!(encode(&text, encoding).unwrap(), bytes);
            }
        }
    }
}
