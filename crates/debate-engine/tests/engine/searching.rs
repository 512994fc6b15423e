//! The provider's own web search is offered in the phases that a deliberation names, and in no other (rule D9).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use debate_core::codec::Author;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::deliberation::Deliberation;
use debate_core::id::Digest;
use debate_engine::{Engine, Start};
use debate_llm::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ToolCall};
use debate_prompts::deliberation::DeliberationPrompts;
use serde_json::{Value, json};

use crate::bench_of_one::{PATIENCE, log, memory, model, paused_clock};

/// Passes requests on and remembers which of them may search.
struct Noting {
    model: Arc<dyn ChatModel>,
    searches: Mutex<BTreeSet<[u8; 32]>>,
}

#[async_trait]
impl ChatModel for Noting {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        if request.web_search {
            self.searches.lock().unwrap().insert(request.prompt_digest());
        }
        let mut reply = self.model.complete(request, chunks).await?;
        if request.web_search {
            let searched = ToolCall { by_provider: true, ..ToolCall::new("1", "web_search", "{}") };
            reply.tool_calls.push(searched);
        }
        Ok(reply)
    }
}

#[tokio::test(start_paused = true)]
async fn d9_a_web_search_is_offered_in_the_phases_named_and_in_no_other() {
    let request = json!({
        "format": "deliberation",
        "topic": "Should we move to an event-sourced ledger?",
        "participants": [{"name": "architect"}, {"name": "security"}],
        "orchestrator": {"name": "moderator"},
        "useNativeWebSearch": true,
        "toolPhases": ["rebuttal"],
    });
    let AcceptedRequest::Deliberation(accepted) = accept::accept(&request.to_string()).unwrap() else {
        panic!("a deliberation")
    };
    let noting = Arc::new(Noting { model: model("seed=7"), searches: Mutex::default() });
    let engine = Engine::builder(memory(), Arc::clone(&noting))
        .format(DeliberationPrompts)
        .surroundings(paused_clock())
        .build();
    let start = Start::<Deliberation> {
        config: accepted.config,
        brief: accepted.brief,
        limits: accepted.limits,
        request_digest: accepted.digest,
        request_id: None,
        author: Author { tenant: String::new(), actor: "test".to_owned(), trace: None },
    };
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let searched = noting.searches.lock().unwrap().clone();
    let mut phases = BTreeSet::new();
    let log = log(&engine, debate).await;
    let noted = log.iter().filter(|envelope| envelope.body.contains("\"provider_tool_runs\":1"));
    assert_eq!(noted.count(), 2, "each search is in the log");
    for envelope in log.iter().filter(|envelope| envelope.kind == "call_started") {
        let body: Value = serde_json::from_str(&envelope.body).unwrap();
        let digest: Digest = serde_json::from_value(body["prompt"]["digest"].clone()).unwrap();
        if searched.contains(&digest.0) {
            let call = body["call"].as_str().unwrap();
            phases.insert(call.split('/').take(2).collect::<Vec<_>>().join("/"));
        }
    }
    assert_eq!(searched.len(), 2, "each participant's rebuttal");
    assert_eq!(phases.len(), 1, "{phases:?}");
}
