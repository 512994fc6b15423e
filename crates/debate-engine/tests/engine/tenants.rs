//! Tenants behind the engine: what one learns of another.

use std::sync::Arc;

use debate_core::id::DebateId;
use debate_engine::LoadError;
use debate_llm::{ChatReply, ScriptedModel};

use crate::bench_of_one::{PATIENCE, engine, memory, model, start};
use crate::moody_store::MoodyStore;

#[tokio::test(start_paused = true)]
async fn foreign_and_unknown_debates_take_the_same_lookups() {
    for (theirs, ours) in [("theirs", "ours"), ("theirs", ""), ("", "ours")] {
        let store = Arc::new(MoodyStore::default());
        let engine = engine(store.clone(), model("seed=7"));
        let mut foreign = Vec::new();
        for _ in 0..2 {
            let mut start = start(None);
            start.author.tenant = theirs.to_owned();
            foreign.push(engine.start(start).await.unwrap().debate);
            assert!(engine.concluded(foreign[foreign.len() - 1], PATIENCE).await.unwrap());
        }
        engine.shut_down().await;
        store.archive(foreign[1]).await;
        engine.reach(foreign[0], theirs).await.unwrap();
        let error = engine.reach(foreign[1], theirs).await.unwrap_err();
        assert!(matches!(error, LoadError::Archived { .. }), "{error}");
        let unknown = DebateId("6f1c2a4e-0000-4000-8000-000000000000".parse().unwrap());
        let mut looked_up = Vec::new();
        for debate in [unknown, foreign[0], foreign[1]] {
            store.looked_up();
            let refused = engine.reach(debate, ours).await;
            assert!(matches!(refused, Err(LoadError::NotFound(id)) if id == debate), "{refused:?}");
            let its = |(stream, what)| (stream == debate.into(), what);
            looked_up.push(store.looked_up().into_iter().map(its).collect::<Vec<_>>());
        }
        assert_eq!(looked_up[1..], [looked_up[0].clone(), looked_up[0].clone()], "{theirs:?} and {ours:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_turn_at_a_provider_in_the_name_of_its_tenant() {
    for tenant in ["", "ours", "theirs"] {
        let script = Arc::new(ScriptedModel::by(|_| ChatReply::new("m", "no answer")));
        let engine = engine(memory(), script.clone());
        let mut start = start(None);
        start.author.tenant = tenant.to_owned();
        let debate = engine.start(start).await.unwrap().debate;
        assert!(engine.concluded(debate, PATIENCE).await.unwrap());
        let asked = script.asked();
        assert!(!asked.is_empty() && asked.iter().all(|request| &*request.tenant == tenant), "{tenant}");
    }
}
