//! Reads the body of an answer up to a limit, and makes text of it.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// Within so many bytes a page must name its encoding.
const META_BYTES: usize = 1024;
const TYPE_CHARS_MAX: usize = 200;

/// What has been read of a body.
#[derive(Debug)]
pub(crate) struct Body {
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
}

pub(crate) async fn read(response: &mut Response, bytes_max: usize) -> Result<Body, String> {
    let mut bytes = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let Some(chunk) = chunk.map_err(|error| super::visit::reason(&error))? else {
            return Ok(Body { bytes, cut: false });
        };
        let room = bytes_max - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok(Body { bytes, cut: true });
        }
    }
}

/// What kind of content it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Html,
    Text,
    /// To be known by its first bytes.
    Unsaid,
    /// Nothing that can be shown.
    Binary,
}

/// The type of the content as the server names it: the bare one, and its charset.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub name: String,
    charset: Option<String>,
}

impl ContentType {
    pub fn of(response: &Response) -> ContentType {
        let value = response.headers().get(CONTENT_TYPE);
        let value = value.map(|value| String::from_utf8_lossy(value.as_bytes()));
        ContentType::parse(&value.unwrap_or_default())
    }

    fn parse(value: &str) -> ContentType {
        let mut pieces = value.split(';').map(str::trim);
        let name = pieces.next().unwrap_or_default();
        let charset = pieces.find_map(|piece| {
            let (key, value) = piece.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (key.trim().eq_ignore_ascii_case("charset")).then(|| value.to_owned())
        });
        ContentType {
            name: name
                .chars()
                .take(TYPE_CHARS_MAX)
                .collect::<String>()
                .to_ascii_lowercase(),
            charset,
        }
    }

    pub fn kind(&self) -> ContentKind {
        let (class, name) = self.name.split_once('/').unwrap_or_default();
        match (class, name) {
            ("", _) | (_, "" | "octet-stream") => ContentKind::Unsaid,
            ("text", "html") | ("application", "xhtml+xml") => ContentKind::Html,
            ("text", _) => ContentKind::Text,
            ("application", name) if is_text(name) => ContentKind::Text,
            (_, name) if name.ends_with("+json") || name.ends_with("+xml") => ContentKind::Text,
            // tidy: wildcard, because types are endless.
            _ => ContentKind::Binary,
        }
    }
}

fn is_text(name: &str) -> bool {
    let known = [
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "yaml",
        "toml",
        "sql",
        "graphql",
        "x-sh",
        "x-ndjson",
        "ndjson",
        "jsonl",
        "x-javascript",
        "x-yaml",
        "x-httpd-php",
        "rtf",
        "x-www-form-urlencoded",
    ];
    known.contains(&name) || name.ends_with("+yaml")
}

/// How the body was packed, although that was not asked for.
pub(crate) fn packing(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_ENCODING)?;
    let value = String::from_utf8_lossy(value.as_bytes())
        .trim()
        .to_ascii_lowercase();
    let packed = !value.is_empty() && value != "identity";
    packed.then(|| value.chars().take(TYPE_CHARS_MAX).collect())
}

/// Whether these bytes begin like a page.
pub(crate) fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = start.trim_ascii_start();
    let start = start[..start.len().min(16)].to_ascii_lowercase();
    start.starts_with(b"<!doctype html")
        || start.starts_with(b"<html")
        || start.starts_with(b"<head")
}

/// The text of a body, or `None` if it is not text at all. A byte order mark wins over the server's
/// word, that over the page's own, and that over a guess.
pub(crate) fn decode(body: &Body, content_type: &ContentType, kind: ContentKind) -> Option<String> {
    let named = content_type.charset.as_deref().and_then(by_name);
    let named = named.or_else(|| match kind {
        ContentKind::Html => in_page(&body.bytes),
        ContentKind::Text | ContentKind::Unsaid | ContentKind::Binary => None,
    });
    let encoding = named.unwrap_or_else(|| guess(body));
    let (text, _, _) = encoding.decode(&body.bytes);
    (!text.contains('\0')).then(|| text.into_owned())
}

fn by_name(name: &str) -> Option<&'static Encoding> {
    Encoding::for_label(name.trim().as_bytes())
}

/// What a page says of itself, as `<meta charset=…>` or the older form with `http-equiv`.
fn in_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(META_BYTES)]).to_ascii_lowercase();
    let meta = start.split("<meta").skip(1);
    let encoding = meta.filter_map(|rest| {
        let tag = rest.split('>').next()?;
        let (_, value) = tag.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| c == '"' || c == '\'' || c == ';' || c.is_whitespace());
        by_name(&value[..end.unwrap_or(value.len())])
    });
    // A page that could say so in ASCII is not in UTF-16.
    let mut encoding = encoding.map(|found| {
        if found.is_ascii_compatible() {
            found
        } else {
            UTF_8
        }
    });
    encoding.next()
}

fn guess(body: &Body) -> &'static Encoding {
    match std::str::from_utf8(&body.bytes) {
        Ok(_) => UTF_8,
        // A cut may have gone through a character.
        Err(error) if body.cut && error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], content_type: &str) -> Option<String> {
        let body = Body {
            bytes: bytes.to_vec(),
            cut: false,
        };
        let content_type = ContentType::parse(content_type);
        decode(&body, &content_type, content_type.kind())
    }

    #[test]
    fn the_encoding_is_taken_from_mark_header_page_or_guess() {
        let is = |bytes: &[u8], content_type: &str, expected: &str| {
            assert_eq!(
                text(bytes, content_type).as_deref(),
                Some(expected),
                "{content_type}"
            );
        };
        is("grün".as_bytes(), "text/plain", "grün");
        is(b"gr\xfcn", "text/plain; charset=ISO-8859-1", "grün");
        is(b"gr\xfcn", "text/plain;charset=\"latin1\"", "grün");
        is(b"gr\xfcn", "text/plain", "grün");
        is(
            b"\xef\xbb\xbfgr\xc3\xbcn",
            "text/plain; charset=latin1",
            "grün",
        );
        is(b"\x93\xfa\x96\x7b", "text/plain; charset=shift_jis", "日本");
        is(b"\xff\xfeh\0i\0", "text/plain", "hi");
        is(b"h\0i\0", "text/plain; charset=utf-16le", "hi");
        is(b"gr\xc3\xbcn", "text/plain; charset=nonsense", "grün");
        let page = b"<meta charset='koi8-r'>\xcd\xc9\xd2";
        is(page, "text/html", "<meta charset='koi8-r'>мир");
        let old = b"<META http-equiv=Content-Type content=\"text/html; charset=windows-1251\">\xec\xe8\xf0";
        assert!(text(old, "text/html").expect("text").ends_with("мир"));
        assert_eq!(text(b"\x7fELF\0\0", "text/plain"), None);
    }

    #[test]
    fn types_are_known_by_name() {
        let table = [
            ("text/html; charset=utf-8", ContentKind::Html),
            ("Application/XHTML+xml", ContentKind::Html),
            ("text/csv", ContentKind::Text),
            ("application/json", ContentKind::Text),
            ("application/ld+json", ContentKind::Text),
            ("image/svg+xml", ContentKind::Text),
            ("application/pdf", ContentKind::Binary),
            ("image/png", ContentKind::Binary),
            ("application/octet-stream", ContentKind::Unsaid),
            ("", ContentKind::Unsaid),
            ("nonsense", ContentKind::Unsaid),
        ];
        for (name, kind) in table {
            assert_eq!(ContentType::parse(name).kind(), kind, "{name}");
        }
        assert!(looks_like_html(b"\n <!DOCTYPE HTML><p>"));
        assert!(!looks_like_html(b"plain <html>"));
    }
}
