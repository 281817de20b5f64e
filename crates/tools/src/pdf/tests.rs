//! PDF files that are made here, letter by letter, and what becomes of them.

#![allow(clippy::unwrap_used)]

use lopdf::{Stream, dictionary};

use super::*;

const ALL: WantedPages = WantedPages {
    first: 1,
    limit: 100,
    bytes_max: 40_000,
};

/// A file of these objects; the first is the catalog.
fn file(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in (1..).zip(objects) {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    let size = objects.len() + 1;
    let end = format!(
        "{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend(end.bytes());
    file
}

fn stream(content: &[u8], filter: &str) -> Vec<u8> {
    let mut stream = format!("<< /Length {} {filter} >>\nstream\n", content.len()).into_bytes();
    stream.extend(content);
    stream.extend(b"\nendstream");
    stream
}

/// A file whose pages draw this, with letters that are half as wide as high.
pub(crate) fn with_pages(pages: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len())
        .map(|n| format!("{} 0 R", 4 + 2 * n))
        .collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            pages.len()
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    for (at, page) in pages.iter().enumerate() {
        let content = 5 + 2 * at;
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R \
                 /Resources << /Font << /F1 3 0 R >> >> >>"
            )
            .into_bytes(),
        );
        objects.push(page.clone());
    }
    file(&objects, trailer)
}

/// A file with one line of text on each page.
pub(crate) fn simple(pages: &[&str]) -> Vec<u8> {
    let drawn = pages.iter().map(|text| {
        let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        stream(content.as_bytes(), "")
    });
    with_pages(&drawn.collect::<Vec<_>>(), "")
}

fn drawn(content: &str) -> String {
    let file = with_pages(&[stream(content.as_bytes(), "")], "");
    pages::read(&file, ALL).unwrap().texts.remove(0)
}

#[test]
fn pages_are_counted_from_either_end() {
    let file = simple(&["one", "two", "three"]);
    let read = |first, limit| {
        let wanted = WantedPages {
            first,
            limit,
            ..ALL
        };
        let pages = pages::read(&file, wanted).unwrap();
        (pages.first, pages.total, pages.texts.join(" "))
    };
    assert_eq!(read(1, 100), (1, 3, "one two three".to_owned()));
    assert_eq!(read(2, 1), (2, 3, "two".to_owned()));
    assert_eq!(read(-1, 9), (3, 3, "three".to_owned()));
    assert_eq!(read(0, 1), (1, 3, "one".to_owned()));
    assert_eq!(read(4, 1), (4, 3, String::new()));
}

#[test]
fn letters_are_put_together_by_where_they_stand() {
    let table = [
        ("(a) Tj 0 -14 Td (b) Tj", "a\nb"),
        ("14 TL (a) Tj T* (b) Tj (c) '", "a\nb\nc"),
        // Kerning, and a gap between words.
        ("[(Wor) 20 (ld) -400 (end)] TJ", "World end"),
        // Words with a place each, on one line; an index above it.
        ("(one) Tj 30 0 Td (two) Tj 22 4 Td (2) Tj", "one two 2"),
        ("1 0 0 1 9 500 Tm (x) Tj 1 0 0 1 9 400 Tm (y) Tj", "x\ny"),
        // Turned by a quarter.
        ("0 1 -1 0 9 9 Tm (up) Tj 30 0 Td (on) Tj", "up on"),
        ("(\\344\\200) Tj", "\u{e4}\u{20ac}"),
        ("", ""),
    ];
    for (operators, expected) in table {
        let text = drawn(&format!("BT /F1 12 Tf 72 700 Td {operators} ET"));
        assert_eq!(text, expected, "{operators}");
    }
    // Drawn upside down, as browsers print.
    let flipped =
        "1 0 0 -1 0 792 cm BT /F1 12 Tf 1 0 0 -1 9 90 Tm (a) Tj 1 0 0 -1 9 110 Tm (b) Tj ET";
    assert_eq!(drawn(flipped), "a\nb");
}

#[test]
fn what_cannot_be_read_says_why() {
    let encrypted = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O (00000000000000000000000000000000) \
                     /U (00000000000000000000000000000000) >> /ID [(0123456789abcdef) (0123456789abcdef)]";
    let page = stream(b"BT ET", "");
    let why = |file: &[u8]| pages::read(file, ALL).unwrap_err();
    assert_eq!(
        why(&with_pages(&[page], encrypted)),
        "is encrypted, and cannot be read without its password"
    );
    assert!(why(b"%PDF-1.7\nnothing").starts_with("is damaged: "));
    assert_eq!(why(&with_pages(&[], "")), "is damaged: it has no pages");
}

/// A few kilobytes that would be a gigabyte.
#[test]
fn a_page_that_unpacks_without_end_is_left_out() {
    let mut packed = Stream::new(dictionary! {}, vec![b' '; 64 << 20]);
    packed.compress().unwrap();
    let bomb = stream(&packed.content, "/Filter /FlateDecode");
    assert!(bomb.len() < 100_000);
    let fine = stream(b"BT /F1 12 Tf (fine) Tj ET", "");
    let pages = pages::read(&with_pages(&[bomb, fine], ""), ALL).unwrap();
    assert_eq!(pages.texts, ["", "fine"]);
}

/// Whatever is done to a file, there is an answer.
#[tokio::test]
async fn damaged_files_are_answered_in_words() {
    let good = simple(&["one page", "another page"]);
    let sandbox = Sandbox::nothing();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let mut read = 0;
    for _ in 0..400 {
        let mut file = good.clone();
        for _ in 0..=random(6) {
            let at = random(file.len());
            match random(4) {
                0 => file[at] = random(256) as u8,
                1 => file.truncate(at.max(20)),
                2 => drop(file.remove(at)),
                _ => file[at] = b"0123456789<>[]()/R "[random(19)],
            }
        }
        match text(&sandbox, file, ALL).await {
            Ok(pages) => read += pages.texts.len(),
            Err(why) => assert!(why.starts_with("is ") || why.starts_with("cannot"), "{why}"),
        }
    }
    assert!(read > 100, "{read}: most are read in spite of it");
}
