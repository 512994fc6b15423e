//! What past reviews say about reviewers, and proposals for their prompts (rules V7, V8).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use debate_core::codec::Author;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::review::Review;
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::{DebateId, Seq, Timestamp};
use debate_core::policy::insights::Threshold;
use debate_core::policy::proposal_log;
use debate_engine::{Engine, Env, PolicyError, Proposed, ReviewersFolder, Start, Window};
use debate_prompts::review::ReviewPrompts;
use debate_store::{Append, EventStore};
use serde_json::Value;

use crate::bench_of_one::{PATIENCE, log, memory, model, paused_clock};

const DAY_MS: i64 = 86_400_000;

fn engine(store: Arc<dyn EventStore>, env: Env) -> Engine {
    let model = model("seed=7,latency=1s");
    Engine::builder(store, model).format(ReviewPrompts).env(env).build()
}

/// Holds the review of the examples with a seed.
async fn hold(engine: &Engine, seed: u64) -> DebateId {
    let mut request: Value = serde_json::from_str(include_str!("../../../../examples/review.json")).unwrap();
    request["options"]["seed"] = seed.into();
    let AcceptedRequest::Review(accepted) = accept(&request.to_string()).unwrap() else { panic!("a review") };
    let start: Start<Review> = Start {
        config: accepted.config,
        brief: accepted.brief,
        limits: accepted.limits,
        request_digest: accepted.digest,
        request_id: None,
        author: Author { tenant: String::new(), actor: "test".to_owned(), trace: None },
    };
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    debate
}

fn window(days: u32) -> Window {
    Window { days, threshold: Threshold { debates_min: 2, ..Threshold::default() } }
}

fn security() -> ReviewerName {
    "security".parse().unwrap()
}

/// A folder with the file of one reviewer.
fn folder() -> (tempfile::TempDir, ReviewersFolder) {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("security.cjs"), "const SYSTEM_PROMPT = `Look.`;").unwrap();
    let folder = ReviewersFolder::open(root.path()).unwrap();
    (root, folder)
}

fn file(root: &Path) -> String {
    std::fs::read_to_string(root.join("prompts/security.txt")).unwrap()
}

async fn propose(engine: &Engine, folder: &ReviewersFolder) -> Result<Proposed, PolicyError> {
    engine.propose_prompt(folder, &security(), window(30), true, "test").await
}

/// Returns the state of every proposal for the reviewer.
async fn states(engine: &Engine) -> Vec<&'static str> {
    let proposals = engine.proposals(&security()).await.unwrap();
    proposals.proposals().map(proposal_log::Proposal::state).collect()
}

#[tokio::test(start_paused = true)]
async fn v7_debates_of_the_last_days_count_in_whatever_order_they_came_into_the_store() {
    let (store, elsewhere) = (memory(), memory());
    let old = Env::new(|| Timestamp(1_700_000_000_000 - 100 * DAY_MS), || [7; 16]);
    let before = engine(elsewhere, old);
    let now = engine(store.clone(), paused_clock());
    hold(&now, 1).await;
    let imported = log(&before, hold(&before, 2).await).await;
    store.append(Append::new(imported[0].stream, Seq::START, imported)).await.unwrap();
    let debates =
        async |days| now.policy_insights(window(days)).await.unwrap()[&security().role()].facts.debates;
    assert_eq!(
        (debates(30).await, debates(365).await),
        (1, 2),
        "the imported one is the newest in the store"
    );
    hold(&now, 3).await;
    assert_eq!((debates(30).await, debates(365).await), (2, 3), "and stands between two others");
}

#[tokio::test(start_paused = true)]
async fn v7_proposals_asked_for_at_the_same_time_are_made_one_after_the_other() {
    let engine = engine(memory(), paused_clock());
    hold(&engine, 1).await;
    hold(&engine, 2).await;
    let (root, folder) = folder();
    let (first, second) = tokio::join!(propose(&engine, &folder), propose(&engine, &folder));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((first.number, second.number), (1, 2));
    assert_eq!((file(root.path()), states(&engine).await), (second.proposed_prompt, vec!["written"; 2]));
    // Accepting waits for its turn too.
    let security = security();
    let accept = engine.accept_proposal(&security, Some(1), "test");
    let (third, accepted) = tokio::join!(propose(&engine, &folder), accept);
    assert_eq!((third.unwrap().number, accepted.unwrap().is_written), (3, true));
    assert_eq!(states(&engine).await, ["accepted", "written", "written"]);
}

#[tokio::test(start_paused = true)]
async fn v7_of_two_concurrent_proposals_one_is_refused_as_raced() {
    let store = memory();
    let replicas = [engine(store.clone(), paused_clock()), engine(store, paused_clock())];
    hold(&replicas[0], 1).await;
    hold(&replicas[0], 2).await;
    let (root, folder) = folder();
    let (one, other) = tokio::join!(propose(&replicas[0], &folder), propose(&replicas[1], &folder));
    let (made, raced) = if one.is_ok() { (one, other) } else { (other, one) };
    let (made, raced) = (made.unwrap(), raced.unwrap_err());
    assert!(matches!(raced, PolicyError::Raced { .. }), "{raced:?}");
    assert_eq!(file(root.path()), made.proposed_prompt);
    let again = propose(&replicas[1], &folder).await.unwrap();
    assert_eq!((again.number, file(root.path())), (made.number + 1, again.proposed_prompt));
}

#[tokio::test(start_paused = true)]
async fn v7_a_proposal_that_could_not_be_written_says_so_wherever_it_is_met() {
    let engine = engine(memory(), paused_clock());
    hold(&engine, 1).await;
    hold(&engine, 2).await;
    let (root, folder) = folder();
    let in_the_way = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        std::fs::create_dir(root.path().join("prompts/security.txt")).unwrap();
    };
    let (refused, ()) = tokio::join!(propose(&engine, &folder), in_the_way);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, PolicyError::Unwritten { number: 1, .. }), "{refused:?}");
    let proposal = engine.proposal(&security(), None).await.unwrap();
    let shown = proposal.shown();
    assert_eq!((shown.number, shown.state), (1, "unwritten"));
    assert!(shown.proposed_prompt.unwrap().starts_with("Look.") && shown.diff.unwrap().starts_with("--- a/"));
    let accepted = engine.accept_proposal(&security(), None, "test").await.unwrap();
    assert_eq!((accepted.number, Some(accepted.digest), accepted.is_written), (1, shown.digest, false));
}
