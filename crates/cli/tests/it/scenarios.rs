//! Every scenario, in every tongue: one test each.

use std::collections::BTreeSet;
use std::time::Duration;

use testkit::scenario::Scenario;
use testkit::stage;
use testkit::tongue::{LANGUAGES, language};

use crate::{DRAGOMAN, scenarios_folder, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// All stories in one tongue, and those that are told in it only. A new scenario is a folder and a line here.
macro_rules! tongue {
    ($tongue:ident $($own:ident)*) => {
        mod $tongue {
            stories! { $tongue: $($own)*
                plain_answer reasoning plan plan_kept
                approved_command denied_command
                question_answered question_skipped question_left_blank
                cancel_while_streaming cancel_while_a_command_runs cancel_while_asking
                busy provider_error reset archived credit_used_up
                resume_warm resume_cold two_sockets joined_while_streaming
                killed_while_streaming killed_while_asking
                steered retried broken_off sources compacted sub_agent
                backups backups_kept file_history patched checked_edit skills skill_loaded mcp_server
                upload harness_context project_defaults
                summarised reviewed user_shell typed_into
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
tongue!(cowork asked_on_connecting settings sign_in mcp_settings closed_and_deleted failed_call);
tongue!(diminuendo gateway heartbeat handed_over agent_types members workspace_files);
tongue!(zane asked_for_by_zane spelled_out worktrees pushed files_found terminal_ended taken_over deleted_by_another looked_up mcp_progress planned_by_turns read_only full_access_refused forked reverted ephemeral);
tongue!(codex sectioned searched found_again asked_for account configured server_sign_in files_found terminal_ended grant_taken_back taken_over deleted_by_another looked_up mcp_progress planned permissions full_access_refused forked reverted ephemeral);
tongue!(pioneer searched);

/// The first cowork protocol cannot cancel, and says nothing before a turn is over: stories that
/// wait for a word, or that end by a cancel, have no end in it. Nor has one that goes on with a
/// session that was left, where it needs what that session had.
mod cowork1 {
    stories! { cowork1:
        plain_answer reasoning plan
        approved_command denied_command
        question_answered question_skipped question_left_blank
        provider_error reset archived credit_used_up
        resume_warm resume_cold two_sockets
        killed_while_asking
        steered retried broken_off sources compacted sub_agent
        backups file_history patched checked_edit skill_loaded mcp_server
        first_protocol
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
    let there = |tongue: &str| -> BTreeSet<String> {
        let folders = std::fs::read_dir(scenarios_folder()).expect("a folder of scenarios");
        let folders = folders.map(|entry| entry.expect("an entry"));
        let told = folders.filter(|folder| {
            let scenario = Scenario::load(&folder.path().join("scenario.toml"));
            let only = scenario.expect("a scenario").only;
            only.is_empty() || only.iter().any(|name| name == tongue)
        });
        told.map(|folder| folder.file_name().to_string_lossy().into_owned())
            .collect()
    };
    for (tongue, stories) in [
        ("cowork", cowork::STORIES),
        ("diminuendo", diminuendo::STORIES),
        ("zane", zane::STORIES),
        ("codex", codex::STORIES),
        ("pioneer", pioneer::STORIES),
    ] {
        let told = there(tongue);
        assert_eq!(named(stories), told, "scenarios/ and the list above");
    }
    assert!(named(cowork1::STORIES).is_subset(&there("cowork1")));
    let tongues: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
    assert_eq!(tongues, TONGUES, "testkit's tongues and the list above");
}
