//! Tries a server out: connects, counts its tools, and says how it stands.

use tokio::time::Instant;
use vocabulary::{McpAuth, McpAuthMode, McpCheck};

use crate::connection::{ConnectFailure, McpConnection};
use crate::limits::CHECK_MAX;
use crate::pool::ConnectionPool;
use crate::{ConfiguredServer, McpPlace};

pub(crate) async fn check(
    pool: &ConnectionPool,
    place: &McpPlace,
    server: &ConfiguredServer,
) -> McpCheck {
    let begun = Instant::now();
    let tools = count_tools(pool, place, server).await;
    let latency = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let wants_sign_in = matches!(&tools, Err(failure) if failure.wants_sign_in);
    let mode = match wants_sign_in {
        true => McpAuthMode::Missing,
        false => mode(pool, place, server).await,
    };
    match tools {
        Ok(count) => McpCheck {
            ok: true,
            mode,
            message: format!("Connected; it has {count} tools."),
            tool_count: Some(u32::try_from(count).unwrap_or(u32::MAX)),
            latency_ms: Some(latency),
        },
        Err(failure) => McpCheck {
            ok: false,
            mode,
            message: failure.message,
            tool_count: None,
            latency_ms: Some(latency),
        },
    }
}

async fn count_tools(
    pool: &ConnectionPool,
    place: &McpPlace,
    server: &ConfiguredServer,
) -> Result<usize, ConnectFailure> {
    let used = pool.used(place, &server.server.name);
    let used = used.filter(|slot| slot.server() == server);
    if let Some(connection) = used.and_then(|slot| slot.ready())
        && connection.answers().await
    {
        let lists = connection.lists();
        return Ok(lists.tools.len() + lists.tools_beyond);
    }
    let order = pool.parts().order(place, server).await;
    let connection = McpConnection::connect(&order, CHECK_MAX).await?;
    let lists = connection.lists();
    connection.close().await;
    Ok(lists.tools.len() + lists.tools_beyond)
}

async fn mode(pool: &ConnectionPool, place: &McpPlace, server: &ConfiguredServer) -> McpAuthMode {
    let there = match &server.server.auth {
        None | Some(McpAuth::None) => return McpAuthMode::None,
        Some(McpAuth::ApiKey { .. }) => McpAuthMode::ApiKey,
        Some(McpAuth::OAuth { .. }) => McpAuthMode::OAuth,
    };
    match pool.parts().authorizer.credential(place, server).await {
        Some(_) => there,
        None => McpAuthMode::Missing,
    }
}
