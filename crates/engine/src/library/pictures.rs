//! Pictures that a client names by path: read once, when what they came with is accepted.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use vocabulary::{Image, Refusal};

/// As large as it may be: base64 makes it a third larger, and all of a message must fit its limit.
const BYTES_MAX: u64 = 8 << 20;

/// The same pictures, with every file read.
pub async fn read(images: Vec<Image>) -> Result<Vec<Image>, Refusal> {
    let mut read = Vec::with_capacity(images.len());
    for image in images {
        read.push(match image {
            Image::Path(path) => from_file(path).await?,
            image @ (Image::Data { .. } | Image::Url(_)) => image,
        });
    }
    Ok(read)
}

async fn from_file(path: PathBuf) -> Result<Image, Refusal> {
    let loading = tokio::task::spawn_blocking(move || load(&path));
    loading
        .await
        .unwrap_or_else(|_| Err("it could not be read".to_owned()))
        .map_err(|why| Refusal::invalid("images", why))
}

/// Errors name no content: whoever sends a path learns only whether it is a picture.
fn load(path: &Path) -> Result<Image, String> {
    let name = path.display();
    if !path.is_absolute() {
        return Err(format!(
            "the picture {name} must be named by an absolute path"
        ));
    }
    let cannot =
        |error: std::io::Error| format!("the picture {name} cannot be read: {}", error.kind());
    // Looked at before it is opened: opening a pipe would wait for a writer.
    let metadata = std::fs::metadata(path).map_err(cannot)?;
    if !metadata.is_file() {
        return Err(format!("{name} is not a plain file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!(
            "the picture {name} is larger than {BYTES_MAX} bytes"
        ));
    }
    let media_type = media_type(&bytes)
        .ok_or_else(|| format!("{name} is not a PNG, JPEG, GIF or WebP picture"))?;
    Ok(Image::Data {
        media_type: media_type.to_owned(),
        base64: STANDARD.encode(&bytes).into(),
    })
}

/// By what a file begins with, whatever it is called.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
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
        let png = file("a.txt", b"\x89PNG\r\n\x1a\n");
        let expected = Image::Data {
            media_type: "image/png".to_owned(),
            base64: "iVBORw0KGgo=".into(),
        };
        assert_eq!(load(&png), Ok(expected));
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
    }
}
