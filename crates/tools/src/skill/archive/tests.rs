//! Archives that behave, and those that do not.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

/// One entry of an archive, of any kind and name.
pub fn entry(kind: u8, name: &str, content: &[u8], mode: u64) -> Vec<u8> {
    let mut header = [0u8; BLOCK];
    let name = name.as_bytes();
    header[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    header[100..108].copy_from_slice(format!("{mode:07o}\0").as_bytes());
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].copy_from_slice(b"        ");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut all = header.to_vec();
    all.extend_from_slice(content);
    all.resize(all.len().div_ceil(BLOCK) * BLOCK, 0);
    all
}

pub fn packed(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entries.concat();
    tar.resize(tar.len() + 2 * BLOCK, 0);
    gzipped(&tar)
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("compressed");
    gzip.finish().expect("compressed")
}

#[test]
fn plain_files_come_out_as_they_went_in() {
    let long = format!("a/{}/file.txt", "long-name".repeat(20));
    let record = format!("path={long}\n");
    let length = record.len() + 4;
    let record = format!("{length} {record}");
    let files = unpack(&packed(&[
        entry(b'5', "./", b"", 0o755),
        entry(b'0', "./SKILL.md", b"hello", 0o644),
        entry(0, "run.sh", b"#!/bin/sh", 0o755),
        entry(b'x', "extended", record.as_bytes(), 0o644),
        entry(b'0', "cut", b"long", 0o644),
        entry(b'L', "././@LongLink", b"b/longlink.txt\0", 0),
        entry(b'0', "cut", b"gnu", 0o644),
    ]))
    .expect("taken");
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["SKILL.md", &long, "b/longlink.txt", "run.sh"]);
    assert_eq!(files["SKILL.md"].content, b"hello");
    assert!(files["run.sh"].executable && !files["SKILL.md"].executable);
}

#[test]
fn what_leads_elsewhere_refuses_the_whole_archive() {
    let good = || entry(b'0', "SKILL.md", b"x", 0o644);
    for name in ["../evil", "/etc/passwd", "a/../../b", "a\\..\\b", "a\nb"] {
        let refused = unpack(&packed(&[good(), entry(b'0', name, b"x", 0o644)]));
        let refused = refused.expect_err(name);
        assert!(
            matches!(refused, ArchiveError::Elsewhere(_)),
            "{name}: {refused}"
        );
    }
    for kind in [b'1', b'2', b'3', b'4', b'6', b'7', b'S', b'K'] {
        let refused = unpack(&packed(&[good(), entry(kind, "a", b"", 0o644)]));
        assert_eq!(refused, Err(ArchiveError::NotPlain("a".to_owned())));
    }
    let twice = unpack(&packed(&[good(), entry(b'0', "./SKILL.md", b"y", 0o644)]));
    assert_eq!(twice, Err(ArchiveError::Twice("./SKILL.md".to_owned())));
    let named = "12 path=../\n";
    let renamed = [entry(b'x', "x", named.as_bytes(), 0), good()];
    unpack(&packed(&renamed)).expect_err("a name in a header");
}

#[test]
fn what_is_too_much_is_not_unpacked() {
    let bomb = gzipped(&vec![
        0;
        UNPACKED_BYTES_MAX as usize + FILES_MAX * 4 * BLOCK + 1
    ]);
    assert!(bomb.len() < 200_000);
    assert_eq!(unpack(&bomb), Err(ArchiveError::TooLarge));
    let many: Vec<Vec<u8>> = (0..=FILES_MAX)
        .map(|number| entry(b'0', &format!("f{number}"), b"", 0o644))
        .collect();
    assert_eq!(unpack(&packed(&many)), Err(ArchiveError::TooMany));
}

#[test]
fn a_damaged_one_is_called_so() {
    let whole = packed(&[entry(b'0', "SKILL.md", b"hello", 0o644)]);
    unpack(&whole).expect("taken");
    for wrong in [
        &whole[..whole.len() / 2],
        b"PK\x03\x04",
        b"",
        &gzipped(&[1; 512]),
    ] {
        assert!(matches!(unpack(wrong), Err(ArchiveError::Damaged(_))));
    }
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let _ = unpack(&bytes);
        let _ = unpack(&gzipped(&bytes));
        let _ = pax_path(&bytes);
    }
}
