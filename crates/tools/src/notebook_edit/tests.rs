//! Stories of notebooks.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;

/// As Jupyter writes it, with numbers that another writer would write otherwise.
const BOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aaaa1111",
   "metadata": {},
   "source": [
    "# Zwölf"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "bbbb2222",
   "metadata": {},
   "outputs": [],
   "source": [
    "x = 1\n",
    "x"
   ]
  }
 ],
 "metadata": {
  "tiny": 1e-05
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

/// Runs one change on a notebook that was read.
async fn changed(book: &str, mut input: Value) -> Result<String, String> {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    std::fs::write(scratch.path("a.ipynb"), book).unwrap();
    crate::read::ReadTool
        .run(&cx, json!({"filePath": "a.ipynb"}))
        .await
        .unwrap();
    input["notebookPath"] = json!("a.ipynb");
    match NotebookEditTool.run(&cx, input).await {
        Ok(_) => Ok(std::fs::read_to_string(scratch.path("a.ipynb")).unwrap()),
        Err(Failure::Error(message)) => Err(message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cell_is_replaced_and_nothing_else() {
    let input = json!({"cellIndex": 1, "newSource": "y = 2\ny\n"});
    let after = changed(BOOK, input).await.unwrap();
    assert_eq!(
        after,
        BOOK.replace("\"x = 1\\n\",\n    \"x\"", "\"y = 2\\n\",\n    \"y\\n\"")
    );
}

#[tokio::test]
async fn a_cell_can_change_its_type() {
    let input = json!({"cellIndex": 1, "newSource": "text", "cellType": "markdown"});
    let after = changed(BOOK, input).await.unwrap();
    let book: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(
        book["cells"][1],
        json!({"cell_type": "markdown", "id": "bbbb2222", "metadata": {}, "source": ["text"]})
    );
    assert!(after.contains("1e-05"));
}

#[tokio::test]
async fn cells_are_inserted_anywhere_with_an_id_of_their_own() {
    for (index, expected) in [(0, 0), (1, 1), (2, 2)] {
        let input = json!({"cellIndex": index, "newSource": "new", "editMode": "insert"});
        let after = changed(BOOK, input).await.unwrap();
        let book: Value = serde_json::from_str(&after).unwrap();
        let cell = &book["cells"][expected];
        assert_eq!(cell["source"], json!(["new"]));
        assert_eq!(cell["id"].as_str().unwrap().len(), 8);
        assert_eq!(book["cells"].as_array().unwrap().len(), 3);
        // Deleting it again gives every byte back.
        let input = json!({"cellIndex": index, "editMode": "delete"});
        assert_eq!(changed(&after, input).await.unwrap(), BOOK);
    }
    let old = BOOK.replace("\"nbformat_minor\": 5", "\"nbformat_minor\": 4");
    let input = json!({"cellIndex": 0, "newSource": "", "cellType": "raw", "editMode": "insert"});
    let book: Value = serde_json::from_str(&changed(&old, input).await.unwrap()).unwrap();
    assert_eq!(
        book["cells"][0],
        json!({"cell_type": "raw", "metadata": {}, "source": []})
    );
}

#[tokio::test]
async fn the_last_cell_can_go_and_come() {
    let empty = r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#;
    let input = json!({"cellIndex": 0, "newSource": "a", "cellType": "raw", "editMode": "insert"});
    let one = changed(empty, input).await.unwrap();
    assert_eq!(
        one,
        r#"{"cells": [{"cell_type":"raw","metadata":{},"source":["a"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#
    );
    let input = json!({"cellIndex": 0, "editMode": "delete"});
    assert_eq!(changed(&one, input).await.unwrap(), empty);
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused() {
    let table = [
        (
            BOOK,
            json!({"cellIndex": 2, "newSource": ""}),
            "has no cell 2; its cells are 0 to 1",
        ),
        (
            BOOK,
            json!({"cellIndex": 3, "newSource": "", "editMode": "insert"}),
            "at 0 to 2",
        ),
        (
            BOOK,
            json!({"newSource": ""}),
            "\"cellIndex\" must be a whole number, got nothing",
        ),
        (
            BOOK,
            json!({"cellIndex": 0}),
            "\"newSource\" must be a text, got nothing",
        ),
        (
            BOOK,
            json!({"cellIndex": 0, "editMode": "x"}),
            "\"replace\", \"insert\" or \"delete\"",
        ),
        (
            BOOK,
            json!({"cellIndex": 0, "newSource": "", "cellType": "x"}),
            "\"markdown\" or \"raw\"",
        ),
        (
            "{}",
            json!({"cellIndex": 0, "newSource": ""}),
            "is not a notebook of format 4",
        ),
        (
            r#"{"cells": [], "nbformat": 3}"#,
            json!({"cellIndex": 0, "newSource": ""}),
            "is of format 3",
        ),
    ];
    for (book, input, expected) in table {
        let message = changed(book, input).await.unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a.ipynb"), BOOK).unwrap();
    let input = json!({"notebookPath": "a.ipynb", "cellIndex": 0, "newSource": ""});
    let message = scratch.refusal(&NotebookEditTool, input).await;
    assert_eq!(
        message,
        "notebookEdit: you have not read a.ipynb; read it first"
    );
    let input = json!({"notebookPath": "a.txt", "cellIndex": 0, "newSource": ""});
    let message = scratch.refusal(&NotebookEditTool, input).await;
    assert!(message.contains("not a notebook"), "{message}");
}

#[test]
fn a_change_names_its_notebook_before_it_is_made() {
    let input = json!({"notebookPath": "a.ipynb", "cellIndex": 0, "newSource": "y\n"});
    let Subject::Files(files) = NotebookEditTool.subject(&input) else {
        panic!("it is about a file");
    };
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.ipynb"]);
}
