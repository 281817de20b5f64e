//! A pack: a few bytes that say what it is, then records. A record is a header and a content, packed;
//! it can be understood without the database, so that every byte of a pack can be verified.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileExt;

use super::{Hash, LARGE_FROM, LEVEL};
use crate::database::Checksum;

/// How a pack begins.
pub const MAGIC: &[u8; 8] = b"DrgPack1";
/// Hash, stored size, size, checksum of what is stored.
pub const HEADER_BYTES: usize = 32 + 4 + 4 + 8;
/// What zstd can make of a small content at most.
const STORED_MAX: u64 = LARGE_FROM + LARGE_FROM / 128 + 1024;

pub struct PackRecord {
    pub hash: Hash,
    pub size: u64,
    pub payload: Vec<u8>,
}

impl PackRecord {
    pub fn pack(
        hash: Hash,
        content: &[u8],
        compressor: &mut zstd::bulk::Compressor<'_>,
    ) -> Result<PackRecord> {
        Ok(PackRecord {
            hash,
            size: content.len() as u64,
            payload: compressor.compress(content)?,
        })
    }

    pub fn compressor() -> Result<zstd::bulk::Compressor<'static>> {
        zstd::bulk::Compressor::new(LEVEL)
    }

    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..32].copy_from_slice(&self.hash);
        // Both fit: a small content is at most a mebibyte.
        header[32..36].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        header[36..40].copy_from_slice(&(self.size as u32).to_le_bytes());
        header[40..].copy_from_slice(&self.check().to_le_bytes());
        header
    }

    /// Of what is stored: two different packings can have the same content.
    pub fn check(&self) -> i64 {
        Checksum::new().bytes(&self.payload).end()
    }

    /// The content, if it is what the header says.
    pub fn unpack(&self) -> Option<Vec<u8>> {
        let content = zstd::bulk::decompress(&self.payload, self.size as usize).ok()?;
        let whole =
            content.len() as u64 == self.size && *blake3::hash(&content).as_bytes() == self.hash;
        whole.then_some(content)
    }

    /// How many bytes of the pack it takes.
    pub fn bytes(&self) -> u64 {
        (HEADER_BYTES + self.payload.len()) as u64
    }
}

fn parse(header: &[u8; HEADER_BYTES]) -> Result<(Hash, u64, u64, i64)> {
    let number = |at: usize| {
        let mut four = [0; 4];
        four.copy_from_slice(&header[at..at + 4]);
        u64::from(u32::from_le_bytes(four))
    };
    let (stored, size) = (number(32), number(36));
    if stored > STORED_MAX || size > LARGE_FROM {
        return Err(Error::new(ErrorKind::InvalidData, "its header is damaged"));
    }
    let (mut hash, mut check) = ([0; 32], [0; 8]);
    hash.copy_from_slice(&header[..32]);
    check.copy_from_slice(&header[40..]);
    Ok((hash, stored, size, i64::from_le_bytes(check)))
}

/// The next record of a pack that is read from its beginning, and whether it is what was stored.
pub fn read_record(pack: &mut impl Read) -> Result<(PackRecord, bool)> {
    let mut header = [0; HEADER_BYTES];
    pack.read_exact(&mut header)?;
    let (hash, stored, size, check) = parse(&header)?;
    let mut payload = vec![0; stored as usize];
    pack.read_exact(&mut payload)?;
    let record = PackRecord {
        hash,
        size,
        payload,
    };
    let sound = record.check() == check && record.unpack().is_some();
    Ok((record, sound))
}

pub fn read_at(pack: &File, offset: u64) -> Result<PackRecord> {
    let mut header = [0; HEADER_BYTES];
    pack.read_exact_at(&mut header, offset)?;
    let (hash, stored, size, _) = parse(&header)?;
    let mut payload = vec![0; stored as usize];
    pack.read_exact_at(&mut payload, offset + HEADER_BYTES as u64)?;
    Ok(PackRecord {
        hash,
        size,
        payload,
    })
}
