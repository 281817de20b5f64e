//! Files are put back, by those who meant it.

use anyhow::ensure;
use serde_json::{Value, json};

use super::{ELDER, ELDER_SHORT, LIMIT, Story, YOUNGER, YOUNGER_SHORT, command, said, work};
use crate::tell;

fn step(path: &str, how: &str) -> Value {
    json!({ "path": path, "how": how, "why": null })
}

/// What lies in the workspace.
fn files(story: &Story) -> [String; 3] {
    ["app.txt", "gone.txt", "new.txt"].map(|name| story.scratch.read(name))
}

const BEFORE: [&str; 3] = ["four\n", "", "new\n"];
const ORIGINAL: [&str; 3] = ["one\n", "here\n", ""];

#[test]
fn a_preview_shows_all_and_touches_nothing() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let to_original = ["restore", "original", "--thread", ELDER, "--preview"];
        let steps = [
            step("app.txt", "replace"),
            step("gone.txt", "create"),
            step("new.txt", "delete"),
        ];
        let expected = json!({
            "thread": ELDER, "to": "original", "path": null, "steps": steps,
            "restored": false, "undo": null,
        });
        assert_eq!(story.json(&to_original).await?, expected);
        let said = story.run(&to_original).await?;
        let expected = format!(
            "Thread {ELDER_SHORT}: taking the files back to original touches 3 paths:\n  \
             replace app.txt\n  create  gone.txt\n  delete  new.txt\n"
        );
        assert_eq!((said.code, said.out), (Some(0), expected));
        assert_eq!(files(&story), BEFORE);
        let kept = story.vault.kept(ELDER)?.map(|kept| kept.checkpoints.len());
        assert_eq!(kept, Some(2));
        Ok(())
    });
}

#[test]
fn a_restore_says_what_undoes_it() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let said = story
            .run(&["restore", "original", "--thread", "0198a", "--yes"])
            .await?;
        ensure!(said.code == Some(0), "{said:?}");
        assert_eq!(files(&story), ORIGINAL);
        let undo = format!("dragoman checkpoints restore cp-0003 --thread {ELDER_SHORT}");
        let end =
            format!("Took the files back to original: 3 paths were touched.\nTo undo it: {undo}\n");
        ensure!(said.out.ends_with(&end), "{}", said.out);

        let words: Vec<&str> = undo.split(' ').skip(2).chain(["--yes"]).collect();
        let undone = story.json(&words).await?;
        assert_eq!(
            (&undone["restored"], &undone["undo"]),
            (&json!(true), &json!("cp-0004"))
        );
        assert_eq!(files(&story), BEFORE);

        // Once more there is nothing to do, and nothing is made of it.
        let again = story.json(&words).await?;
        let expected = json!({
            "thread": ELDER, "to": "cp-0003", "path": null, "steps": [],
            "restored": false, "undo": null,
        });
        assert_eq!(again, expected);
        Ok(())
    });
}

#[test]
fn one_path_can_be_put_back_alone() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let gone = story.scratch.workspace().join("gone.txt");
        let gone = gone.to_string_lossy();
        let words = [
            "restore", "cp-0001", "--thread", ELDER, "--yes", "--path", &gone,
        ];
        let restored = story.json(&words).await?;
        assert_eq!(restored["path"], "gone.txt");
        assert_eq!(restored["steps"], json!([step("gone.txt", "create")]));
        assert_eq!(files(&story), ["four\n", "here\n", "new\n"]);
        Ok(())
    });
}

#[test]
fn from_elsewhere_the_way_back_names_the_workspace() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let workspace = story.scratch.workspace().to_string_lossy();
        let words = ["restore", "original", "--yes", "--dir", &workspace];
        let told = said(command(&story.scratch, story.scratch.user(), &words)).await?;
        let undo = format!(
            "To undo it: dragoman checkpoints restore cp-0002 --thread {YOUNGER_SHORT} --dir {workspace}\n"
        );
        ensure!(told.out.ends_with(&undo), "{told:?}");
        assert_eq!(files(&story), ["three\n", "", "new\n"]);
        Ok(())
    });
}

#[test]
fn what_is_ignored_stays_and_is_told() {
    tell(LIMIT, async {
        let story = Story::told()?;
        // What is ignored now was kept once; giving it back would lose what lies there.
        story.scratch.write(".dragomanignore", "gone.txt\n")?;
        story.scratch.write("gone.txt", "precious\n")?;
        let words = [
            "restore", "cp-0001", "--thread", ELDER, "--path", "gone.txt",
        ];
        let said = story.run(&[&words[..], &["--yes"]].concat()).await?;
        ensure!(said.code == Some(0), "{said:?}");
        ensure!(
            said.out.contains("nothing of gone.txt can be restored:\n"),
            "{}",
            said.out
        );
        ensure!(
            said.out
                .contains("  leave   gone.txt (what lies there now is ignored"),
            "{}",
            said.out
        );
        assert_eq!(story.scratch.read("gone.txt"), "precious\n");
        Ok(())
    });
}

#[test]
fn without_a_terminal_it_needs_a_yes() {
    tell(LIMIT, async {
        let story = Story::told()?;
        for words in [
            &["restore", "original"][..],
            &["restore", "original", "--json"],
        ] {
            let said = story.run(words).await?;
            assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
            ensure!(
                said.err.contains("--yes restores without asking"),
                "{}",
                said.err
            );
        }
        assert_eq!(files(&story), BEFORE);
        Ok(())
    });
}

#[test]
fn while_a_turn_runs_nothing_is_restored() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let working = story.vault.working(&work())?;
        let restore = ["restore", "original", "--yes"];
        let said = story.run(&restore).await?;
        assert_eq!(said.code, Some(1));
        ensure!(
            said.err
                .starts_with("dragoman: a turn is changing files in this workspace"),
            "{}",
            said.err
        );
        assert_eq!(files(&story), BEFORE);
        drop(working);
        let restored = story.json(&restore).await?;
        assert_eq!(
            (&restored["thread"], &restored["undo"]),
            (&json!(YOUNGER), &json!("cp-0002"))
        );
        assert_eq!(files(&story), ["three\n", "", "new\n"]);
        Ok(())
    });
}
