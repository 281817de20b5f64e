//! Pictures as clients write them: a `data:` URL, or one that the provider fetches.

use std::borrow::Cow;
use std::path::Path;

use vocabulary::Image;

/// Pictures that one message may have.
pub const IMAGES_MAX: usize = 20;
/// A picture in base64; about 9 MB of bytes.
const BASE64_BYTES_MAX: usize = 12 << 20;
const URL_BYTES_MAX: usize = 8 << 10;
/// What the providers read.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What a URL names, or what is wrong with it. The URL itself is not repeated: it may be long.
pub fn from_url(url: &str) -> Result<Image, &'static str> {
    if let Some(data) = strip_scheme(url, "data:") {
        let (kind, base64) = data
            .split_once(',')
            .and_then(|(kind, base64)| Some((kind.strip_suffix(";base64")?, base64)))
            .ok_or("expected a data: URL in base64")?;
        // `image/png;charset=…` and the like: only the type itself matters.
        return from_data(kind.split(';').next().unwrap_or_default(), base64);
    }
    let is_remote =
        strip_scheme(url, "https://").is_some() || strip_scheme(url, "http://").is_some();
    match is_remote {
        true if url.len() > URL_BYTES_MAX => Err("the URL is too long"),
        true => Ok(Image::Url(url.to_owned())),
        false => Err("expected a data:, http: or https: URL"),
    }
}

pub fn from_data(media_type: &str, base64: &str) -> Result<Image, &'static str> {
    let media_type = media_type.trim().to_ascii_lowercase();
    if !MEDIA_TYPES.contains(&media_type.as_str()) {
        return Err("expected a PNG, JPEG, GIF or WebP picture");
    }
    if base64.len() > BASE64_BYTES_MAX {
        return Err("the picture is too large");
    }
    if !is_base64(base64) {
        return Err("the picture is not valid base64");
    }
    Ok(Image::Data {
        media_type,
        base64: base64.into(),
    })
}

/// A file on the machine the server runs on; the engine reads it.
pub fn from_path(path: &str) -> Result<Image, &'static str> {
    match Path::new(path).is_absolute() {
        true => Ok(Image::Path(path.into())),
        false => Err("expected an absolute path"),
    }
}

/// How a picture is shown again.
pub enum ImageLink<'a> {
    Url(Cow<'a, str>),
    Path(Cow<'a, str>),
}

pub fn show(image: &Image) -> ImageLink<'_> {
    match image {
        Image::Data { media_type, base64 } => {
            ImageLink::Url(Cow::Owned(format!("data:{media_type};base64,{base64}")))
        }
        Image::Url(url) => ImageLink::Url(Cow::Borrowed(url)),
        Image::Path(path) => ImageLink::Path(path.to_string_lossy()),
    }
}

fn strip_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = url.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// The standard alphabet, padded, and not empty: what every provider takes.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty() && padding <= 2 && text.len().is_multiple_of(4) && body.bytes().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_read_and_shown_again() {
        let url = "data:image/png;base64,iVBORw0KGgo=";
        let image = from_url(url).expect("a picture");
        assert_eq!(
            image,
            Image::Data {
                media_type: "image/png".to_owned(),
                base64: "iVBORw0KGgo=".into()
            }
        );
        let ImageLink::Url(shown) = show(&image) else {
            panic!("no URL");
        };
        assert_eq!(shown, url);
        let remote = "HTTPS://example.com/a.png";
        assert_eq!(from_url(remote), Ok(Image::Url(remote.to_owned())));
    }

    #[test]
    fn what_is_no_picture_says_why() {
        for (url, words) in [
            ("data:image/png,abcd", "in base64"),
            ("data:image/svg+xml;base64,abcd", "PNG"),
            ("data:image/png;base64,", "valid base64"),
            ("data:image/png;base64,abc", "valid base64"),
            ("data:image/png;base64,ab=d", "valid base64"),
            ("data:image/png;base64,a===", "valid base64"),
            ("file:///etc/passwd", "data:, http:"),
            ("", "data:, http:"),
            ("é", "data:, http:"),
        ] {
            let wrong = from_url(url).expect_err(url);
            assert!(wrong.contains(words), "{url}: {wrong}");
        }
        assert!(from_path("a.png").is_err());
    }
}
