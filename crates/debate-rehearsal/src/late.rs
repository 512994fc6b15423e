//! A model whose answers are made up and late.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use debate_llm::simulated::Draw;
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Debater, ModelError, ModelErrorKind, SimulatedConfig,
    SimulatedModel, TimeoutStage, debater,
};

use crate::latencies::{Latencies, Purpose};

/// Answers as the simulated model does, after a latency that is drawn for each request.
#[derive(Debug)]
pub struct Late {
    name: String,
    mind: SimulatedModel<Debater>,
    latencies: Arc<Latencies>,
    draw: Arc<Mutex<Draw>>,
}

impl Late {
    /// Makes the model that stands for `name`; its answers are made up from `seed`.
    pub fn new(
        name: impl Into<String>,
        seed: u64,
        latencies: Arc<Latencies>,
        draw: Arc<Mutex<Draw>>,
    ) -> Self {
        let config = SimulatedConfig { seed, ..SimulatedConfig::default() };
        Self { name: name.into(), mind: debater(config), latencies, draw }
    }
}

#[async_trait]
impl ChatModel for Late {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let latency = {
            let mut draw = self.draw.lock().unwrap_or_else(PoisonError::into_inner);
            self.latencies.draw(&self.name, Purpose::of_request(request), &mut draw)
        };
        let limit = request.time.total.unwrap_or(request.time.first_token);
        if latency > limit {
            tokio::time::sleep(limit).await;
            let total = ModelErrorKind::Timeout(TimeoutStage::Total);
            return Err(ModelError::new(total, "the latency that was drawn is longer than a call may take"));
        }
        tokio::time::sleep(latency).await;
        let reply = self.mind.complete(request, chunks).await?;
        Ok(ChatReply { latency, ..reply })
    }
}
