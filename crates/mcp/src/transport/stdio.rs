//! A server that is a child process: a message is a line of its standard input or output.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::ServerNotification;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::BufReader;
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;
use tools::sandbox::spoken::{self, ErrorTail, OutputLine, OutputLines, environment};
use tools::sandbox::{Fenced, PipedProgram, ProgramInput};
use tools::{OutsideAccess, Scope};
use vocabulary::McpTransport;

use super::EndReason;
use crate::limits::{MESSAGE_BYTES_MAX, UNREAD_MAX, WRITE_MAX};
use crate::{ConfiguredServer, Fence, McpPlace};

pub(crate) struct StdioTransport {
    output: OutputLines<BufReader<ChildStdout>>,
    /// Taken when the connection is closed.
    input: Arc<tokio::sync::Mutex<Option<ProgramInput>>>,
    unread: Arc<AtomicUsize>,
    /// It cannot be written to any more.
    is_deaf: Arc<AtomicBool>,
    program: Option<PipedProgram>,
    reading_errors: Option<JoinHandle<()>>,
    end: EndReason,
}

impl StdioTransport {
    /// Starts the server's process.
    pub async fn start(
        place: &McpPlace,
        server: &ConfiguredServer,
        fence: Option<&Fence>,
        end: EndReason,
        errors: ErrorTail,
    ) -> Result<Self, String> {
        let McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        } = &server.server.transport
        else {
            return Err("it is not a program".to_owned());
        };
        let directory = match cwd {
            Some(cwd) => place.directory.join(cwd),
            None => place.directory.clone(),
        };
        if !directory.is_dir() {
            let shown = directory.display();
            return Err(format!("its directory {shown} is not there; correct `cwd`"));
        }
        let command = program(&place.directory, command);
        let words: Vec<&OsStr> = std::iter::once(command.as_os_str())
            .chain(args.iter().map(OsStr::new))
            .collect();
        let fenced = fenced(place, server, fence, &directory, &words)?;
        let (program, pipes) = PipedProgram::spawn(fenced, &directory, &environment(&[], env))
            .map_err(|error| format!("cannot start `{}`: {error}", command.to_string_lossy()))?;
        let mut output = pipes.output;
        let reading_errors = errors.follow(pipes.errors);
        if !program.stands(&mut output).await {
            return Err("the sandbox could not be set up for it".to_owned());
        }
        Ok(Self {
            output: OutputLines::new(BufReader::new(output), MESSAGE_BYTES_MAX),
            input: Arc::new(tokio::sync::Mutex::new(Some(pipes.input))),
            unread: Arc::default(),
            is_deaf: Arc::default(),
            program: Some(program),
            reading_errors: Some(reading_errors),
            end,
        })
    }

    /// A whole line. Safe to be left and called again.
    async fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.output.next().await? {
            OutputLine::Whole(line) => Ok(Some(line)),
            OutputLine::End => Ok(None),
            OutputLine::TooLong => {
                let megabytes = MESSAGE_BYTES_MAX / 1024 / 1024;
                self.end
                    .set(format!("it sent a message longer than {megabytes} MB"));
                Ok(None)
            }
        }
    }

    /// Finds out how the server ended, and what it said last.
    async fn say_how_it_ended(&mut self) {
        let reading = self.reading_errors.take();
        if let Some(how) = spoken::ending(self.program.as_mut(), reading).await {
            self.end.set(how);
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (input, unread) = (Arc::clone(&self.input), Arc::clone(&self.unread));
        let is_deaf = Arc::clone(&self.is_deaf);
        let end = self.end.clone();
        unread.fetch_add(1, Ordering::Relaxed);
        async move {
            let write = async {
                let mut line = serde_json::to_vec(&item)?;
                line.push(b'\n');
                match &mut *input.lock().await {
                    Some(input) => input.write(&line).await,
                    None => Err(io::ErrorKind::NotConnected.into()),
                }
            };
            let written = tokio::time::timeout(WRITE_MAX, write).await;
            unread.fetch_sub(1, Ordering::Relaxed);
            match written {
                // Why that is, who reads finds out.
                Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    is_deaf.store(true, Ordering::Relaxed);
                    Ok(())
                }
                Ok(written) => written,
                // Half a line may have been written: nothing after it would be understood.
                Err(_) => {
                    end.set("it does not read what it is sent");
                    Err(io::ErrorKind::TimedOut.into())
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.unread.load(Ordering::Relaxed) > UNREAD_MAX {
                self.end.set("it does not read what it is sent");
            }
            if self.is_deaf.load(Ordering::Relaxed) {
                self.say_how_it_ended().await;
                self.end.set("it does not read any more");
            }
            if self.end.get().is_some() {
                return None;
            }
            let Ok(Some(line)) = self.read_line().await else {
                self.say_how_it_ended().await;
                return None;
            };
            // What is no message is passed over: many servers print there by mistake.
            if let Ok(message) = serde_json::from_slice(line.trim_ascii())
                && !is_log(&message)
            {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        let input = self.input.lock().await.take();
        if let (Some(program), Some(input)) = (self.program.take(), input) {
            program.stop(input).await;
        }
        Ok(())
    }
}

/// Log lines are for nobody here; there may be many.
pub(super) fn is_log(message: &RxJsonRpcMessage<RoleClient>) -> bool {
    match message {
        RxJsonRpcMessage::<RoleClient>::Notification(sent) => matches!(
            sent.notification,
            ServerNotification::LoggingMessageNotification(_)
        ),
        _ => false,
    }
}

/// A name is looked for in PATH, a path begins in the workspace.
fn program(workspace: &Path, command: &str) -> OsString {
    match command.contains('/') {
        true => workspace.join(command).into_os_string(),
        false => command.into(),
    }
}

/// A server of the workspace runs behind the fence; others are the user's own programs.
fn fenced(
    place: &McpPlace,
    server: &ConfiguredServer,
    fence: Option<&Fence>,
    directory: &Path,
    words: &[&OsStr],
) -> Result<Fenced, String> {
    let Some(fence) = fence else {
        return tools::Sandbox::nothing().open(words);
    };
    let sandbox = (*fence.sandbox).clone().with_input(true);
    let is_confined = fence.own_places.is_some();
    if !is_confined && (!fence.holds || !server.layer.is_of_workspace()) {
        return sandbox.open(words);
    }
    let started_in = (directory != place.directory).then(|| directory.to_owned());
    sandbox
        .with_directory(started_in)
        .fence(&scope(&place.directory, fence), words)
}

fn scope(directory: &Path, fence: &Fence) -> Scope {
    Scope {
        directory: directory.to_owned(),
        extra: Vec::new(),
        private: fence.private.clone(),
        spill: None,
        skills: Vec::new(),
        trusted: false,
        read_only: false,
        outside: OutsideAccess {
            home: std::env::home_dir().filter(|_| fence.own_places.is_none()),
            asked: None,
            own_places: fence.own_places.clone(),
            held: fence.own_places.is_some(),
            no_more: false,
        },
    }
}
