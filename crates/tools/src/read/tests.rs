//! Stories of reading.

#![allow(clippy::unwrap_used)]

use base64::Engine as _;
use vocabulary::ContentBlock;

use super::lines::ANSWER_BYTES_MAX;
use super::*;
use crate::scratch::Scratch;

async fn text(scratch: &Scratch, input: Value) -> String {
    match scratch.run(&ReadTool, input).await {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn lines_are_numbered_from_the_offset_up_to_the_limit() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "one\n\nthree\nfour").unwrap();
    assert_eq!(
        text(&scratch, json!({"filePath": "a"})).await,
        "1\tone\n2\t\n3\tthree\n4\tfour"
    );
    assert_eq!(
        text(&scratch, json!({"filePath": "a", "offset": 2, "limit": 2})).await,
        "2\t\n3\tthree\n[lines 2-3 of 4; read on with offset 4]"
    );
    assert_eq!(
        text(&scratch, json!({"filePath": "a", "offset": 4.0})).await,
        "4\tfour"
    );
    // From the end, and more than there is; 0 is the beginning.
    for (offset, first) in [(-2, "3\tthree\n4\tfour"), (-9, "1\tone"), (0, "1\tone")] {
        let told = text(&scratch, json!({"filePath": "a", "offset": offset})).await;
        assert!(told.starts_with(first), "{told}");
    }
    assert_eq!(
        text(&scratch, json!({"filePath": "a", "offset": -3, "limit": 1})).await,
        "2\t\n[lines 2-2 of 4; read on with offset 3]"
    );
    std::fs::write(scratch.path("empty"), "").unwrap();
    assert_eq!(
        text(&scratch, json!({"filePath": "empty"})).await,
        "[the file is empty]"
    );
}

#[tokio::test]
async fn long_lines_are_cut() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("wide"), format!("{}\nb", "ä".repeat(100_000))).unwrap();
    let wide = text(&scratch, json!({"filePath": "wide"})).await;
    assert_eq!(wide, format!("1\t{}… [line cut]\n2\tb", "ä".repeat(2000)));
}

/// One cut, at the end of a line, that says how to go on: followed to the end it shows every line once.
#[tokio::test]
async fn a_long_file_is_read_in_whole_lines_with_the_offset_that_is_told() {
    let scratch = Scratch::new();
    let lines: Vec<String> = (1..=6000)
        .map(|n| format!("{n} {}", "ä".repeat(n % 90)))
        .collect();
    std::fs::write(scratch.path("tall"), lines.join("\n")).unwrap();
    let (mut offset, mut shown, mut answers) = (1, Vec::new(), 0);
    loop {
        let input = json!({"filePath": "tall", "offset": offset, "limit": 100_000});
        let answer = text(&scratch, input).await;
        assert!(answer.len() <= ANSWER_BYTES_MAX, "{}", answer.len());
        answers += 1;
        let mut told: Vec<String> = answer.lines().map(str::to_owned).collect();
        let note = told.pop_if(|last| last.starts_with('['));
        let first = offset;
        shown.extend(told);
        let Some(note) = note else { break };
        offset = shown.len() + 1;
        let last = offset - 1;
        let expected = format!("[lines {first}-{last} of 6000; read on with offset {offset}]");
        assert_eq!(note, expected);
    }
    let numbered = lines
        .iter()
        .zip(1..)
        .map(|(line, n)| format!("{n}\t{line}"));
    assert!(shown.into_iter().eq(numbered));
    assert!(answers > 10, "{answers}");
}

#[tokio::test]
async fn a_directory_is_listed() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("src/deep")).unwrap();
    for name in ["src/b.rs", "src/.hidden", "src/deep/c", "src/a\nb"] {
        std::fs::write(scratch.path(name), "").unwrap();
    }
    assert_eq!(
        text(&scratch, json!({"filePath": "src"})).await,
        ".hidden\na\\nb\nb.rs\ndeep/"
    );
    assert_eq!(
        text(
            &scratch,
            json!({"filePath": "src", "offset": -2, "limit": 1})
        )
        .await,
        "b.rs\n[entries 3-3 of 4; read on with offset 4]"
    );
    std::fs::create_dir(scratch.path("many")).unwrap();
    for n in 0..250 {
        std::fs::write(scratch.path(&format!("many/{n:03}")), "").unwrap();
    }
    let many = text(&scratch, json!({"filePath": "many"})).await;
    assert!(
        many.ends_with("199\n[entries 1-200 of 250; read on with offset 201]"),
        "{many}"
    );
    let rest = text(&scratch, json!({"filePath": "many", "offset": 201})).await;
    assert!(
        rest.starts_with("200\n") && rest.ends_with("\n249"),
        "{rest}"
    );
    std::fs::create_dir(scratch.path("none")).unwrap();
    let none = text(&scratch, json!({"filePath": "none"})).await;
    assert_eq!(none, "[the directory is empty]");
    // A tree has no hidden files.
    assert_eq!(
        text(&scratch, json!({"filePath": "src", "depth": 2})).await,
        "a\\nb\nb.rs\ndeep/\ndeep/c"
    );
}

#[tokio::test]
async fn a_missing_file_is_answered_with_names_that_are_near() {
    let scratch = Scratch::new();
    for name in [
        "src/Reader.rs",
        "src/deep/main.rs",
        "src/readers.rs",
        "src/x",
        "lib/read.rs",
    ] {
        let path = scratch.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let table = [
        (
            "src/reader.rs",
            "read: src/reader.rs does not exist; there is src/Reader.rs, src/readers.rs",
        ),
        (
            "src/main.rs",
            "read: src/main.rs does not exist; there is src/deep/main.rs",
        ),
        (
            "no/such/read.rs",
            "read: no/such/read.rs does not exist; there is lib/read.rs",
        ),
        (
            "src/dee",
            "read: src/dee does not exist; there is src/deep/",
        ),
        ("zzzz", "read: zzzz does not exist"),
    ];
    for (file, expected) in table {
        let message = scratch.refusal(&ReadTool, json!({"filePath": file})).await;
        assert_eq!(message, expected);
    }
}

#[tokio::test]
async fn a_notebook_is_shown_as_its_cells() {
    let scratch = Scratch::new();
    let notebook = json!({"nbformat": 4, "cells": [
        {"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": [
            {"output_type": "execute_result", "data": {"text/plain": "1"}}]},
    ]});
    std::fs::write(scratch.path("n.ipynb"), notebook.to_string()).unwrap();
    assert_eq!(
        text(&scratch, json!({"filePath": "n.ipynb"})).await,
        "1\t[cell 0: code]\n2\ta = 1\n3\ta\n4\t[output of cell 0]\n5\t1\n\
         [a notebook, shown as its cells; the file itself is JSON]"
    );
    std::fs::write(scratch.path("n.ipynb"), "{}").unwrap();
    assert_eq!(
        text(&scratch, json!({"filePath": "n.ipynb"})).await,
        "1\t{}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "one\n").unwrap();
    std::fs::write(scratch.path("binary"), b"PNG\0\0").unwrap();
    let table = [
        (
            json!({"filePath": "a", "limit": -1}),
            "read: \"limit\" must be a whole number from 1 to 4294967295, got -1",
        ),
        (
            json!({"filePath": "a", "offset": 1e300}),
            "read: \"offset\" must be a whole number from -4294967295 to",
        ),
        (json!({"filePath": "a", "offset": 1.5}), "got 1.5"),
        (
            json!({"filePath": "a", "offset": 2}),
            "read: \"offset\" 2 is past the end: a has 1 lines",
        ),
        (
            json!({"filePath": null}),
            "read: \"filePath\" must be a text, got null",
        ),
        (json!({"filePath": "none"}), "read: none does not exist"),
        (
            json!({"filePath": "binary"}),
            "read: binary is a binary file of 5 bytes and cannot be shown as text",
        ),
        (
            json!({"filePath": "/etc/hosts"}),
            "read blocked: /etc/hosts is outside",
        ),
    ];
    for (input, expected) in table {
        let message = scratch.refusal(&ReadTool, input).await;
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn encodings_and_line_ends_are_shown_readable() {
    let scratch = Scratch::new();
    let table: [(&[u8], &str); 5] = [
        (b"a\r\nb\r\n", "1\ta\n2\tb"),
        (
            b"\xef\xbb\xbfa\n",
            "1\ta\n[encoded as UTF-8 with a byte order mark; edit and write keep it]",
        ),
        (
            b"\xff\xfea\0\n\0b\0",
            "1\ta\n2\tb\n[encoded as UTF-16 LE; edit and write keep it]",
        ),
        (
            b"\xfe\xff\0a\0\n",
            "1\ta\n[encoded as UTF-16 BE; edit and write keep it]",
        ),
        (
            b"zw\xf6lf",
            "1\tzw\u{f6}lf\n[encoded as Windows-1252; edit and write keep it]",
        ),
    ];
    for (bytes, expected) in table {
        std::fs::write(scratch.path("f"), bytes).unwrap();
        assert_eq!(text(&scratch, json!({"filePath": "f"})).await, expected);
    }
}

#[tokio::test]
async fn a_picture_is_shown_as_one_or_refused_with_the_reason() {
    let scratch = Scratch::new();
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x10\0\0\0\x20".to_vec();
    std::fs::write(scratch.path("p.png"), &png).unwrap();
    let shown = scratch.run(&ReadTool, json!({"filePath": "p.png"})).await;
    let blocks = vec![
        ContentBlock::Text("p.png is a PNG image of 16 x 32 pixels:".to_owned()),
        ContentBlock::Image {
            media_type: "image/png".to_owned(),
            base64: "iVBORw0KGgoAAAANSUhEUgAAABAAAAAg".into(),
        },
    ];
    assert_eq!(shown.unwrap(), ToolOutput::Content(blocks));
    png.resize(4_000_000, 0);
    std::fs::write(scratch.path("p.png"), &png).unwrap();
    let message = scratch
        .refusal(&ReadTool, json!({"filePath": "p.png"}))
        .await;
    assert!(
        message.starts_with("read: p.png is a PNG image of 16 x 32 pixels and cannot be shown: "),
        "{message}"
    );
}

#[tokio::test]
async fn a_picture_too_large_for_models_is_shown_smaller() {
    let scratch = Scratch::new();
    let wide = image::RgbImage::new(4_000, 40);
    wide.save(scratch.path("p.png")).unwrap();
    let shown = scratch.run(&ReadTool, json!({"filePath": "p.png"})).await;
    let ToolOutput::Content(blocks) = shown.unwrap() else {
        panic!("no blocks")
    };
    let [
        ContentBlock::Text(words),
        ContentBlock::Image { media_type, base64 },
    ] = &blocks[..]
    else {
        panic!("{blocks:?}")
    };
    assert_eq!(
        words,
        "p.png is a PNG image of 4000 x 40 pixels, shown scaled to 2000 x 20 pixels:"
    );
    assert_eq!(media_type, "image/png");
    let bytes = base64::prelude::BASE64_STANDARD.decode(&**base64).unwrap();
    let image = image::load_from_memory(&bytes).unwrap();
    assert_eq!((image.width(), image.height()), (2_000, 20));
}

#[tokio::test]
async fn a_large_file_is_shown_like_a_small_one() {
    let scratch = Scratch::new();
    let line = "zw\u{f6}lf 0123456789 0123456789 0123456789 0123456789\n";
    let lines = FILE_BYTES_MAX as usize / line.len() + 10;
    let mut content = line.repeat(lines).into_bytes();
    content.extend(b"the last, \xf6, without an end");
    std::fs::write(scratch.path("large"), &content).unwrap();
    let wide: Vec<u8> = std::iter::once(0xfeff)
        .chain(
            "zw\u{f6}lf 0123456789 0123456789\n"
                .repeat(lines)
                .encode_utf16(),
        )
        .flat_map(u16::to_be_bytes)
        .collect();
    std::fs::write(scratch.path("wide"), &wide).unwrap();
    let middle = lines / 2;
    for (file, line) in [
        ("large", line),
        ("wide", "zw\u{f6}lf 0123456789 0123456789\n"),
    ] {
        let answer = text(
            &scratch,
            json!({"filePath": file, "offset": middle, "limit": 1}),
        )
        .await;
        assert_eq!(
            answer,
            format!(
                "{middle}\t{line}[lines {middle}-{middle} of a file of {} bytes; read on with \
                 offset {}]",
                std::fs::metadata(scratch.path(file)).unwrap().len(),
                middle + 1
            )
        );
    }
    let answer = text(&scratch, json!({"filePath": "large", "offset": lines + 1})).await;
    assert_eq!(
        answer,
        format!("{}\tthe last, \u{f6}, without an end", lines + 1)
    );
    let end = text(&scratch, json!({"filePath": "large", "offset": -1})).await;
    assert_eq!(end, answer);
    let message = scratch
        .refusal(&ReadTool, json!({"filePath": "large", "offset": lines + 2}))
        .await;
    assert!(
        message.ends_with(&format!("large has {} lines", lines + 1)),
        "{message}"
    );
}

#[tokio::test]
async fn devices_pipes_and_links_to_them_are_not_opened() {
    let scratch = Scratch::new();
    let fifo = scratch.path("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let message = scratch
        .refusal(&ReadTool, json!({"filePath": "fifo"}))
        .await;
    assert_eq!(message, "read: fifo is not a plain file");
    std::os::unix::fs::symlink("/dev/zero", scratch.path("zero")).unwrap();
    let message = scratch
        .refusal(&ReadTool, json!({"filePath": "zero"}))
        .await;
    assert!(
        message.contains("kept for keys, passwords or the system"),
        "{message}"
    );
}

#[tokio::test]
async fn a_pdf_file_is_shown_by_its_pages() {
    let scratch = Scratch::new();
    let file = crate::pdf::tests::simple(&["First page", "", "Last page"]);
    std::fs::write(scratch.path("a.pdf"), file).unwrap();
    let no_text = "[no text on this page: it may be scanned, or a picture]";
    let all = format!("[page 1]\nFirst page\n[page 2]\n{no_text}\n[page 3]\nLast page");
    assert_eq!(
        text(&scratch, json!({"filePath": "a.pdf", "offset": 1})).await,
        all
    );
    // A small one is given whole, too, to those who can read it so.
    let whole = scratch.run(&ReadTool, json!({"filePath": "a.pdf"})).await;
    let bytes = std::fs::read(scratch.path("a.pdf")).unwrap();
    let blocks = vec![
        ContentBlock::Text("a.pdf is a PDF file, pages in all: 3.".to_owned()),
        ContentBlock::Document {
            name: "a.pdf".to_owned(),
            media_type: "application/pdf".to_owned(),
            base64: base64::prelude::BASE64_STANDARD.encode(bytes).into(),
            text: all,
        },
    ];
    assert_eq!(whole.unwrap(), ToolOutput::Content(blocks));
    assert_eq!(
        text(&scratch, json!({"filePath": "a.pdf", "limit": 1})).await,
        "[page 1]\nFirst page\n[pages 1-1 of 3; read on with offset 2]"
    );
    let last = text(&scratch, json!({"filePath": "a.pdf", "offset": -1})).await;
    assert_eq!(last, "[page 3]\nLast page");
    let scanned = text(
        &scratch,
        json!({"filePath": "a.pdf", "offset": 2, "limit": 1}),
    )
    .await;
    assert!(scanned.contains("If they are scanned"), "{scanned}");
    let table = [
        (
            json!({"filePath": "a.pdf", "offset": 4}),
            "read: \"offset\" 4 is past the end: a.pdf has 3 pages",
        ),
        (json!({"filePath": "b.pdf"}), "read: b.pdf is damaged: "),
    ];
    std::fs::write(scratch.path("b.pdf"), "%PDF-1.4 and nothing more").unwrap();
    for (input, expected) in table {
        let message = scratch.refusal(&ReadTool, input).await;
        assert!(message.starts_with(expected), "{message}");
    }
}

/// Followed to the end, what is told shows every page once.
#[tokio::test]
async fn a_long_pdf_file_is_read_in_whole_pages() {
    let scratch = Scratch::new();
    let long = "word ".repeat(1_500);
    let pages: Vec<String> = (1..=40).map(|n| format!("begin{n} {long}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    std::fs::write(scratch.path("a.pdf"), crate::pdf::tests::simple(&pages)).unwrap();
    let (mut offset, mut answers, mut seen) = (1, 0, Vec::new());
    while offset <= 40 {
        let answer = text(&scratch, json!({"filePath": "a.pdf", "offset": offset})).await;
        assert!(answer.len() <= ANSWER_BYTES_MAX, "{}", answer.len());
        let begun = answer.split_whitespace();
        let begun = begun.filter(|word| word.starts_with("begin"));
        seen.extend(begun.map(str::to_owned));
        answers += 1;
        offset = seen.len() + 1;
    }
    let all: Vec<String> = (1..=40).map(|n| format!("begin{n}")).collect();
    assert_eq!(seen, all);
    assert!(answers > 4, "{answers}");
}
