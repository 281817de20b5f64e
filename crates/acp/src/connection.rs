//! One agent that runs: its lines in and out, and what it said it can do.

use std::io;
use std::path::Path;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, ClientCapabilities, FileSystemCapabilities, Implementation,
    InitializeRequest, InitializeResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tools::Sandbox;
use tools::sandbox::spoken::{self, OutputLine, OutputLines};

use crate::incoming::{self, AUTH_REQUIRED, AgentLine};
use crate::limits::{HANDSHAKE_MAX, MESSAGE_BYTES_MAX, SESSION_MAX, UNREAD_MAX, WRITE_MAX};
use crate::program::{AgentInput, AgentProcess};
use crate::{
    AcpError, AcpErrorKind, AgentMessage, AgentProgram, AgentReply, AgentRpcError, AgentStreams,
    RpcId,
};

/// An agent that runs and has said what it can do. Its process ends when this is dropped, politely
/// first.
pub struct AgentConnection {
    program: AgentProgram,
    output: OutputLines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    /// Nothing once it was closed.
    to_writer: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<AgentInput>>,
    process: Option<AgentProcess>,
    next_id: u64,
    can: AgentCapabilities,
    /// The names of its ways to sign in.
    sign_ins: Vec<String>,
}

impl AgentConnection {
    /// Starts the program and shakes hands with it. One that does not know the arguments of today is
    /// tried with those of yesterday.
    pub async fn start(
        program: &AgentProgram,
        directory: &Path,
        sandbox: &Sandbox,
    ) -> Result<Self, AcpError> {
        let streams = program.start(&program.args, directory, sandbox).await?;
        match (Self::over(program, streams).await, &program.older_args) {
            (Err(error), Some(older)) if error.kind == AcpErrorKind::Lost => {
                let streams = program.start(older, directory, sandbox).await?;
                let second = Self::over(program, streams).await;
                second.map_err(|_| error)
            }
            (outcome, _) => outcome,
        }
    }

    /// Shakes hands with an agent that was started elsewhere.
    pub async fn over(program: &AgentProgram, streams: AgentStreams) -> Result<Self, AcpError> {
        let (to_writer, lines) = mpsc::channel(UNREAD_MAX);
        let output = BufReader::new(streams.output);
        let mut connection = Self {
            program: program.clone(),
            output: OutputLines::new(output, MESSAGE_BYTES_MAX),
            to_writer: Some(to_writer),
            writer: Some(tokio::spawn(write_lines(streams.input, lines))),
            process: streams.process,
            next_id: 0,
            can: AgentCapabilities::default(),
            sign_ins: Vec::new(),
        };
        connection.initialize().await?;
        Ok(connection)
    }

    async fn initialize(&mut self) -> Result<(), AcpError> {
        let files = FileSystemCapabilities::new()
            .read_text_file(true)
            .write_text_file(true);
        // No terminals: its commands are its own, and so is what holds them.
        let can = ClientCapabilities::new().fs(files).terminal(false);
        let own = Implementation::new("dragoman", env!("CARGO_PKG_VERSION"));
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(can)
            .client_info(own);
        let answer: InitializeResponse = self.ask("initialize", &request, HANDSHAKE_MAX).await?;
        if answer.protocol_version != ProtocolVersion::V1 {
            let spoken = answer.protocol_version;
            return Err(self.error(
                AcpErrorKind::Lost,
                &format!(
                    "it speaks version {spoken} of the protocol, not 1; install another version"
                ),
            ));
        }
        self.can = answer.agent_capabilities;
        self.sign_ins = answer
            .auth_methods
            .iter()
            .map(|method| method.name().to_owned())
            .collect();
        Ok(())
    }

    pub fn can(&self) -> &AgentCapabilities {
        &self.can
    }

    /// What the agent says next. Safe to be left and called again.
    pub async fn next(&mut self) -> Result<AgentMessage, AcpError> {
        loop {
            let line = match self.next_line().await {
                Ok(OutputLine::Whole(line)) => line,
                Ok(OutputLine::End) => return Err(self.ended("it closed its output").await),
                Ok(OutputLine::TooLong) => {
                    let megabytes = MESSAGE_BYTES_MAX / 1024 / 1024;
                    let why = format!("it sent a message longer than {megabytes} MB");
                    return Err(self.error(AcpErrorKind::Lost, &why));
                }
                Err(error) => return Err(self.ended(&error.to_string()).await),
            };
            match incoming::read(&line) {
                AgentLine::Message(heard) => return Ok(heard),
                AgentLine::Refused { id, error } => self.reply(id, AgentReply::Refused(error))?,
                AgentLine::Nothing => {}
            }
        }
    }

    /// Who does not read any more ends soon, or never: then it is not waited for.
    async fn next_line(&mut self) -> io::Result<OutputLine> {
        const END_GRACE: Duration = Duration::from_secs(1);
        let Some(writer) = &self.to_writer else {
            return self.output.next().await;
        };
        tokio::select! {
            biased;
            line = self.output.next() => return line,
            () = writer.closed() => {}
        }
        match tokio::time::timeout(END_GRACE, self.output.next()).await {
            Ok(line) => line,
            Err(_) => Err(io::Error::other("it does not read what it is sent")),
        }
    }

    /// Answers a request of the agent's.
    pub fn reply(&self, id: RpcId, reply: AgentReply) -> Result<(), AcpError> {
        self.send(reply.line(id))
    }

    /// Tells the agent something that it does not answer.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), AcpError> {
        let params = self.written(params)?;
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(incoming::line(&message))
    }

    /// Sends a request; its answer has this number.
    pub fn request(&mut self, method: &str, params: &impl Serialize) -> Result<u64, AcpError> {
        let params = self.written(params)?;
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(incoming::line(&message))?;
        Ok(id)
    }

    /// Asks, and waits for the answer: what is told meanwhile is passed over.
    pub(crate) async fn ask_raw(
        &mut self,
        method: &str,
        params: &impl Serialize,
        time_max: Duration,
    ) -> Result<Value, AcpError> {
        let wanted = self.request(method, params)?;
        let answer = tokio::time::timeout(time_max, async {
            loop {
                match self.next().await? {
                    AgentMessage::Response { id, result } if id == wanted => return Ok(result),
                    AgentMessage::Request { id, .. } => {
                        let error = AgentRpcError::refused("nothing is asked for at this moment");
                        self.reply(id, AgentReply::Refused(error))?;
                    }
                    AgentMessage::Response { .. } | AgentMessage::Update(_) => {}
                }
            }
        });
        match answer.await {
            Ok(answer) => answer?.map_err(|error| self.refused(method, &error)),
            Err(_) => {
                let seconds = time_max.as_secs();
                let why = format!("it did not answer {method} within {seconds} seconds");
                Err(self.error(AcpErrorKind::Lost, &why))
            }
        }
    }

    pub(crate) async fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        time_max: Duration,
    ) -> Result<T, AcpError> {
        let value = self.ask_raw(method, params, time_max).await?;
        self.parsed(method, value)
    }

    pub(crate) async fn ask_session(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, AcpError> {
        self.ask_raw(method, params, SESSION_MAX).await
    }

    pub fn parsed<T: DeserializeOwned>(&self, method: &str, value: Value) -> Result<T, AcpError> {
        serde_json::from_value(value).map_err(|error| {
            let why = format!("its answer to {method} cannot be understood: {error}");
            self.error(AcpErrorKind::Lost, &why)
        })
    }

    /// In words what the agent refused.
    pub fn refused(&self, method: &str, error: &AgentRpcError) -> AcpError {
        if error.code != AUTH_REQUIRED {
            let words = error.words();
            return self.error(AcpErrorKind::Refused, &format!("{method} failed: {words}"));
        }
        let how = match (self.program.sign_in.as_str(), self.sign_ins.as_slice()) {
            ("", []) => "sign in with its own program".to_owned(),
            ("", ways) => format!("sign in with its own program ({})", ways.join(", ")),
            (how, _) => how.to_owned(),
        };
        self.error(AcpErrorKind::SignIn, &format!("nobody is signed in; {how}"))
    }

    fn error(&self, kind: AcpErrorKind, why: &str) -> AcpError {
        let why = self.program.without_values(why);
        AcpError::new(kind, format!("{}: {why}", self.program.name))
    }

    /// It is gone: how it ended, and what it said last.
    async fn ended(&mut self, otherwise: &str) -> AcpError {
        let Some(process) = &mut self.process else {
            return self.error(AcpErrorKind::Lost, otherwise);
        };
        let reading = process.reading_errors.take();
        let how = spoken::ending(Some(&mut process.program), reading).await;
        let how = how.unwrap_or_else(|| otherwise.to_owned());
        let said = process.errors.text();
        match said.is_empty() {
            true => self.error(AcpErrorKind::Lost, &how),
            false => self.error(AcpErrorKind::Lost, &format!("{how}. It said last:\n{said}")),
        }
    }

    fn written(&self, params: &impl Serialize) -> Result<Value, AcpError> {
        serde_json::to_value(params)
            .map_err(|error| self.error(AcpErrorKind::Refused, &error.to_string()))
    }

    fn send(&self, line: Vec<u8>) -> Result<(), AcpError> {
        let sent = self.to_writer.as_ref().map(|writer| writer.try_send(line));
        match sent {
            // That it is gone is told by who reads, with the reason.
            Some(Ok(()) | Err(mpsc::error::TrySendError::Closed(_))) | None => Ok(()),
            Some(Err(mpsc::error::TrySendError::Full(_))) => {
                Err(self.error(AcpErrorKind::Lost, "it does not read what it is sent"))
            }
        }
    }
}

/// Writes what comes, until nothing more comes or the agent does not read.
async fn write_lines(mut input: AgentInput, mut lines: mpsc::Receiver<Vec<u8>>) -> AgentInput {
    while let Some(line) = lines.recv().await {
        // Half a line may have been written: nothing after it would be understood.
        match tokio::time::timeout(WRITE_MAX, input.write(&line)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => break,
        }
    }
    input
}

/// Ends the program by the end of its input, then politely, then for certain. Without a runtime there is
/// no time for that, and it is killed.
impl Drop for AgentConnection {
    fn drop(&mut self) {
        self.to_writer = None;
        let (Some(process), Some(writer)) = (self.process.take(), self.writer.take()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Ok(AgentInput::Program(input)) = writer.await {
                    process.program.stop(input).await;
                }
            });
        }
    }
}
