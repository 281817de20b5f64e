//! Git's index: which of its entries are other repositories.

use std::collections::BTreeSet;

const SIGNATURE: &[u8] = b"DIRC";
/// Times, device, inode, mode, owner, size.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
const HASH_BYTES: [usize; 2] = [20, 32];
const GITLINK: u32 = 0o160_000;
const KIND_MASK: u32 = 0o170_000;
const NAME_LONG: usize = 0xfff;
const EXTENDED: u16 = 0x4000;

/// The paths of entries that are repositories of their own; `None` if it cannot be understood.
/// `shared` gives the file that a split index is based on.
pub fn gitlinks(
    bytes: &[u8],
    shared: impl Fn(&str) -> Option<Vec<u8>>,
) -> Option<BTreeSet<String>> {
    // The file does not say how long its hashes are; with the wrong length it makes no sense.
    HASH_BYTES.iter().find_map(|&hash| {
        let parsed = parse(bytes, hash)?;
        let mut links = parsed.links;
        if let Some(base) = parsed.base {
            let bytes = shared(&format!("sharedindex.{base}"))?;
            links.extend(parse(&bytes, hash)?.links);
        }
        Some(links)
    })
}

struct Parsed {
    links: BTreeSet<String>,
    /// The hash of the shared index, in hexadecimal.
    base: Option<String>,
}

fn parse(bytes: &[u8], hash: usize) -> Option<Parsed> {
    let mut rest = bytes.strip_prefix(SIGNATURE)?;
    let version = number(&mut rest)?;
    let count = number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut links = BTreeSet::new();
    let mut name = Vec::new();
    for _ in 0..count {
        let mode = entry(&mut rest, hash, version, &mut name)?;
        if mode & KIND_MASK == GITLINK {
            links.insert(String::from_utf8_lossy(&name).into_owned());
        }
    }
    Some(Parsed {
        links,
        base: base(rest, hash)?,
    })
}

/// Takes one entry: gives its mode, and makes `name` its name.
fn entry(rest: &mut &[u8], hash: usize, version: u32, name: &mut Vec<u8>) -> Option<u32> {
    let begun = rest.len();
    let mut stat = take(rest, STAT_BYTES)?.get(MODE_AT..)?;
    let mode = number(&mut stat)?;
    take(rest, hash)?;
    let flags = u16::from_be_bytes(take(rest, 2)?.try_into().ok()?);
    if flags & EXTENDED != 0 {
        if version == 2 {
            return None;
        }
        take(rest, 2)?;
    }
    let length = usize::from(flags) & NAME_LONG;
    if version == 4 {
        let cut = varint(rest)?;
        name.truncate(name.len().checked_sub(cut)?);
    } else {
        name.clear();
    }
    let ends = rest.iter().position(|&byte| byte == 0)?;
    name.extend_from_slice(take(rest, ends)?);
    if length != name.len().min(NAME_LONG) {
        return None;
    }
    match version {
        4 => drop(take(rest, 1)?),
        // Filled up to a multiple of eight, with one zero at least.
        _ => drop(take(rest, 8 - (begun - rest.len()) % 8)?),
    }
    Some(mode)
}

/// Looks through the extensions behind the entries for a base. They end where only the checksum of
/// the whole is left.
fn base(mut rest: &[u8], hash: usize) -> Option<Option<String>> {
    let mut base = None;
    while rest.len() > hash {
        let name: [u8; 4] = take(&mut rest, 4)?.try_into().ok()?;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let content = take(&mut rest, length)?;
        if &name == b"link" {
            let id = content.get(..hash)?;
            let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            base = id.iter().any(|&byte| byte != 0).then_some(hex);
        }
    }
    (rest.len() == hash).then_some(base)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(take(rest, 4)?.try_into().ok()?))
}

/// As in pack files: each byte but the last adds one.
fn varint(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = take(rest, 1)?[0];
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = take(rest, 1)?[0];
        value = value
            .checked_add(1)?
            .checked_mul(128)?
            .checked_add(usize::from(byte & 0x7f))?;
    }
    Some(value)
}
