//! Files that a client names with what it says: read once, when that is taken. Text is added to what the model
//! reads, a picture becomes one of the pictures; what models cannot read is refused.

use std::io::Read;
use std::path::{Path, PathBuf};

use vocabulary::{Image, Refusal, StartTurn, ThreadCard};

use super::skills;
use crate::Shared;
use crate::limits::{GIVEN_FILES_MAX, INPUT_BYTES_MAX};

/// The same message, with every file in it.
pub async fn read(
    shared: &Shared,
    card: &ThreadCard,
    mut start: StartTurn,
) -> Result<StartTurn, Refusal> {
    let files = std::mem::take(&mut start.files);
    if files.len() > GIVEN_FILES_MAX {
        let message = format!("a message may have at most {GIVEN_FILES_MAX} files");
        return Err(Refusal::invalid("input", message));
    }
    let words = start.display.take().unwrap_or_else(|| start.text.clone());
    let mut shown = vec![words];
    for path in files {
        let name = path.display().to_string();
        match load(shared, card, path).await? {
            GivenFile::Picture(path) => start.images.push(Image::Path(path)),
            GivenFile::Text(text) => {
                start.text = format!("{}\n\n[the file {name}]\n{text}", start.text);
                shown.push(format!("[the file {name}]"));
            }
        }
    }
    let shown = shown.join("\n").trim().to_owned();
    start.text = start.text.trim_start().to_owned();
    start.display = (shown != start.text).then_some(shown);
    // Pieces are those of the words that were said, which are longer now.
    start.pieces.clear();
    Ok(start)
}

enum GivenFile {
    Text(String),
    /// Read with the other pictures.
    Picture(PathBuf),
}

async fn load(shared: &Shared, card: &ThreadCard, path: PathBuf) -> Result<GivenFile, Refusal> {
    let confined = shared.own(&card.tenant).is_confined();
    let scope = skills::scope(shared, card);
    let private = shared.config.private.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let name = path.display();
        let cannot =
            |error: std::io::Error| format!("the file {name} cannot be read: {}", error.kind());
        let file = match tools::path::open_inside(&scope, &path) {
            Ok(file) => file,
            Err(Some(error)) => return Err(cannot(error)),
            Err(None) if confined => {
                return Err(format!(
                    "the file {name} is not in the workspace; put it there"
                ));
            }
            Err(None) => open_elsewhere(&path, &private).map_err(|why| why.told(&path))?,
        };
        let mut bytes = Vec::new();
        let most = INPUT_BYTES_MAX as u64;
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(cannot)?;
        if tools::pictures::media_type(&bytes).is_some() {
            return Ok(GivenFile::Picture(path));
        }
        if bytes.len() as u64 > most {
            return Err(format!("the file {name} is longer than {most} bytes"));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(GivenFile::Text(text)),
            Ok(_) | Err(_) => Err(format!(
                "the file {name} is neither text nor a PNG, JPEG, GIF or WebP picture, and models of \
                 this server read nothing else"
            )),
        }
    });
    let read = reading.await;
    let read = read.unwrap_or_else(|_| Err("a file could not be read".to_owned()));
    read.map_err(|why| Refusal::invalid("input", why))
}

enum UnopenedFile {
    Private,
    NotPlain,
    Failed(std::io::Error),
}

impl UnopenedFile {
    fn told(self, path: &Path) -> String {
        let name = path.display();
        match self {
            UnopenedFile::Private => format!("the file {name} is private to the server"),
            UnopenedFile::NotPlain => format!("{name} is not a plain file"),
            UnopenedFile::Failed(error) => {
                format!("the file {name} cannot be read: {}", error.kind())
            }
        }
    }
}

/// A file of the user's own, outside of the workspace; never one of the server's.
fn open_elsewhere(path: &Path, private: &[PathBuf]) -> Result<std::fs::File, UnopenedFile> {
    let real = std::fs::canonicalize(path).map_err(UnopenedFile::Failed)?;
    if private.iter().any(|own| real.starts_with(own)) {
        return Err(UnopenedFile::Private);
    }
    // Looked at before it is opened: opening a pipe would wait for a writer.
    let metadata = std::fs::metadata(&real).map_err(UnopenedFile::Failed)?;
    match metadata.is_file() {
        true => std::fs::File::open(&real).map_err(UnopenedFile::Failed),
        false => Err(UnopenedFile::NotPlain),
    }
}
