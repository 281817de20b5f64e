//! Every scenario, in every tongue: one test each.

use std::collections::BTreeSet;
use std::time::Duration;

use testkit::stage;
use testkit::tongue::{LANGUAGES, language};

use crate::{DRAGOMAN, scenarios_folder, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// All stories in one tongue. A new scenario is a folder and a line here.
macro_rules! tongue {
    ($tongue:ident) => {
        mod $tongue {
            stories! { $tongue:
                plain_answer reasoning plan plan_kept
                approved_command denied_command
                question_answered question_skipped question_left_blank
                cancel_while_streaming cancel_while_a_command_runs cancel_while_asking
                busy provider_error reset archived
                resume_warm resume_cold two_sockets joined_while_streaming
                killed_while_streaming killed_while_asking
                steered retried broken_off compacted sub_agent
                backups backups_kept file_history patched checked_edit skills skill_loaded mcp_server
                upload harness_context project_defaults
            }
        }
    };
}

macro_rules! stories {
    ($tongue:ident: $($story:ident)*) => {
        $(
            #[test]
            fn $story() {
                super::play(stringify!($story), stringify!($tongue));
            }
        )*

        pub const STORIES: &[&str] = &[$(stringify!($story)),*];
    };
}

/// Every tongue there is; one line per dialect.
const TONGUES: &[&str] = &[
    "cowork",
    "cowork1",
    "diminuendo",
    "zane",
    "codex",
    "pioneer",
];
tongue!(cowork);
tongue!(diminuendo);
tongue!(zane);
tongue!(codex);
tongue!(pioneer);

/// The first cowork protocol cannot cancel, and says nothing before a turn is over: stories that
/// wait for a word, or that end by a cancel, have no end in it. Nor has one that goes on with a
/// session that was left, where it needs what that session had.
mod cowork1 {
    stories! { cowork1:
        plain_answer reasoning plan
        approved_command denied_command
        question_answered question_skipped question_left_blank
        provider_error reset archived
        resume_warm resume_cold two_sockets
        killed_while_asking
        steered retried broken_off compacted sub_agent
        backups file_history patched checked_edit skill_loaded mcp_server
    }
}

fn play(story: &str, tongue: &str) {
    let folder = scenarios_folder().join(story.replace('_', "-"));
    let language = language(tongue).expect("a tongue that testkit knows");
    tell(LIMIT, stage::play(&folder, language, DRAGOMAN));
}

#[test]
fn no_scenario_and_no_tongue_is_left_out() {
    let named = |stories: &[&str]| -> BTreeSet<String> {
        let names = stories.iter().map(|story| story.replace('_', "-"));
        names.collect()
    };
    let there: BTreeSet<String> = std::fs::read_dir(scenarios_folder())
        .expect("a folder of scenarios")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    for stories in [
        cowork::STORIES,
        diminuendo::STORIES,
        zane::STORIES,
        codex::STORIES,
        pioneer::STORIES,
    ] {
        assert_eq!(named(stories), there, "scenarios/ and the list above");
    }
    assert!(named(cowork1::STORIES).is_subset(&there));
    let tongues: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
    assert_eq!(tongues, TONGUES, "testkit's tongues and the list above");
}
