//! Agents that are real processes: they behave, hang, lie, flood and die.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use acp::schema::{ContentBlock, SessionUpdate};
use acp::{AcpError, AcpErrorKind, AgentConnection, AgentMessage, AgentProgram, SessionMemory};
use tempfile::TempDir;
use tools::Sandbox;

const AGENT: &str = env!("CARGO_BIN_EXE_scripted-acp");

fn program(script: &str) -> AgentProgram {
    AgentProgram {
        name: "scripted".to_owned(),
        command: AGENT.to_owned(),
        args: vec![script.to_owned()],
        ..AgentProgram::default()
    }
}

async fn start(program: &AgentProgram, place: &TempDir) -> Result<AgentConnection, AcpError> {
    AgentConnection::start(program, place.path(), &Sandbox::nothing()).await
}

/// What went wrong where an agent with this script is started and prompted.
async fn failure(script: &str) -> AcpError {
    let place = TempDir::new().expect("a directory");
    let mut agent = match start(&program(script), &place).await {
        Ok(agent) => agent,
        Err(error) => return error,
    };
    let session = match agent.new_session(place.path()).await {
        Ok(session) => session,
        Err(error) => return error,
    };
    agent
        .prompt(&session.id, vec!["hello".into()])
        .expect("sent");
    loop {
        match agent.next().await {
            Ok(AgentMessage::Response { .. }) => panic!("nothing went wrong"),
            Ok(AgentMessage::Update(_) | AgentMessage::Request { .. }) => {}
            Err(error) => return error,
        }
    }
}

#[tokio::test]
async fn an_agent_is_asked_and_answers() {
    let place = TempDir::new().expect("a directory");
    // What is no message is passed over.
    let mut agent = start(&program("garbage"), &place).await.expect("it runs");
    let mut session = agent.new_session(place.path()).await.expect("a session");
    let models: Vec<&str> = session.models().iter().map(|each| &each.id[..]).collect();
    assert_eq!(
        (session.model(), &models[..]),
        (Some("fast"), &["fast", "deep"][..])
    );
    agent.set_model(&mut session, "deep").await.expect("set");
    assert_eq!(session.model(), Some("deep"));
    let wrong = agent
        .set_model(&mut session, "wide")
        .await
        .expect_err("refused");
    assert_eq!(
        wrong.to_string(),
        "the agent has no model \"wide\": it has `default`, fast, deep"
    );
    assert_eq!(session.plan_mode().as_deref(), Some("plan"));
    agent.set_mode(&mut session, "plan").await.expect("set");
    let prompt = agent
        .prompt(&session.id, vec!["hello".into()])
        .expect("sent");
    let AgentMessage::Update(told) = agent.next().await.expect("an update") else {
        panic!("no update")
    };
    let SessionUpdate::AgentMessageChunk(chunk) = told.update else {
        panic!("no message")
    };
    assert_eq!(chunk.content, ContentBlock::from("hello"));
    let AgentMessage::Response { id, result } = agent.next().await.expect("an answer") else {
        panic!("no answer")
    };
    assert_eq!(id, prompt);
    assert_eq!(result.expect("well")["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_session_is_taken_up_where_the_agent_can_and_still_has_it() {
    let place = TempDir::new().expect("a directory");
    let mut agent = start(&program("loads"), &place).await.expect("it runs");
    let loaded = agent
        .old_session("known", place.path())
        .await
        .expect("loaded");
    assert_eq!(
        (&*loaded.0.id.0, loaded.1),
        ("known", SessionMemory::Everything)
    );
    let anew = agent
        .old_session("gone", place.path())
        .await
        .expect("made anew");
    assert_eq!(anew.1, SessionMemory::Nothing);
    let mut forgetful = start(&program("well"), &place).await.expect("it runs");
    let anew = forgetful.old_session("known", place.path()).await;
    assert_eq!(anew.expect("made anew").1, SessionMemory::Nothing);
}

#[tokio::test]
async fn a_death_is_told_with_the_last_words_and_no_key() {
    let place = TempDir::new().expect("a directory");
    let program = AgentProgram {
        env: BTreeMap::from([("AGENT_KEY".to_owned(), "planted-0123456789".to_owned())]),
        ..program("die")
    };
    let Err(error) = start(&program, &place).await else {
        panic!("it runs")
    };
    assert_eq!(error.kind, AcpErrorKind::Lost);
    assert_eq!(
        error.to_string(),
        "scripted: it ended with exit code 3. It said last:\ncannot go on: the key is ***"
    );
    let error = failure("dies").await;
    assert_eq!(
        error.to_string(),
        "scripted: it ended with exit code 101. It said last:\npanicked: out of luck"
    );
}

#[tokio::test]
async fn what_cannot_be_used_is_told_in_words() {
    assert_eq!(
        failure("future").await.to_string(),
        "scripted: it speaks version 2 of the protocol, not 1; install another version"
    );
    assert_eq!(
        failure("huge").await.to_string(),
        "scripted: it sent a message longer than 16 MB"
    );
    let stranger = failure("stranger").await;
    assert_eq!(stranger.kind, AcpErrorKind::SignIn);
    assert_eq!(
        stranger.to_string(),
        "scripted: nobody is signed in; sign in with its own program (Log in with a browser)"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_is_not_waited_for() {
    assert_eq!(
        failure("hang").await.to_string(),
        "scripted: it did not answer initialize within 30 seconds"
    );
}

#[tokio::test]
async fn an_older_version_is_started_with_its_own_arguments() {
    let place = TempDir::new().expect("a directory");
    let older = AgentProgram {
        args: vec!["--acp".to_owned()],
        older_args: Some(vec!["well".to_owned()]),
        ..program("")
    };
    let mut agent = start(&older, &place).await.expect("it runs");
    agent.new_session(place.path()).await.expect("a session");
    let neither = AgentProgram {
        older_args: Some(vec!["die".to_owned()]),
        ..older
    };
    let error = start(&neither, &place).await.err().expect("it ends");
    assert!(
        error.to_string().contains("Unknown argument: acp"),
        "{error}"
    );
}

fn lives(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::test_kill_process(pid).is_ok()
}

fn wait_until_gone(pid: i32) {
    let since = Instant::now();
    while lives(pid) {
        assert!(since.elapsed() < Duration::from_secs(20), "it lives");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn an_agent_ends_when_it_is_let_go() {
    let place = TempDir::new().expect("a directory");
    let mut agent = start(&program("well"), &place).await.expect("it runs");
    let session = agent.new_session(place.path()).await.expect("a session");
    let pid: i32 = session.id.to_string().parse().expect("a pid");
    assert!(lives(pid));
    drop(agent);
    tokio::task::spawn_blocking(move || wait_until_gone(pid))
        .await
        .expect("gone");
}

#[test]
fn an_agent_ends_when_its_host_is_killed() {
    let place = TempDir::new().expect("a directory");
    let mut host = Command::new(AGENT)
        .arg("host")
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a host");
    let mut said = String::new();
    let output = host.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut said).expect("a line");
    let pid: i32 = said.trim().parse().expect("a pid");
    assert!(lives(pid));
    host.kill().expect("killed");
    host.wait().expect("gone");
    wait_until_gone(pid);
}
