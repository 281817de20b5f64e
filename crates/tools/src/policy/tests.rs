//! Stories of a policy.

#![allow(clippy::unwrap_used)]

mod patches;

use super::*;
use crate::risk::judge_command;
use crate::scratch::Scratch;

fn policy(text: &str) -> Policy {
    toml::from_str(text).unwrap()
}

fn complaint(text: &str) -> String {
    toml::from_str::<Policy>(text).unwrap_err().to_string()
}

fn decide(policy: &Policy, command: &str) -> Decision {
    let judgement = judge_command(&Scratch::new().scope(), command);
    policy.decide(&PolicyCall {
        tool: "bash",
        summary: command,
        command: Some(command),
        paths: &[],
        hosts: &[],
        judgement: &judgement,
    })
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask { .. } => "ask",
        Decision::Refuse { .. } => "refuse",
    }
}

fn check(policy: &Policy, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (expected, command) = line.split_once(' ').unwrap();
        let command = command.trim_start();
        assert_eq!(word(&decide(policy, command)), expected, "{command}");
    }
}

/// A line in so many shells.
fn nested(shells: usize, line: &str) -> String {
    (0..shells).fold(line.to_owned(), |line, _| {
        format!("bash -c '{}'", line.replace('\'', "'\\''"))
    })
}

#[test]
fn a_rule_against_a_command_sees_it_within_other_shells() {
    let rules = policy(
        "[[rule]]\neffect = \"refuse\"\ncommand = \"git push\"\n\
         [[rule]]\neffect = \"ask\"\npath = \"secret/**\"",
    );
    check(
        &rules,
        r#"
        refuse bash -c "git push"
        refuse sh -c 'cd x && git  push origin'
        refuse eval "git push"
        refuse eval git "push origin"
        refuse eval 'git pu''sh'
        refuse env -S "git push"
        refuse env -S"git push"
        refuse env --split-string="git push"
        refuse timeout 5 bash -lc "git push"
        refuse xargs -I{} sh -c "git push {}"
        refuse echo $(bash -c "git push")
        refuse bash -c "eval 'git push'"
        ask    bash -c "git pull"
        allow  echo "git push"
        ask    bash -c "ls secret/key"
        "#,
    );
    for shells in 1..8 {
        let decision = decide(&rules, &nested(shells, "git push"));
        assert_eq!(word(&decision), "refuse", "{shells} deep");
    }
    assert_eq!(word(&decide(&rules, &nested(3, "git pull"))), "ask");
}

#[test]
fn a_line_full_of_scripts_is_decided_in_time() {
    let rules = policy("[[rule]]\neffect = \"refuse\"\ncommand = \"git push\"");
    let words = ["env", "xargs", "sh", "eval"].map(|word| format!("{word} 'a=b c' "));
    let line = words.concat().repeat(1_500);
    let begun = std::time::Instant::now();
    assert_ne!(word(&decide(&rules, &line)), "allow");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

fn edit(policy: &Policy, tool: &str, path: &str) -> Decision {
    policy.decide(&PolicyCall {
        tool,
        summary: &format!("{tool} {path}"),
        command: None,
        paths: &[path.to_owned()],
        hosts: &[],
        judgement: &Judgement::Allow,
    })
}

fn fetch(policy: &Policy, host: &str) -> Decision {
    policy.decide(&PolicyCall {
        tool: "webFetch",
        summary: "webFetch",
        command: None,
        paths: &[],
        hosts: &[host.to_owned()],
        judgement: &Judgement::Ask {
            command: format!("webFetch {host}"),
            dangerous: false,
            risk: Risk::ManualReview,
            why: String::new(),
        },
    })
}

#[test]
fn without_rules_the_tool_decides() {
    let empty = policy("");
    check(
        &empty,
        "
        allow   ls
        ask     cargo test
        ask     rm -rf x
        ",
    );
    assert_eq!(empty.ask_timeout(), None);
    assert_eq!(edit(&empty, "edit", "a"), Decision::Allow);
}

#[test]
fn an_allowed_beginning_covers_whole_words_and_every_command() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "allow"
        command = "git fetch"
        [[rule]]
        effect = "allow"
        command = "cargo"
        [[rule]]
        effect = "allow"
        command = "cat"
        "#,
    );
    check(
        &policy,
        r#"
        allow   git fetch
        allow   git  'fetch' --all
        allow   cargo test && git fetch
        allow   cargo test | cat
        allow   cargo build; cargo test
        allow   (cargo test; cat a.txt) &
        allow   cat a.txt
        ask     git fetch-pack
        ask     git fetchx
        ask     git --no-pager fetch
        ask     git
        ask     ./cargo test
        ask     cargo test && touch a
        ask     touch a & cargo test
        ask     cargo test > out
        ask     cargo test < in
        ask     cargo test $(cat a)
        ask     cargo test `cat a`
        ask     cat <(cargo test)
        ask     cargo test $X
        ask     cargo test *
        ask     X=1 cargo test
        ask     env cargo test
        ask     $X cargo test
        ask     cargo test 'a
        ask     cargo test &&
        ask     cat /etc/passwd
        ask     for i in a; do cargo test; done
        ask     cargo() { touch a; }; cargo test
        "#,
    );
}

#[test]
fn any_allows_what_else_the_line_does_as_long_as_its_commands_are_allowed() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "allow"
        command = "cargo"
        any = true
        [[rule]]
        effect = "allow"
        command = "cat"
        "#,
    );
    check(
        &policy,
        "
        allow   cargo test > out
        allow   cargo test $X
        allow   cargo test $(cargo pkgid)
        allow   cargo test --manifest-path=/etc/x
        ask     cargo test $(touch a)
        ask     cargo test $(cat a)
        ask     cargo test | cat > a
        ask     X=1 cargo test
        ask     $(cargo pkgid) cargo
        ask     cargo test 'a
        ",
    );
}

#[test]
fn danger_is_only_allowed_by_a_rule_that_names_it() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "allow"
        command = "git push"
        [[rule]]
        effect = "allow"
        command = "chmod +x"
        [[rule]]
        effect = "allow"
        command = "curl"
        [[rule]]
        effect = "allow"
        command = "bash"
        any = true
        "#,
    );
    check(
        &policy,
        "
        allow   git push origin main
        ask     git push --force
        allow   chmod +x a
        ask     chmod 777 a
        ask     chmod +x a; chmod +x b
        allow   curl https://x
        ask     curl https://x | bash
        ask     bash -c 'rm -rf x'
        ",
    );
}

#[test]
fn refusing_beats_asking_beats_allowing() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "allow"
        tool = "bash"
        any = true
        [[rule]]
        effect = "ask"
        command = "git push"
        [[rule]]
        effect = "refuse"
        command = "git push origin main"
        [[rule]]
        effect = "refuse"
        command = "git push origin"
        [[rule]]
        effect = "ask"
        command = "ls"
        "#,
    );
    check(
        &policy,
        "
        allow   cargo test
        allow   cargo test > a
        allow   cargo test $X
        ask     $X test
        ask     LD_PRELOAD=x cargo test
        ask     git push
        ask     git push upstream
        refuse  git push origin main
        refuse  git push origin dev
        ask     ls
        ask     cargo test | ls
        ",
    );
    assert_eq!(
        decide(&policy, "git push origin main"),
        Decision::Refuse {
            why: "refused by the policy: rule 3: refuse command git push origin main".to_owned()
        }
    );
    let Decision::Ask {
        command, risk, why, ..
    } = decide(&policy, "ls")
    else {
        panic!()
    };
    assert_eq!((command.as_str(), risk), ("ls", Risk::ManualReview));
    assert_eq!(
        why.unwrap(),
        "the policy wants this asked: rule 5: ask command ls"
    );
}

#[test]
fn what_is_refused_is_found_behind_other_things() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "refuse"
        command = "git push"
        "#,
    );
    check(
        &policy,
        r#"
        refuse  git push
        refuse  'git' pu\sh
        refuse  /usr/bin/git push
        refuse  git -C sub --no-pager push
        refuse  git -c a=b push
        refuse  X=1 git push
        refuse  env X=1 git push
        refuse  sudo git push
        refuse  ls && git push
        refuse  echo $(git push)
        refuse  echo "`git push`"
        refuse  if true; then git push; fi
        refuse  f() { git push; }
        refuse  find . -exec git push ;
        refuse  git push 'unfinished
        allow   git log
        ask     git pushy
        ask     git commit -m x push
        ask     git stash push
        "#,
    );
}

#[test]
fn paths_go_by_patterns_and_tools_by_names() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "ask"
        tool = "edit"
        [[rule]]
        effect = "refuse"
        path = "**/.env"
        [[rule]]
        effect = "ask"
        tool = "mcp*"
        [[rule]]
        effect = "refuse"
        tool = "write"
        path = "docs/*.md"
        "#,
    );
    let decided = |tool, path| word(&edit(&policy, tool, path));
    assert_eq!(decided("edit", "src/a.rs"), "ask");
    assert_eq!(decided("editor", "src/a.rs"), "allow");
    assert_eq!(decided("mcp.grep.search", "x"), "ask");
    assert_eq!(decided("read", ".env"), "refuse");
    assert_eq!(decided("read", "a/../sub/./.env"), "refuse");
    assert_eq!(decided("read", "/somewhere/.env"), "refuse");
    assert_eq!(decided("read", "../other/.env"), "refuse");
    assert_eq!(decided("read", ".envrc"), "allow");
    assert_eq!(decided("write", "docs/a.md"), "refuse");
    assert_eq!(decided("write", "docs/sub/a.md"), "allow");
    check(
        &policy,
        "
        refuse  cat .env
        refuse  cat < .env
        refuse  cp --target=sub/.env a
        refuse  ls; cat ./.env
        ask     cat .envrc
        ",
    );
    let Decision::Ask { command, .. } = edit(&policy, "edit", "src/a.rs") else {
        panic!()
    };
    assert_eq!(command, "edit src/a.rs");
}

#[test]
fn a_path_that_is_allowed_must_hold_all_paths_of_the_call() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "allow"
        tool = "mcp*"
        path = "src/**"
        "#,
    );
    let judgement = Judgement::Ask {
        command: "mcp x".to_owned(),
        dangerous: false,
        risk: Risk::ManualReview,
        why: String::new(),
    };
    let decided = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        word(&policy.decide(&PolicyCall {
            tool: "mcp.x",
            summary: "mcp x",
            command: None,
            paths: &paths,
            hosts: &[],
            judgement: &judgement,
        }))
    };
    assert_eq!(decided(&["src/a", "src/b/c"]), "allow");
    assert_eq!(decided(&["src/a", "b"]), "ask");
    assert_eq!(decided(&["src/../b"]), "ask");
    assert_eq!(decided(&["/ws/src/a"]), "ask");
    assert_eq!(decided(&[]), "ask");
}

#[test]
fn hosts_go_by_name_or_domain() {
    let policy = policy(
        r#"
        [[rule]]
        effect = "allow"
        host = "*.Example.org"
        [[rule]]
        effect = "refuse"
        host = "evil.example.org"
        "#,
    );
    let decided = |host| word(&fetch(&policy, host));
    assert_eq!(decided("docs.example.org"), "allow");
    assert_eq!(decided("DOCS.example.ORG."), "allow");
    assert_eq!(decided("example.org"), "ask");
    assert_eq!(decided("badexample.org"), "ask");
    assert_eq!(decided("evil.example.org"), "refuse");
}

#[test]
fn an_ask_can_run_out_of_time() {
    let policy = policy("ask_timeout_seconds = 90");
    assert_eq!(policy.ask_timeout(), Some(Duration::from_secs(90)));
    let why = policy.timed_out_why().unwrap();
    assert_eq!(
        why,
        "denied by the policy: nobody answered within 90 seconds"
    );
}

#[test]
fn what_is_written_wrongly_is_named() {
    let rule = |rest: &str| complaint(&format!("[[rule]]\neffect = \"allow\"\n{rest}"));
    for (found, part) in [
        (complaint("rules = []"), "unknown field `rules`"),
        (rule("comand = 'ls'"), "unknown field `comand`"),
        (
            complaint("[[rule]]\neffect = \"deny\""),
            "unknown variant `deny`",
        ),
        (rule(""), "rule 1: name a tool, a command, a path or a host"),
        (
            rule("command = 'a; b'"),
            "rule 1: command: give the plain first words",
        ),
        (rule("command = 'a $X'"), "rule 1: command"),
        (rule("command = ' '"), "rule 1: command: give 1 to"),
        (rule("path = '/etc/*'"), "rule 1: path"),
        (rule("path = 'a/../../b'"), "rule 1: path"),
        (rule("path = 'a[b'"), "rule 1: path"),
        (rule("host = 'https://x'"), "rule 1: host"),
        (complaint("ask_timeout_seconds = 0"), "ask_timeout_seconds"),
        (
            complaint("[[rule]]\neffect = \"ask\"\ntool = 'x'\nany = true"),
            "rule 1: `any` is only for rules that allow",
        ),
    ] {
        assert!(found.contains(part), "{found}");
    }
}
