//! Waiting for a roundtable while its client receives progress notifications.

use std::time::Duration;

use debate_core::debate::{Debate, Lifecycle};
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Seq;
use debate_engine::Watched;
use debate_grpc::TenantSession;
use debate_grpc::refusal::Refusal;
use futures::StreamExt as _;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A client that waits. It may want progress notifications, and it may stop waiting.
pub(crate) struct Follower {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    gone: CancellationToken,
}

impl Follower {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            gone: context.ct.clone(),
        }
    }

    /// Sends progress to the client if it asked for progress. If sending fails, the wait goes on all the same.
    async fn tell(&self, done: usize, expected: usize, message: String) {
        let Some(token) = self.token.clone() else { return };
        let progress = ProgressNotificationParam::new(token, done as f64)
            .with_total(expected.max(done) as f64)
            .with_message(message);
        if let Err(error) = self.peer.notify_progress(progress).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "progress could not be sent to a client"
            );
        }
    }
}

/// Returns once a roundtable has concluded or is paused, its client is gone or `patience` is at its end, or the server
/// ends.
pub(crate) async fn follow(
    session: &TenantSession,
    debate: &Debate<Roundtable>,
    patience: Duration,
    follower: Follower,
) -> Result<(), Refusal> {
    if debate.lifecycle() != Lifecycle::Running || patience.is_zero() {
        return Ok(());
    }
    let mut done = debate.state().responses(debate.config()).count();
    let rounds = debate.state().rounds_max();
    let expected = rounds as usize * debate.config().agents.len();
    let mut watched = session.watch(&debate.id().to_string(), debate.head(), false).await?;
    let patience = tokio::time::sleep(patience);
    tokio::pin!(patience);
    loop {
        let next = tokio::select! {
            next = watched.next() => next,
            () = follower.gone.cancelled() => return Ok(()),
            () = &mut patience => return Ok(()),
            () = session.closed() => return Ok(()),
        };
        match next {
            None => return Ok(()),
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(Watched::Event(event))) => match event.kind.as_str() {
                "paused" => return Ok(()),
                "response_given" => {
                    done += 1;
                    follower.tell(done, expected, message(&event.body, rounds, event.seq)).await;
                }
                _ => {}
            },
            Some(Ok(Watched::Chunk(_) | Watched::Heartbeat(_))) => {}
        }
    }
}

/// Says who spoke, never what.
fn message(body: &str, rounds: u32, seq: Seq) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let agent = body["agent"].as_str().unwrap_or_default();
    format!("round {} of {rounds}: {agent} has responded (event {seq})", body["round"])
}
