//! A model that keeps books: every question that reaches it must be in the log. It answers late and sometimes never
//! accepts a question; what it says follows from the question alone.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use debate_core::id::Digest;
use debate_core::prices::Price;
use debate_llm::simulated::{Draw, Mind};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ModelErrorKind, SimulatedConfig,
    SimulatedModel, Usage,
};

use crate::stage::Stage;
use crate::writer::Writer;

/// What a world's model costs.
pub const PRICE: Price = Price { input: 100_000, cached_input: 50_000, output: 1_000_000 };

/// How a world's model behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    /// What the answers follow from, and how often what goes wrong.
    pub simulated: SimulatedConfig,
    /// The middle of the time that an answer takes, in milliseconds.
    pub latency_ms: u64,
    /// The times depend on this and the question: a different number gives a different order of answers.
    pub order: u64,
    /// How often a question is one that the provider never accepts.
    pub denied: f64,
    /// How often the provider does not say what an answer cost.
    pub usage_unknown: f64,
}

/// The model as one engine in one life sees it.
#[derive(Debug)]
pub struct FaultyModel<M> {
    inner: SimulatedModel<M>,
    plan: ModelPlan,
    stage: Arc<Stage>,
    writer: Writer,
}

impl<M: Mind> FaultyModel<M> {
    /// Puts books and delays before a simulated model.
    pub fn new(plan: ModelPlan, mind: M, stage: Arc<Stage>, writer: Writer) -> Self {
        Self { inner: SimulatedModel::new(plan.simulated.clone(), mind), plan, stage, writer }
    }

    fn latency(&self, digest: &Digest, attempt: u32) -> Duration {
        let mut draw = Draw::new(digest.as_seed() ^ self.plan.order ^ u64::from(attempt).rotate_left(32));
        let ms = self.plan.latency_ms as f64 * draw.between(0.2, 3.0);
        Duration::from_millis(ms as u64)
    }
}

#[async_trait]
impl<M: Mind> ChatModel for FaultyModel<M> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        self.stage.alive().await;
        let digest = Digest(request.prompt_digest());
        self.stage.ledger().asked(self.writer, digest);
        let latency = self.latency(&digest, request.attempt);
        tokio::time::sleep(latency).await;
        self.stage.alive().await;
        let mut draw = Draw::new(digest.as_seed() ^ self.plan.simulated.seed);
        if draw.chance(self.plan.denied) {
            return Err(ModelError::new(ModelErrorKind::BadRequest, "simulated"));
        }
        let mut reply = self.inner.complete(request, chunks).await?;
        if draw.chance(self.plan.usage_unknown) {
            reply.usage = Usage::default();
        }
        Ok(ChatReply { latency, ..reply })
    }
}
