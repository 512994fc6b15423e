//! Where the calls of one provider wait for their turn.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::bucket::Bucket;
use super::limits::ProviderLimits;
use crate::fair_semaphore::{self, FairSemaphore};
use crate::telemetry::{self, Limit};
use crate::{ModelError, ModelErrorKind, Provider, TimeoutStage};

/// The limits of one provider, shared by all of its models.
///
/// Tenants are served in a ring, and each one's own calls in the order in which they are asked for: a call that needs
/// much is not overtaken by those that need little.
#[derive(Debug)]
pub struct Gate {
    provider: Provider,
    limits: ProviderLimits,
    places: Option<FairSemaphore>,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    /// Held by the one whose turn is next while it waits for the minute's limits.
    next: FairSemaphore,
}

impl Gate {
    /// Makes the gate of `provider`, with all its limits unused.
    #[must_use]
    pub fn new(provider: Provider, limits: ProviderLimits) -> Self {
        Self {
            provider,
            limits,
            places: limits.concurrency.map(|places| FairSemaphore::new(places.get() as usize)),
            requests: limits.requests_per_minute.map(Bucket::new),
            tokens: limits.tokens_per_minute.map(Bucket::new),
            next: FairSemaphore::new(1),
        }
    }

    /// Returns whose gate it is.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &ProviderLimits {
        &self.limits
    }

    /// Returns whether tokens are limited, so that they need to be counted.
    pub(super) fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Waits for the turn of a tenant's call that can use up to `tokens`, but not past `deadline`.
    ///
    /// What a call wants beyond a whole minute's tokens is not waited for; it is owed once it was used.
    ///
    /// # Errors
    /// `Timeout` of the stage `Turn`, at once where it is known that the wait would be too long.
    pub(super) async fn turn(
        &self,
        tenant: &str,
        tokens: u64,
        deadline: Instant,
    ) -> Result<Turn<'_>, ModelError> {
        let mut turn = Turn { gate: self, place: None, requests: 0, tokens: 0, is_sent: false };
        if let Some(places) = &self.places {
            turn.place = Some(self.wait(places, tenant, Limit::Concurrency, deadline).await?);
        }
        if self.requests.is_none() && self.tokens.is_none() {
            return Ok(turn);
        }
        let began = Instant::now();
        let _next = self.wait(&self.next, tenant, Limit::Queue, deadline).await?;
        if let Some(requests) = &self.requests {
            self.take(requests, 1, Limit::Requests, began, deadline).await?;
            turn.requests = 1;
        }
        if let Some(bucket) = &self.tokens {
            let tokens = bucket.at_most(tokens);
            self.take(bucket, tokens, Limit::Tokens, began, deadline).await?;
            turn.tokens = tokens;
        }
        Ok(turn)
    }

    async fn wait(
        &self,
        turns: &FairSemaphore,
        tenant: &str,
        limit: Limit,
        deadline: Instant,
    ) -> Result<fair_semaphore::Turn, ModelError> {
        if let Some(turn) = turns.try_take() {
            return Ok(turn);
        }
        let began = Instant::now();
        let turn = timeout_at(deadline, turns.take(tenant)).await;
        telemetry::waited(self.provider, limit, began.elapsed());
        turn.map_err(|_| self.no_turn(limit))
    }

    async fn take(
        &self,
        bucket: &Bucket,
        cells: u32,
        limit: Limit,
        began: Instant,
        deadline: Instant,
    ) -> Result<(), ModelError> {
        let mut has_waited = false;
        loop {
            let Err(wait) = bucket.take(cells) else {
                if has_waited {
                    telemetry::waited(self.provider, limit, began.elapsed());
                }
                return Ok(());
            };
            // Waiting to the end would only turn a clear error into a late one.
            if wait >= deadline.saturating_duration_since(Instant::now()) {
                return Err(self.no_turn(limit));
            }
            has_waited = true;
            // Not a nanosecond too early for a clock of milliseconds.
            sleep(wait.max(Duration::from_millis(1))).await;
        }
    }

    fn no_turn(&self, limit: Limit) -> ModelError {
        let (provider, limit) = (self.provider, limit.name());
        let message = format!("no turn in time: {provider} is at its limit ({limit})");
        ModelError::unsent(ModelErrorKind::Timeout(TimeoutStage::Turn), &message)
    }
}

/// The right to send one call; dropped before it was sent, it gives back what was taken for it.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    gate: &'a Gate,
    place: Option<fair_semaphore::Turn>,
    requests: u32,
    tokens: u32,
    is_sent: bool,
}

impl Turn<'_> {
    /// Says that the call is sent: from now on what was taken stays taken, unless it is settled.
    pub(super) fn send(&mut self) {
        self.is_sent = true;
    }

    /// Puts right what was taken: `requests` were sent, and `tokens` used where that is known.
    pub(super) fn settle(self, requests: u64, tokens: Option<u64>) {
        if let Some(bucket) = &self.gate.requests {
            bucket.settle(self.requests, requests);
        }
        if let (Some(bucket), Some(tokens)) = (&self.gate.tokens, tokens) {
            bucket.settle(self.tokens, tokens);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.is_sent {
            return;
        }
        for (bucket, taken) in [(&self.gate.requests, self.requests), (&self.gate.tokens, self.tokens)] {
            if let (Some(bucket), 1..) = (bucket, taken) {
                bucket.settle(taken, 0);
            }
        }
        self.place.take();
    }
}
