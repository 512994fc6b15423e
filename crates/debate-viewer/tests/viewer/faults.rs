//! How the page and reports show a log that is not intact.

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use debate_core::chain::hash_of;
use debate_core::event::Concluded;
use debate_core::id::{DebateId, Digest, Seq};
use debate_core::record::Body as _;
use debate_store::{Append, MemoryStore};
use serde_json::{Value, json};

use crate::browser::{drive, report, served, tools};
use crate::door::Door;
use crate::house::{House, prediction};

/// Stores a running debate and appends a conclusion that does not follow from its log, with a valid hash, as
/// anyone with access to the store can. Returns the conclusion's sequence number.
async fn ended_falsely(house: &House) -> (DebateId, Seq) {
    let elsewhere = House::open();
    let debate = elsewhere.held(&prediction()).await;
    let mut log = elsewhere.engine.log(debate, None).await.unwrap();
    let [.., before, last] = &mut log[..] else { panic!("{log:?}") };
    let mut body: Value = serde_json::from_str(&last.body).unwrap();
    assert_eq!(last.kind, Concluded::KIND);
    body["outcome_digest"] = json!(Digest::of_text("another outcome"));
    last.body = body.to_string();
    last.hash = hash_of(&before.hash, last);
    let added = last.seq;
    house.engine.store().append(Append::new(debate.into(), Seq::START, log)).await.unwrap();
    (debate, added)
}

#[tokio::test]
async fn k15_a_report_of_a_log_with_an_event_that_somebody_added_names_it_in_every_form() {
    let house = House::with(Arc::new(MemoryStore::new()));
    let (debate, added) = ended_falsely(&house).await;
    let report = report(&house, debate).await;
    let line = format!("- Log: NOT INTACT at event {added}: ");
    assert!(report.markdown().contains(&line), "{}", report.markdown());
    let html = report.html();
    let (text, data) = html.split_once("<script type=\"application/json\" id=\"report\">").unwrap();
    assert!(text.contains(&line), "shown without scripts too: {text}");
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let found = &data["verification"];
    assert_eq!((&found["ok"], &found["fault_seq"]), (&false.into(), &added.0.into()), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_a_real_browser_shows_the_event_that_somebody_added_to_a_log_on_the_page_and_in_the_report() {
    let Some(tools) = tools() else { return };
    let house = Arc::new(House::open());
    let (folded, concluded) = ended_falsely(&house).await;
    let unfolded = house.held(&prediction()).await;
    let opened = house.forge(unfolded).await;
    let reports = tempfile::tempdir().unwrap();
    let path = reports.path().join("report.html");
    std::fs::write(&path, report(&house, folded).await.html()).unwrap();
    let watched = house.held(&prediction()).await;
    let forging = Arc::clone(&house);
    let forge = post(async move || forging.forge(watched).await.to_string());
    let door = Door::open(&house).await;
    let setup = json!({
        "site": format!("http://{}", door.address),
        "controls": format!("http://{}", served(Router::new().route("/forge", forge)).await),
        "report": path,
        "folded": { "id": folded.to_string(), "added": concluded },
        "unfolded": { "id": unfolded.to_string(), "added": opened },
        "watched": { "id": watched.to_string() },
    });
    drive(tools, "faults.mjs", setup).await;
}
