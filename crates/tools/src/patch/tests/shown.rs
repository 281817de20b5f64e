//! What a person is shown of a patch before it is made.

use super::*;

#[test]
fn every_file_has_a_preview() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n\
        *** Update File: c\n@@\n k\n-o\n+n\n*** Update File: d\n*** Move to: e\n@@\n-o\n+n\n\
        *** End Patch";
    let Subject::Files(files) = PatchTool.subject(&json!({ "input": patch })) else {
        panic!("a patch is about files");
    };
    let shown: Vec<_> = files
        .iter()
        .map(|file| {
            let preview = file.preview.as_ref().unwrap();
            (file.path.as_str(), preview.kind, preview.diff.as_str())
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a", FileChangeKind::Add, "x\n"),
            ("b", FileChangeKind::Delete, ""),
            ("c", FileChangeKind::Update, "@@ -1,2 +1,2 @@\n k\n-o\n+n\n"),
            ("d", FileChangeKind::Delete, ""),
            ("e", FileChangeKind::Update, "@@ -1,1 +1,1 @@\n-o\n+n\n"),
        ]
    );
}

#[test]
fn one_question_is_asked_for_all_protected_files_of_a_patch() {
    let scratch = Scratch::new();
    let judged = |body: &str| {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
        PatchTool.judge(&scratch.scope(), &json!({ "input": patch }))
    };
    assert_eq!(judged("*** Add File: src/a.rs\n+x"), Judgement::Allow);
    let asked = judged(
        "*** Add File: src/a.rs\n+x\n*** Add File: .vscode/tasks.json\n+{}\n\
         *** Update File: a\n*** Move to: .envrc\n@@\n-a\n+b",
    );
    let Judgement::Ask {
        command,
        dangerous: true,
        why,
        ..
    } = asked
    else {
        panic!("{asked:?}");
    };
    assert_eq!(command, "applyPatch .vscode/tasks.json, .envrc");
    assert!(why.contains(".vscode/tasks.json is run by"), "{why}");
    assert!(why.contains(".envrc is run by"), "{why}");
}
