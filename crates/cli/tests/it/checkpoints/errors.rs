//! What cannot be done says why, and what to do.

use anyhow::ensure;
use testkit::Scratch;
use vocabulary::Trigger;

use super::{ELDER, ELDER_SHORT, LIMIT, Story, YOUNGER, YOUNGER_SHORT, command, said};
use crate::tell;

#[test]
fn where_nothing_is_kept_it_says_when_something_will_be() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let here = scratch.workspace();
        for words in [
            &[][..],
            &["diff"],
            &["verify"],
            &["prune"],
            &["restore", "1", "--yes"],
        ] {
            let said = said(command(&scratch, here, words)).await?;
            let expected = format!(
                "dragoman: no checkpoints of {} yet; they are made when a thread works there\n",
                here.display()
            );
            assert_eq!((said.code, said.err), (Some(1), expected), "{words:?}");
        }
        // Asking has made nothing.
        ensure!(!scratch.home().join("checkpoints").exists());
        let all = said(command(&scratch, here, &["list", "--all"])).await?;
        ensure!(all.out.starts_with("No checkpoints yet"), "{all:?}");
        let all = said(command(&scratch, here, &["verify", "--all"])).await?;
        assert_eq!(all.code, Some(0), "{all:?}");
        Ok(())
    });
}

#[test]
fn in_a_directory_of_the_workspace_that_workspace_is_meant() {
    tell(LIMIT, async {
        let story = Story::new(&[("app.txt", "one\n"), ("src/main.rs", "fn\n")])?;
        story.begin(ELDER)?;
        story.scratch.write("src/main.rs", "fn main\n")?;
        story.note(ELDER, Trigger::Automatic)?;
        let below = story.scratch.workspace().join("src");
        let run = async |words: &[&str]| said(command(&story.scratch, &below, words)).await;
        let list = run(&[]).await?;
        let workspace = story.scratch.workspace().display();
        let expected = format!("Checkpoints of {workspace}\n");
        ensure!(
            list.code == Some(0) && list.out.starts_with(&expected),
            "{list:?}"
        );
        // Paths begin where the person is.
        for (path, text) in [("main.rs@1", "fn\n"), ("../app.txt", "one\n")] {
            let shown = run(&["show", path]).await?;
            assert_eq!((shown.code, shown.out.as_str()), (Some(0), text), "{path}");
        }
        let restored = run(&["restore", "original", "--path", "main.rs", "--yes"]).await?;
        assert_eq!(restored.code, Some(0), "{restored:?}");
        assert_eq!(story.scratch.read("src/main.rs"), "fn\n");
        let undo = format!("restore cp-0002 --thread {ELDER_SHORT}\n");
        ensure!(restored.out.ends_with(&undo), "{restored:?}");
        // Before and behind the word.
        for words in [["--dir", "..", "list"], ["list", "--dir", ".."]] {
            let told = run(&words).await?;
            assert_eq!(told.code, Some(0), "{told:?}");
        }
        Ok(())
    });
}

/// A thread that only talked is newer, and is not what a person means who asks what changed.
#[test]
fn without_a_name_the_thread_that_changed_something_last_is_meant() {
    tell(LIMIT, async {
        let story = Story::new(&[("app.txt", "one\n")])?;
        story.begin(ELDER)?;
        story.scratch.write("app.txt", "two\n")?;
        story.note(ELDER, Trigger::Automatic)?;
        story.begin(YOUNGER)?;
        story.note(YOUNGER, Trigger::Manual)?;
        let diff = story.run(&["diff"]).await?;
        let expected = format!("Thread {ELDER_SHORT}: from original to cp-0001\n");
        assert_eq!(diff.err, expected, "{diff:?}");
        ensure!(diff.out.contains("+two"), "{diff:?}");
        let list = story.run(&[]).await?.out;
        let said = format!("Without --thread, {ELDER_SHORT} is meant.");
        ensure!(list.contains(&said), "{list}");
        Ok(())
    });
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let elder = format!("thread {ELDER_SHORT} has no cp-0009: it has cp-0001 to cp-0002");
        let younger = format!(
            "thread {YOUNGER_SHORT} has no cp-0009: it has cp-0001; name another thread with --thread"
        );
        let nobody = format!("begins with \"x\"; there are {YOUNGER_SHORT}, {ELDER_SHORT}");
        let cases: [(&[&str], &str); 9] = [
            (&["delete", "cp-0009"], &younger),
            (&["diff", "9", "--thread", ELDER], &elder),
            (&["restore", "9", "--yes"], &younger),
            (&["diff", "--thread", "x"], &nobody),
            (
                &["diff", "--thread", "0198"],
                "write more of the one that you mean",
            ),
            (&["show", "app.txt@7"], "version 7 of app.txt is not kept"),
            (
                &["history", "nowhere.txt"],
                "nothing is kept of nowhere.txt",
            ),
            (&["history", "../secret"], "../secret does not lie in"),
            (
                &["restore", "1", "--yes", "--path", "/etc/passwd"],
                "/etc/passwd does not lie in",
            ),
        ];
        for (words, expected) in cases {
            let said = story.run(words).await?;
            assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{words:?}");
            ensure!(said.err.contains(expected), "{words:?}: {}", said.err);
        }
        Ok(())
    });
}

#[test]
fn what_cannot_be_understood_is_refused_with_an_example() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let cases: [(&[&str], &str); 5] = [
            (
                &["diff", "yesterday"],
                "write it like cp-0003, or `original`, or `now`",
            ),
            (&["restore", "now"], "write it like cp-0003, or `original`"),
            (&["delete", "original"], "write it like cp-0003"),
            (&["prune", "--age", "7"], "write it like 12h, 7d or 4w"),
            (&["prune", "--size", "much"], "write it like 500M or 2G"),
        ];
        for (words, expected) in cases {
            let said = story.run(words).await?;
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words:?}");
            ensure!(said.err.contains(expected), "{words:?}: {}", said.err);
        }
        Ok(())
    });
}
