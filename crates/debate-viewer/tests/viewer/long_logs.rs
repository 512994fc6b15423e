//! Long logs come to auditors in pages.

use serde_json::json;

use crate::house::{House, prediction, roundtable};
use crate::routes::call_events;

/// The most that a page for auditors may take: 2 MiB of texts, and what is around them.
const PAGE_BYTES: usize = 5 * 1024 * 1024 / 2;

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_long_words_comes_in_pages_of_2_mib_to_auditors_and_each_goes_on_where_the_last_ended() {
    let house = House::saying(&"x".repeat(600_000));
    let debate = house.held(&prediction()).await;
    let whole: Vec<u64> = (1..=house.engine.log(debate, None).await.unwrap().len() as u64).collect();
    for (part, wanted) in [("events", whole), ("calls", call_events(&house, debate).await)] {
        let (mut seen, mut pages): (Vec<u64>, usize) = Default::default();
        loop {
            let after = seen.last().copied().unwrap_or_default();
            let path = format!("/data/debates/{debate}/{part}?after={after}&limit=500");
            let shown = house.data(&path).await;
            assert!(shown.body.len() < PAGE_BYTES, "{part} after {after}: {} bytes", shown.body.len());
            let shown = shown.json();
            let entries = shown[part].as_array().unwrap().iter();
            seen.extend(entries.map(|entry| entry["seq"].as_u64().unwrap()));
            pages += 1;
            if shown["more"] == false {
                break;
            }
        }
        assert_eq!(seen, wanted, "{part}");
        assert!(pages > 1, "all {part} are on one page");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_many_events_comes_in_pages_of_500_and_of_200_requests_to_auditors() {
    // All say the same, so that everybody is asked twice in every round.
    let said = json!({ "stance": "YES", "position": "a", "reasoning": "b", "confidence": 0.9 });
    let house = House::saying(&said.to_string());
    let mut table = roundtable();
    table["agents"] = (0..20).map(|number| format!("agent-{number}")).collect();
    table["rounds"] = 6.into();
    table["flags"] = json!({ "groupthinkDetection": { "action": "repoll" } });
    let debate = house.held(&table).await;
    for (part, most) in [("events", 500), ("calls", 200)] {
        for limit in ["", "?limit=100000"] {
            let shown = house.data(&format!("/data/debates/{debate}/{part}{limit}")).await.json();
            let entries = shown[part].as_array().map(Vec::len);
            assert_eq!((entries, &shown["more"]), (Some(most), &json!(true)), "{part}{limit}");
        }
    }
}
