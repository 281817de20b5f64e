//! Files that an external agent reads and writes through us: behind the same guard as those of our tools.

use std::sync::Arc;

use acp::schema::{
    ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use acp::{AgentReply, AgentRpcError};
use tools::agent_files;

use crate::turn::{Turn, tooling};

const CUT_OFF: &str = "the file could not be looked at";

pub async fn read(turn: &Turn, request: ReadTextFileRequest) -> AgentReply {
    let scope = tooling::scope(turn);
    let reading = tokio::task::spawn_blocking(move || {
        let path = request.path.to_string_lossy();
        agent_files::read_text(&scope, &path, request.line, request.limit)
    });
    match reading.await {
        Ok(Ok(content)) => AgentReply::ReadFile(ReadTextFileResponse::new(content)),
        Ok(Err(why)) => AgentReply::Refused(AgentRpcError::refused(why)),
        Err(_) => AgentReply::Refused(AgentRpcError::refused(CUT_OFF)),
    }
}

pub async fn write(turn: &Turn, request: WriteTextFileRequest) -> AgentReply {
    let (scope, seen) = (tooling::scope(turn), Arc::clone(&turn.seen));
    let writing = tokio::task::spawn_blocking(move || {
        let path = request.path.to_string_lossy();
        agent_files::write_text(&scope, &seen, &path, &request.content)
    });
    match writing.await {
        Ok(Ok(())) => AgentReply::WriteFile(WriteTextFileResponse::new()),
        Ok(Err(why)) => AgentReply::Refused(AgentRpcError::refused(why)),
        Err(_) => AgentReply::Refused(AgentRpcError::refused(CUT_OFF)),
    }
}
