//! Files that clients give a thread. While no turn runs nothing waits for the session, so it writes them
//! itself, and no turn can begin in between.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tools::{Scope, uploads};
use vocabulary::{Fact, FileUpload, FilesFact, Refusal, Reply, UploadedFile, Why};

use super::Session;
use crate::library::skills;
use crate::limits::{UPLOAD_BASE64_BYTES_MAX, UPLOAD_WAIT};

/// Clients end it with signs that fill it up, or not.
const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Session {
    pub(super) async fn upload(&mut self, upload: FileUpload) -> Result<Reply, Refusal> {
        if self.state.turn.is_some() || self.checkpoints.restoring() {
            return Err(Refusal::busy());
        }
        let Some(name) = uploads::base_name(&upload.name).map(str::to_owned) else {
            return Err(Refusal::invalid("filename", "Invalid filename"));
        };
        if upload.base64.len() > UPLOAD_BASE64_BYTES_MAX {
            let message = "File too large (max ~7.5MB)";
            return Err(Refusal::invalid("contentBase64", message));
        }
        let (scope, folder) = (
            skills::scope(&self.shared, &self.card),
            self.card.uploads_folder(),
        );
        let save = move || save(&scope, &folder, &name, &upload.base64);
        let saved = tokio::time::timeout(UPLOAD_WAIT, tokio::task::spawn_blocking(save)).await;
        let file = match saved {
            Ok(Ok(saved)) => saved?,
            Ok(Err(_)) | Err(_) => {
                let message = "the disk did not take the file in time; try again";
                return Err(Refusal::new(Why::Storage, message));
            }
        };
        self.keep().await?;
        let fact = FilesFact::Uploaded { file: file.clone() };
        self.record(Fact::Files(fact))?;
        Ok(Reply::Uploaded(Box::new(file)))
    }
}

fn save(
    scope: &Scope,
    folder: &std::path::Path,
    name: &str,
    base64: &str,
) -> Result<UploadedFile, Refusal> {
    let content = ANY_PADDING.decode(base64.trim());
    let content = content
        .map_err(|_| Refusal::invalid("contentBase64", "contentBase64 is not valid base64"))?;
    let path = uploads::save(scope, folder, name, &content)
        .map_err(|why| Refusal::new(Why::Storage, why))?;
    let saved_as = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(UploadedFile {
        name: saved_as.into_owned(),
        bytes: content.len() as u64,
        path,
    })
}
