//! What a model reads of a command.

use super::*;

/// The first line without the time, and the rest.
fn read(ran: &Ran) -> (String, &str) {
    let (heading, output) = match ran.model_text.split_once('\n') {
        Some((heading, output)) => (heading, output),
        None => (ran.model_text.as_str(), ""),
    };
    let mut parts: Vec<&str> = heading.split(" · ").collect();
    let time = parts.remove(1).strip_suffix(" s").expect("seconds");
    assert!(time.parse::<f32>().is_ok(), "{heading}");
    (parts.join(" · "), output)
}

async fn told(command: &str) -> (String, String) {
    let ran = bash(&Scratch::new(), command).await;
    let (heading, output) = read(&ran);
    (heading, output.to_owned())
}

fn pair(heading: &str, output: &str) -> (String, String) {
    (heading.to_owned(), output.to_owned())
}

#[tokio::test]
async fn it_begins_with_how_the_command_ended() {
    assert_eq!(told("true").await, pair("exit 0", ""));
    assert_eq!(told("echo a; exit 3").await, pair("exit 3", "a"));
    assert_eq!(told("printf a >&2").await, pair("exit 0", "a"));
    assert_eq!(told("kill -9 $$").await, pair("exit 137", ""));
}

#[tokio::test]
async fn a_command_that_was_ended_says_why() {
    let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
    let input = json!({"command": "printf begun; sleep 1000"});
    let cx = scratch.cx(&host);
    let tool = BashTool;
    let cancel = async {
        host.wait_for(|text| text == "begun").await;
        cx.cancel.cancel();
    };
    let both = async { tokio::join!(tool.run(&cx, input), cancel) };
    let (outcome, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    let Err(Failure::Cancelled(output)) = outcome else {
        panic!("{outcome:?}");
    };
    let stopped = ran(output);
    let (heading, output) = read(&stopped);
    assert_eq!(heading, "exit 130 · stopped");
    assert_eq!(output, "begun\nCommand aborted.");
}

#[tokio::test]
async fn errors_stand_where_they_came() {
    let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
    let cx = scratch.cx(&host);
    // It goes on only after each was seen, at a pipe of its own: a writer that is not yet gone would let
    // it past a second time. A line that is not complete waits for its end.
    let command = "mkfifo a b; printf 'one '; read l < a; echo two >&2; read l < b; echo three";
    let tool = BashTool;
    let run = tool.run(&cx, json!({"command": command}));
    let go_on = |pipe: &str| std::fs::write(scratch.path(pipe), "on\n").unwrap();
    let watch = async {
        host.wait_for(|text| text == "one ").await;
        go_on("a");
        host.wait_for(|_| host.heard(OutputStream::Stderr) == "two\n")
            .await;
        go_on("b");
    };
    let both = async { tokio::join!(run, watch) };
    let (output, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    let ran = ran(output.unwrap());
    assert_eq!(read(&ran).1, "two\none three");
    assert_eq!((&*ran.stdout, &*ran.stderr), ("one three\n", "two\n"));
}

#[tokio::test]
async fn it_has_no_colours_and_no_progress_and_clients_are_shown_what_was_written() {
    let written = "\\033[31mred\\033[0m\\n10%%\\r100%%\\na\\0b\\r\\n";
    let ran = bash(&Scratch::new(), &format!("printf '{written}'")).await;
    assert_eq!(read(&ran).1, "red\n100%\nab");
    assert_eq!(ran.stdout, "\u{1b}[31mred\u{1b}[0m\n10%\r100%\na\0b\r\n");
}

/// 4,000 tests pass and the last one does not.
#[tokio::test]
async fn the_end_of_a_long_failure_is_shown_and_all_of_it_can_be_read() {
    let (scratch, place) = (Scratch::new(), Scratch::new());
    let mut cx = scratch.cx(&Arc::default());
    cx.scope.spill = Some(place.path("spill"));
    let script = "for i in $(seq 1 4000); do echo \"test some::module::case_$i ... ok\"; done
        echo 'test some::module::last ... FAILED'";
    let mut heads = Vec::new();
    for exit_code in [101, 0] {
        let input = json!({"command": format!("{script}; exit {exit_code}")});
        let ran = ran(BashTool.run(&cx, input).await.unwrap());
        let (heading, output) = read(&ran);
        assert_eq!(heading, format!("exit {exit_code}"));
        assert!(output.ends_with("\ntest some::module::last ... FAILED"));
        assert!(output.len() < 33_000, "{}", output.len());
        let (head, rest) = output.split_once("\n[… ").unwrap();
        let (note, tail) = rest.split_once("]\n").unwrap();
        assert!(
            head.lines()
                .chain(tail.lines())
                .all(|line| line.starts_with("test "))
        );
        let (left_out, path) = note.split_once("; all in ").unwrap();
        let shown = head.lines().count() + tail.lines().count();
        let left_out = left_out.replace(',', "");
        assert_eq!(
            left_out,
            format!("{} of 4001 lines left out", 4_001 - shown)
        );
        let kept = std::fs::read_to_string(path).unwrap();
        assert_eq!(kept.lines().count(), 4_001);
        assert!(kept.starts_with(head) && kept.ends_with("FAILED\n"));
        heads.push(head.len() * 100 / output.len());
    }
    assert_eq!(heads, [14, 29], "in percent: most of a failure is its end");
}

/// More than is kept in memory: what comes last is shown all the same.
#[tokio::test]
async fn the_end_of_endless_output_is_shown() {
    let ran = bash(
        &Scratch::new(),
        "yes \"$(printf %99s)\" | head -n 100000; echo end",
    )
    .await;
    let (_, output) = read(&ran);
    assert!(output.ends_with(" \nend"));
    assert!(output.contains("of 100,001 lines left out; ask for less]\n"));
    assert!(output.len() < 33_000, "{}", output.len());
}
