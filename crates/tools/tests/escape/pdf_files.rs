//! PDF files that were made to harm who reads them: they are read in a process of their own.

use serde_json::json;
use tools::sandbox::Mode;
use tools::{Failure, Sandbox, Toolbox};
use vocabulary::ToolOutput;

use crate::world::{PATIENCE, World, launcher};

/// A file of these objects, without a table of them: readers look for them by themselves.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    for (number, object) in (1..).zip(objects) {
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    file.extend(b"trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n");
    file
}

fn stream(content: &[u8], more: &str) -> Vec<u8> {
    let mut stream = format!("<< /Length {} {more} >>\nstream\n", content.len()).into_bytes();
    stream.extend(content);
    stream.extend(b"\nendstream");
    stream
}

fn one_page() -> Vec<Vec<u8>> {
    let content = b"BT /F1 12 Tf (in peace) Tj ET";
    vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
            .to_vec(),
        stream(content, ""),
    ]
}

/// Forty texts of 15 megabytes, packed into a few kilobytes each.
fn more_than_fits() -> Vec<u8> {
    let mut objects = one_page();
    for number in 0..40 {
        let head = format!("{} 0 (", 1_000 + number);
        // Runs: one that is as it is, one of 128 equal letters, and again, and an end.
        let mut packed = vec![head.len() as u8 - 1];
        packed.extend(head.bytes());
        packed.extend([129, b' '].repeat((15 << 20) / 128));
        packed.extend([0, b')', 128]);
        let first = head.len() - 1;
        let kind = format!("/Type /ObjStm /N 1 /First {first} /Filter /RunLengthDecode");
        objects.push(stream(&packed, &kind));
    }
    file(&objects)
}

#[tokio::test]
async fn a_file_is_read_apart_and_cannot_take_the_server_with_it() {
    let world = World::new();
    let sandbox = Sandbox::with_mode(Mode::Nothing, launcher());
    let cx = world.cx(&sandbox, world.scope(), Default::default());
    let read = Toolbox::builtin().get("read").unwrap();
    let show = async |bytes: &[u8]| {
        std::fs::write(world.scope().directory.join("a.pdf"), bytes).unwrap();
        let run = read.run(&cx, json!({"filePath": "a.pdf"}));
        tokio::time::timeout(PATIENCE, run).await.expect("it ends")
    };
    let good = show(&file(&one_page())).await;
    let words = good.map(|output: ToolOutput| output.words().into_owned());
    let text = "a.pdf is a PDF file, pages in all: 1.\n[page 1]\nin peace".to_owned();
    assert_eq!(words, Ok(text));
    let words = "read: a.pdf is damaged, or takes more time or memory to read than there is for it";
    let bomb = more_than_fits();
    assert!(bomb.len() < 12 << 20, "{}", bomb.len());
    assert_eq!(show(&bomb).await, Err(Failure::Error(words.to_owned())));
}
