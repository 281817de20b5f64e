//! A packed skill: a gzipped tar, read whole into memory within limits. Only plain files and directories
//! below one place are taken; whatever could lead elsewhere refuses the archive.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use thiserror::Error;

/// Unpacked, all files together.
pub const UNPACKED_BYTES_MAX: u64 = 16 * 1024 * 1024;
pub const FILES_MAX: usize = 1_000;
const PATH_BYTES_MAX: usize = 512;
const PATH_PARTS_MAX: usize = 12;
/// What may stand before an entry: a longer name for it, and what is known besides.
const EXTENSION_BYTES_MAX: u64 = 64 * 1024;
const BLOCK: usize = 512;

/// Why an archive is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArchiveError {
    #[error("it is no gzipped tar archive: {0}")]
    Damaged(&'static str),
    #[error("it has more than {UNPACKED_BYTES_MAX} bytes unpacked")]
    TooLarge,
    #[error("it has more than {FILES_MAX} entries")]
    TooMany,
    #[error("its entry {0:?} is no plain file or directory")]
    NotPlain(String),
    #[error("its entry {0:?} does not lie below the archive's own directory")]
    Elsewhere(String),
    #[error("its entry {0:?} is there twice")]
    Twice(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFile {
    pub content: Vec<u8>,
    pub executable: bool,
}

/// The files by their paths, which are made of plain names joined by `/`.
pub type PackedFiles = BTreeMap<String, PackedFile>;

pub fn unpack(packed: &[u8]) -> Result<PackedFiles, ArchiveError> {
    let mut tar = Vec::new();
    // Headers and padding come on top of the files.
    let room = UNPACKED_BYTES_MAX + (FILES_MAX * 4 * BLOCK) as u64;
    let read = GzDecoder::new(packed).take(room + 1).read_to_end(&mut tar);
    if tar.len() as u64 > room {
        return Err(ArchiveError::TooLarge);
    }
    read.map_err(|_| ArchiveError::Damaged("it cannot be decompressed"))?;
    entries(&tar)
}

fn entries(tar: &[u8]) -> Result<PackedFiles, ArchiveError> {
    let (mut files, mut count, mut unpacked) = (PackedFiles::new(), 0, 0u64);
    let mut longer_name = None;
    let mut rest = tar;
    loop {
        let header = rest.get(..BLOCK).ok_or(CUT)?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(files);
        }
        let header = Header(header);
        header.check()?;
        let size = header.size()?;
        let content = usize::try_from(size).ok();
        let content = content.and_then(|size| rest.get(BLOCK..BLOCK.checked_add(size)?));
        let content = content.ok_or(CUT)?;
        let padded = BLOCK + content.len().div_ceil(BLOCK) * BLOCK;
        rest = rest.get(padded..).unwrap_or_default();
        count += 1;
        if count > FILES_MAX {
            return Err(ArchiveError::TooMany);
        }
        match header.kind() {
            b'x' | b'L' if size > EXTENSION_BYTES_MAX => return Err(ArchiveError::TooLarge),
            b'x' => longer_name = pax_path(content)?.or(longer_name),
            b'L' => longer_name = Some(text(content)?.to_owned()),
            // It is of all entries, and none of it matters here.
            b'g' => {}
            kind => {
                let name = match longer_name.take() {
                    Some(name) => name,
                    None => header.name()?,
                };
                let path = plain_path(&name)?;
                match kind {
                    b'5' => {}
                    b'0' | 0 if !path.is_empty() => {
                        unpacked += size;
                        if unpacked > UNPACKED_BYTES_MAX {
                            return Err(ArchiveError::TooLarge);
                        }
                        let file = PackedFile {
                            content: content.to_owned(),
                            executable: header.is_executable(),
                        };
                        if files.insert(path, file).is_some() {
                            return Err(ArchiveError::Twice(name));
                        }
                    }
                    // Links, devices, pipes, and what nobody knows.
                    _ => return Err(ArchiveError::NotPlain(name)),
                }
            }
        }
    }
}

const CUT: ArchiveError = ArchiveError::Damaged("it ends too early");

struct Header<'a>(&'a [u8]);

impl Header<'_> {
    /// The sum of its bytes, with blanks for the sum itself.
    fn check(&self) -> Result<(), ArchiveError> {
        let sum = self.0.iter().enumerate().map(|(at, byte)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        });
        match number(&self.0[148..156])? == sum.sum::<u64>() {
            true => Ok(()),
            false => Err(ArchiveError::Damaged("a header's sum is wrong")),
        }
    }

    fn kind(&self) -> u8 {
        self.0[156]
    }

    fn size(&self) -> Result<u64, ArchiveError> {
        number(&self.0[124..136])
    }

    fn is_executable(&self) -> bool {
        number(&self.0[100..108]).is_ok_and(|mode| mode & 0o111 != 0)
    }

    fn name(&self) -> Result<String, ArchiveError> {
        let name = text(&self.0[..100])?;
        let is_posix = &self.0[257..262] == b"ustar";
        let prefix = if is_posix {
            text(&self.0[345..500])?
        } else {
            ""
        };
        Ok(match prefix.is_empty() {
            true => name.to_owned(),
            false => format!("{prefix}/{name}"),
        })
    }
}

/// Octal digits between blanks and zeros.
fn number(field: &[u8]) -> Result<u64, ArchiveError> {
    let wrong = ArchiveError::Damaged("a number in it is none");
    let digits = text(field).map_err(|_| wrong.clone())?.trim();
    match digits.is_empty() {
        true => Ok(0),
        false => u64::from_str_radix(digits, 8).map_err(|_| wrong),
    }
}

/// Up to the first zero.
fn text(field: &[u8]) -> Result<&str, ArchiveError> {
    let end = field.iter().position(|byte| *byte == 0);
    let field = &field[..end.unwrap_or(field.len())];
    std::str::from_utf8(field).map_err(|_| ArchiveError::Damaged("a name in it is not UTF-8"))
}

/// The name that extended headers give: records of `LENGTH KEY=VALUE\n`.
fn pax_path(mut records: &[u8]) -> Result<Option<String>, ArchiveError> {
    let wrong = || ArchiveError::Damaged("an extended header is wrong");
    let mut path = None;
    while !records.is_empty() {
        let blank = records.iter().position(|byte| *byte == b' ');
        let length = records.get(..blank.ok_or_else(wrong)?).ok_or_else(wrong)?;
        let length: usize = text(length)?.parse().map_err(|_| wrong())?;
        let record = records.get(length - text_len(length)..length);
        let record = record.ok_or_else(wrong)?;
        let record = std::str::from_utf8(record).map_err(|_| wrong())?;
        let (key, value) = record
            .trim_end_matches('\n')
            .split_once('=')
            .ok_or_else(wrong)?;
        match key {
            "path" => path = Some(value.to_owned()),
            // A size that the header cannot say is beyond every limit.
            "size" | "linkpath" => return Err(wrong()),
            _ => {}
        }
        records = records.get(length..).ok_or_else(wrong)?;
    }
    Ok(path)
}

/// Without the length and its blank.
fn text_len(length: usize) -> usize {
    length.saturating_sub(length.to_string().len() + 1)
}

/// Plain names below the archive's own directory; empty for that directory itself.
fn plain_path(name: &str) -> Result<String, ArchiveError> {
    let elsewhere = || ArchiveError::Elsewhere(name.chars().take(200).collect());
    let is_odd = |letter: char| letter.is_control() || letter == '\\';
    if name.starts_with('/') || name.len() > PATH_BYTES_MAX || name.contains(is_odd) {
        return Err(elsewhere());
    }
    let parts: Vec<&str> = name
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") || parts.len() > PATH_PARTS_MAX {
        return Err(elsewhere());
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
pub(super) mod tests;
