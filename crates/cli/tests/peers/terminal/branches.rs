//! Threads that are taken up again, branched and taken back.

use anyhow::ensure;
use testkit::terminal::key;

use super::LIMIT;
use super::desk::CodexDesk;

#[test]
fn the_last_thread_is_resumed_forked_and_taken_back() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person
            .say("echo the first word", "• the first word")
            .await?;
        person.rests().await?;
        person
            .say("echo the second word", "• the second word")
            .await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        let thread = desk.thread()?;
        // Not one of those that the client made for itself.
        let mut person = desk.sit_down(&["resume", "--last"])?;
        person.sees("• the second word").await?;
        // The last prompt is taken back, and said again in other words.
        person.ready().await?;
        person
            .press(key::ESCAPE, "esc again to edit previous message")
            .await?;
        person.press(key::ESCAPE, "Browsing transcript").await?;
        person.press(key::ENTER, "› echo the second word").await?;
        person.misses("• the second word").await?;
        person
            .press(" and more", "› echo the second word and more")
            .await?;
        person
            .press(key::ENTER, "• the second word and more")
            .await?;
        person.rests().await?;
        person.say("/fork", "• the second word and more").await?;
        person.say("echo in the fork", "• in the fork").await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        let mut person = desk.sit_down(&["resume", &thread])?;
        person.sees("• the second word and more").await?;
        ensure!(
            !person.screen().contains("in the fork"),
            "the fork went into the thread"
        );
        person.leaves(&[]).await?;
        // Those that there are, the fork before what it was forked from.
        let mut person = desk.sit_down(&["resume"])?;
        person.sees("1 / 2").await?;
        person.press(key::ENTER, "• in the fork").await?;
        person.leaves(&[]).await?;
        // The same as a table, where one is pinned and stays so.
        let mut person = desk.sit_down(&["agents"])?;
        person.sees("All 2").await?;
        person.press("p", "Pinned  1").await?;
        drop(person);
        let mut person = desk.sit_down(&["agents"])?;
        person.sees("Pinned  1").await?;
        desk.judged().await
    });
}

#[test]
fn threads_are_forked_archived_and_deleted_by_command() {
    crate::tell(LIMIT, async {
        let desk = CodexDesk::open().await?;
        let mut person = desk.sit_down(&[])?;
        person.ready().await?;
        person.say("echo remember", "• remember").await?;
        person.rests().await?;
        person.leaves(&[]).await?;
        let thread = desk.thread()?;
        let mut person = desk.sit_down(&["fork", &thread])?;
        person.sees("• remember").await?;
        person.leaves(&[]).await?;
        for words in [
            &["archive", thread.as_str()][..],
            &["unarchive", thread.as_str()],
            &["delete", "--force", thread.as_str()],
        ] {
            let mut person = desk.sit_down(words)?;
            let ended = person.ended().await?;
            ensure!(
                ended == Some(0),
                "{words:?}: {ended:?}\n{}",
                person.screen()
            );
        }
        desk.judged().await
    });
}
