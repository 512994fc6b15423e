//! The provider's own web search is offered in the phases that a deliberation names, and in no other (rule D9); what it
//! brings at a roundtable is evidence.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::format::Format as _;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::any::AnyDebate;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::roundtable::{Roundtable, markdown};
use debate_core::id::Digest;
use debate_core::prose::Texts;
use debate_engine::{Engine, Start};
use debate_llm::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ToolCall, WebSource};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
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
            reply.web_sources.push(WebSource {
                url: "https://lanes.test/<9>".to_owned(),
                title: Some("Lanes\n# and buses".to_owned()),
                cited_text: Some("Taxis were slower.".to_owned()),
            });
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
        .env(paused_clock())
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

#[tokio::test(start_paused = true)]
async fn d9_pages_that_a_provider_searched_for_are_evidence_until_their_words_are_deleted() {
    let request = json!({
        "format": "roundtable",
        "topic": "Should taxis use bus lanes?",
        "agents": ["ada", "bo"],
        "rounds": 1,
        "nativeWebSearch": true,
    });
    let AcceptedRequest::Roundtable(accepted) = accept::accept(&request.to_string()).unwrap() else {
        panic!("a roundtable")
    };
    let noting = Arc::new(Noting { model: model("seed=7"), searches: Mutex::default() });
    let engine = Engine::builder(memory(), noting).format(RoundtablePrompts).env(paused_clock()).build();
    let start = Start::<Roundtable> {
        config: accepted.config,
        brief: accepted.brief,
        limits: accepted.limits,
        request_digest: accepted.digest,
        request_id: None,
        author: Author { tenant: String::new(), actor: "test".to_owned(), trace: None },
    };
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let mut log = log(&engine, debate).await;
    let counted = log.iter().filter(|envelope| envelope.body.contains("\"web_sources\":1"));
    assert_eq!(counted.count(), 2, "the facts say how many there are");
    let outcome = |log: &[Envelope], texts| {
        let AnyDebate::Roundtable(debate) = AnyDebate::replay(log).unwrap() else { panic!("a roundtable") };
        Roundtable::outcome(&debate, texts)
    };
    let shown = outcome(&log, Texts::Shown);
    let found: Vec<_> =
        shown.evidence.web_sources.iter().map(|found| (found.agent.as_str(), &*found.page.url)).collect();
    assert_eq!(found, [("ada", "https://lanes.test/<9>"), ("bo", "https://lanes.test/<9>")]);
    let document = markdown::document(&shown);
    let line = "- Lanes #\u{200b} and buses: https:\u{200b}//lanes.test/&lt;9&gt; (ada, round 1)\n\n> Taxis were slower.\n";
    assert!(document.contains(line), "{document}");
    assert_eq!(outcome(&log, Texts::Withheld).evidence.web_sources, []);
    // The outcome is the same without the prose.
    let digest = |log: &[Envelope]| serde_json::to_string(&outcome(log, Texts::Withheld)).unwrap();
    let before = digest(&log);
    for envelope in &mut log {
        if envelope.kind == "call_answered" {
            envelope.prose = None;
        }
    }
    assert_eq!((outcome(&log, Texts::Shown).evidence.web_sources, digest(&log)), (vec![], before));
    assert!(engine.verify(debate).await.unwrap().fault.is_none());
}
