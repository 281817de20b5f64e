//! What cannot be done says why, and what to do.

use anyhow::ensure;
use testkit::Scratch;

use super::{ELDER, LIMIT, Story, YOUNGER, command, said};
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
fn in_a_directory_of_the_workspace_it_names_the_workspace() {
    tell(LIMIT, async {
        let story = Story::told()?;
        story.scratch.write("src/main.rs", "")?;
        let workspace = story.scratch.workspace();
        let below = workspace.join("src");
        let told = said(command(&story.scratch, &below, &["diff"])).await?;
        let expected = format!("name it with --dir {}\n", workspace.display());
        ensure!(
            told.code == Some(1) && told.err.ends_with(&expected),
            "{told:?}"
        );
        // Before and behind the word.
        for words in [["--dir", "..", "list"], ["list", "--dir", ".."]] {
            let told = said(command(&story.scratch, &below, &words)).await?;
            assert_eq!(told.code, Some(0), "{told:?}");
        }
        Ok(())
    });
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let elder = format!("thread {ELDER} has no cp-0009: it has cp-0001 to cp-0002");
        let younger = format!(
            "thread {YOUNGER} has no cp-0009: it has cp-0001; name another thread with --thread"
        );
        let nobody = format!("begins with \"x\"; there are {YOUNGER}, {ELDER}");
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
