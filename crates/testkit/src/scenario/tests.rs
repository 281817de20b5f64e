//! What a story may say, and what it may not.

use super::*;

const STORY: &str = "
about = 'Two people watch.'
script = '''
turn
say Hello.
'''
[config.files]
'a.txt' = 'one'
[[step]]
do = 'connect'
[[step]]
client = 'b'
do = 'resume'
thread = 'a'
[[step]]
do = 'say'
text = 'Hi'
until = 'text Hello'
[[step]]
do = 'restore'
[[step]]
do = 'delete_checkpoint'
text = 'cp-0001'
[[step]]
do = 'file_version'
text = 'a b.txt 2'
";

#[test]
fn a_story_is_read_with_its_defaults() {
    let story = Scenario::parse(STORY).expect("a good story");
    assert!(story.several_clients());
    let told: Vec<_> = story.steps.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "a: connect, until connected",
            "b: resume the thread of a, until connected",
            "a: say \"Hi\", until text Hello",
            "a: restore, until done",
            "a: delete checkpoint \"cp-0001\", until done",
            "a: file version \"a b.txt 2\", until done",
        ]
    );
    let deeds: Vec<_> = story.steps[3..].iter().filter_map(Step::deed).collect();
    let version = Deed::FileVersion {
        path: "a b.txt".to_owned(),
        iteration: 2,
    };
    assert_eq!(
        deeds,
        [
            Deed::Restore(None),
            Deed::DeleteCheckpoint("cp-0001".to_owned()),
            version,
        ]
    );
}

#[test]
fn what_a_story_may_not_say_is_refused() {
    for (bad, why) in [
        ("abuot = 'x'\n", "unknown field"),
        ("[[step]]\ndo = 'dance'\n", "unknown variant"),
        ("[[step]]\ndo = 'cancel'\nuntli = 'rest'\n", "unknown field"),
        ("[[step]]\ndo = 'say'\n", "needs a text"),
        ("[[step]]\ndo = 'reset'\ntext = 'x'\n", "takes no text"),
        (
            "[[step]]\ndo = 'say'\ntext = 'x'\nthread = 'a'\n",
            "only `resume`",
        ),
        (
            "[[step]]\ndo = 'say'\ntext = 'x'\nspeaks = 'codex'\n",
            "only `connect` and `resume`",
        ),
        ("[[step]]\ndo = 'wait'\ntext = 'long'\n", "not a time"),
        ("[[step]]\ndo = 'send'\ntext = '{}'\n", "what it waits for"),
        ("[[step]]\ndo = 'hear'\n", "what it waits for"),
        (
            "[[step]]\ndo = 'file_version'\ntext = 'a.txt'\n",
            "not a version",
        ),
    ] {
        let text = match bad.starts_with('[') {
            true => format!("about = 'x'\n{bad}"),
            false => format!("{bad}[[step]]\ndo = 'connect'\n"),
        };
        let error = Scenario::parse(&text).expect_err(bad);
        assert!(format!("{error:#}").contains(why), "{bad}: {error:#}");
    }
}
