//! Pictures on their way in: files that a client names are read, once, when what they came with is
//! accepted; what is too large for models is scaled down, so that no service refuses its thread later.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tools::Scope;
use tools::pictures::{self, BASE64_BYTES_MAX};
use vocabulary::{Image, Refusal, ThreadCard};

use super::skills;
use crate::Shared;
use crate::limits::{IMAGE_BYTES_MAX, IMAGES_MAX};

/// As large as a file may be before it is scaled.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Clients end it with signs that fill it up, or not.
const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The same pictures, with every file read and none too large. A thread whose tenant shares the server
/// with others has only files of its workspace read.
pub async fn read(
    shared: &Shared,
    card: &ThreadCard,
    images: Vec<Image>,
) -> Result<Vec<Image>, Refusal> {
    // Refused where a whole message is checked; so many are not even read.
    if images.len() > IMAGES_MAX {
        return Ok(images);
    }
    // Many share what one message may have.
    let base64_max = BASE64_BYTES_MAX.min(IMAGE_BYTES_MAX / images.len().max(1));
    let own = shared.own(&card.tenant);
    let scope = || own.is_confined().then(|| skills::scope(shared, card));
    let mut read = Vec::with_capacity(images.len());
    for image in images {
        read.push(match image {
            Image::Url(_) => image,
            Image::Path(_) | Image::Data { .. } => prepared(image, scope(), base64_max).await?,
        });
    }
    Ok(read)
}

async fn prepared(image: Image, scope: Option<Scope>, base64_max: usize) -> Result<Image, Refusal> {
    let preparing = tokio::task::spawn_blocking(move || match image {
        Image::Path(path) => load(&path, scope.as_ref(), base64_max),
        Image::Data { media_type, base64 } => given(media_type, base64, base64_max),
        Image::Url(_) => Ok(image),
    });
    preparing
        .await
        .unwrap_or_else(|_| Err("a picture could not be read".to_owned()))
        .map_err(|why| Refusal::invalid("images", why))
}

/// A picture that came with the message.
fn given(media_type: String, base64: std::sync::Arc<str>, max: usize) -> Result<Image, String> {
    let Ok(bytes) = ANY_PADDING.decode(&*base64) else {
        // Refused where a whole message is checked.
        return Ok(Image::Data { media_type, base64 });
    };
    let scaled = pictures::scaled(&bytes, max).map_err(|why| format!("a picture: {why}"))?;
    if let Some(scaled) = scaled {
        return Ok(data(scaled.media_type, &scaled.bytes));
    }
    // Services look at the picture as well, and refuse one that is not what it is called.
    let media_type = match pictures::media_type(&bytes) {
        Some(real) if media_type.starts_with("image/") => real.to_owned(),
        Some(_) | None => media_type,
    };
    Ok(Image::Data { media_type, base64 })
}

/// Errors name no content: whoever sends a path learns only whether it is a picture.
fn load(path: &Path, scope: Option<&Scope>, max: usize) -> Result<Image, String> {
    let name = path.display();
    if !path.is_absolute() {
        return Err(format!(
            "the picture {name} must be named by an absolute path"
        ));
    }
    let cannot =
        |error: std::io::Error| format!("the picture {name} cannot be read: {}", error.kind());
    let file = match scope {
        Some(scope) => tools::path::open_inside(scope, path).map_err(|why| match why {
            Some(error) => cannot(error),
            None => format!(
                "the picture {name} is not in the workspace; put it there, or send it whole"
            ),
        })?,
        None => {
            // Looked at before it is opened: opening a pipe would wait for a writer.
            let metadata = std::fs::metadata(path).map_err(cannot)?;
            if !metadata.is_file() {
                return Err(format!("{name} is not a plain file"));
            }
            File::open(path).map_err(cannot)?
        }
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!(
            "the picture {name} is larger than {FILE_BYTES_MAX} bytes"
        ));
    }
    let media_type = pictures::media_type(&bytes)
        .ok_or_else(|| format!("{name} is not a PNG, JPEG, GIF or WebP picture"))?;
    let scaled =
        pictures::scaled(&bytes, max).map_err(|why| format!("the picture {name}: {why}"))?;
    Ok(match scaled {
        Some(scaled) => data(scaled.media_type, &scaled.bytes),
        None => data(media_type, &bytes),
    })
}

fn data(media_type: &str, bytes: &[u8]) -> Image {
    Image::Data {
        media_type: media_type.to_owned(),
        base64: STANDARD.encode(bytes).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_picture_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let load = |path: &Path| load(path, None, BASE64_BYTES_MAX);
        let png = file("a.txt", b"\x89PNG\r\n\x1a\n");
        assert_eq!(load(&png), Ok(data("image/png", b"\x89PNG\r\n\x1a\n")));
        let secret = load(&file("b.png", b"root:x:0:0")).expect_err("no picture");
        assert!(
            secret.contains("not a PNG") && !secret.contains("root"),
            "{secret}"
        );
        for path in [directory.path(), Path::new("a.txt"), Path::new("/dev/zero")] {
            assert!(load(path).is_err(), "{}", path.display());
        }
        let missing = load(&directory.path().join("none.png")).expect_err("nothing there");
        assert!(missing.contains("cannot be read"), "{missing}");
        let huge = file("huge.png", b"\x89PNG\r\n\x1a\n");
        let grown = File::options().write(true).open(&huge).expect("a file");
        grown.set_len(FILE_BYTES_MAX + 1).expect("grown");
        let huge = load(&huge).expect_err("too large");
        assert!(huge.contains("is larger than"), "{huge}");
    }

    #[test]
    fn a_picture_is_called_what_it_is() {
        let jpeg = STANDARD.encode(b"\xff\xd8\xff\xe0 and so on");
        let unpadded = jpeg.trim_end_matches('=');
        for base64 in [jpeg.as_str(), unpadded] {
            let named = given("image/png".to_owned(), base64.into(), BASE64_BYTES_MAX);
            let expected = Image::Data {
                media_type: "image/jpeg".to_owned(),
                base64: base64.into(),
            };
            assert_eq!(named, Ok(expected), "as it came, but for its type");
        }
    }
}
