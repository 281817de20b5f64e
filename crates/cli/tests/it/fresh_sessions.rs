//! Sessions in which nothing happened yet: nothing is kept of them, and their ids are still good.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// Comes back to a session in which nothing happened, and speaks.
async fn comes_back(site: &Site, session: &str) -> anyhow::Result<()> {
    let visitor = Visitor::resume(&site.server, session).await?;
    assert_eq!(visitor.session, session);
    assert_eq!(visitor.hello["isResume"], true);
    assert_eq!(visitor.hello["messageCount"], 0);
    Ok(())
}

#[test]
fn a_fresh_session_is_resumed_under_its_id_also_after_a_restart() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let session = Visitor::arrive(&site.server).await?.session;
        comes_back(&site, &session).await?;
        site.server.restart().await?;
        comes_back(&site, &session).await?;
        site.server.kill9().await?;
        site.server.restart().await?;
        let mut visitor = Visitor::resume(&site.server, &session).await?;
        assert_eq!(visitor.list().await?, Vec::<String>::new());
        assert_eq!(visitor.converse("echo queued").await?, "queued");
        assert_eq!(visitor.list().await?, [session]);
        Ok(())
    });
}

#[test]
fn an_id_that_was_deleted_or_is_not_ours_is_a_new_session() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut control = Visitor::arrive(&site.server).await?;
        let mut spent = vec!["01a1e460-b5e2-7415-8932-e8079d47921c".to_owned()];
        for words in [None, Some("echo kept")] {
            let mut visitor = Visitor::arrive(&site.server).await?;
            if let Some(words) = words {
                visitor.converse(words).await?;
            }
            spent.push(visitor.session.clone());
            drop(visitor);
            let target = spent.last().cloned().unwrap_or_default();
            let delete = json!({ "targetSessionId": target });
            control.send("delete_session", delete).await?;
            control.client.until_type("session_deleted").await?;
        }
        for _ in 0..2 {
            for session in &spent {
                let visitor = Visitor::resume(&site.server, session).await?;
                ensure!(visitor.session != *session, "{session} is back");
                assert_eq!(visitor.hello.get("isResume"), None);
            }
            site.server.restart().await?;
        }
        Ok(())
    });
}
