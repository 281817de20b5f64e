//! Two tenants at work at the same time, in every dialect: each hears its own word and never the other's.
//!
//! `DRAGOMAN_TENANTS_SECONDS=60` makes it long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::tongue::{Deed, LANGUAGES, Language, Signal};

use super::{TENANTS, TwoTenants};
use crate::tell;

const SLACK: Duration = Duration::from_secs(60);

fn seconds() -> Duration {
    let wanted = std::env::var("DRAGOMAN_TENANTS_SECONDS").ok();
    Duration::from_secs(wanted.and_then(|text| text.parse().ok()).unwrap_or(2))
}

#[test]
fn every_frame_belongs_to_the_tenant_that_hears_it() {
    let time = seconds();
    tell(time + SLACK, async move {
        let site = Arc::new(TwoTenants::open().await?);
        let end = Instant::now() + time;
        let mut playing = tokio::task::JoinSet::new();
        for tenant in 0..TENANTS.len() {
            for language in LANGUAGES {
                playing.spawn(play(Arc::clone(&site), tenant, language, end));
            }
        }
        let (mut frames, mut turns) = (0, 0);
        while let Some(played) = playing.join_next().await {
            let (heard, done) = played??;
            frames += heard;
            turns += done;
        }
        println!("{frames} frames of {turns} turns in {time:?}, none of another tenant");
        ensure!(turns >= 2 * LANGUAGES.len(), "only {turns} turns");
        Ok(())
    });
}

/// New threads, turns and lists until the end; how many frames and turns there were.
async fn play(
    site: Arc<TwoTenants>,
    tenant: usize,
    language: &'static Language,
    end: Instant,
) -> anyhow::Result<(usize, usize)> {
    let (mut frames, mut turns) = (0, 0);
    let word = TENANTS[tenant];
    while turns == 0 || Instant::now() < end {
        let mut guest = site.client(tenant, language, None).await?;
        let arriving = guest.until(Signal::Connected).await;
        arriving.with_context(|| language.name)?;
        // Its thread has a name that comes again, and so would the ids of turns.
        let rounds = if language.name == "pioneer" {
            usize::MAX
        } else {
            4
        };
        for number in 0..rounds {
            let said = guest.converse(&format!("echo {word} {number}")).await;
            said.with_context(|| language.name)?;
            turns += 1;
            if let Some(list) = guest.tongue.say(&Deed::List)? {
                guest.client.send(list).await?;
            }
            if Instant::now() >= end {
                break;
            }
        }
        let heard = guest.client.heard();
        ensure!(
            heard.iter().any(|frame| frame.contains(word)),
            "{} hears nothing of its own in {}",
            word,
            language.name
        );
        frames += heard.len();
        guest.client.close().await?;
    }
    Ok((frames, turns))
}
