//! What a file is that is no text, by its first bytes.

/// The first bytes, where they stand, and what they mean.
const KINDS: [(usize, &[u8], &str); 18] = [
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (8, b"WEBP", "a WebP image"),
    (0, b"BM", "a BMP image"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"MM\0*", "a TIFF image"),
    (0, b"\0\0\x01\0", "an icon"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"PK\x03\x04", "a ZIP archive (or an Office document)"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (0, b"\xfd7zXZ\0", "XZ data"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "an ELF program or library"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"\0asm", "a WebAssembly module"),
    (4, b"ftyp", "a media file"),
];

/// What the file is, as in "it is …"; images with their size where it is easy to tell.
pub(crate) fn describe(beginning: &[u8]) -> String {
    let found = KINDS.iter().find(|(at, mark, _)| {
        beginning
            .get(*at..)
            .is_some_and(|rest| rest.starts_with(mark))
    });
    let Some((_, _, name)) = found else {
        return "a binary file".to_owned();
    };
    match size(beginning) {
        Some((width, height)) => format!("{name} of {width} x {height} pixels"),
        None => (*name).to_owned(),
    }
}

/// The media type of a picture that models can be shown.
pub fn picture(beginning: &[u8]) -> Option<&'static str> {
    let begins = |mark: &[u8]| beginning.starts_with(mark);
    if begins(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if begins(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if begins(b"GIF8") {
        Some("image/gif")
    } else if begins(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG") {
        let number = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        return Some((number(16)?, number(20)?));
    }
    if bytes.starts_with(b"GIF8") {
        let number = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        return Some((number(6)?.into(), number(8)?.into()));
    }
    None
}

/// Whether the file is a document that looks like text at its beginning but is none.
pub(crate) fn is_document(beginning: &[u8]) -> bool {
    is_pdf(beginning) || beginning.starts_with(b"\xff\xd8\xff")
}

pub(crate) fn is_pdf(beginning: &[u8]) -> bool {
    beginning.starts_with(b"%PDF-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_with_their_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\x80\0\0\x01\xe0";
        assert_eq!(describe(png), "a PNG image of 640 x 480 pixels");
        assert_eq!(
            describe(b"GIF89a\x02\0\x03\0"),
            "a GIF image of 2 x 3 pixels"
        );
        assert_eq!(describe(b"\x89PNG\r\n\x1a\n"), "a PNG image");
        assert_eq!(describe(b"\0\0\0\x18ftypmp42"), "a media file");
        assert_eq!(describe(b"\0\x01"), "a binary file");
        assert_eq!(describe(b""), "a binary file");
    }
}
