//! Lists of debates, derived from their events.

use std::sync::Arc;

use debate_core::envelope::StreamKind;
use debate_core::id::{Seq, Timestamp};
use debate_store::{Append, EventStore, ListFilter, Listed, Position};

use crate::conformance::on_every_store;
use crate::stream_writer::StreamWriter;

on_every_store! {
    debates_are_listed_newest_first_with_their_latest_lifecycle_event,
    a_list_holds_one_tenants_debates,
    a_list_holds_one_formats_debates,
    a_list_holds_debates_of_a_status,
    a_list_holds_debates_that_were_touched_lately,
    a_list_is_read_in_pages,
    streams_of_other_kinds_are_not_listed,
}

/// Stores a debate with these kinds of events after `opened`.
async fn debate(store: &dyn EventStore, id: u128, tenant: &str, format: &str, kinds: &[&str]) {
    let mut writer = StreamWriter::new(id).with_tenant(tenant);
    let mut envelopes = vec![writer.event("opened", &format!("{{\"format\":\"{format}\"}}"))];
    envelopes.extend(kinds.iter().map(|kind| writer.event(kind, "{\"format\":\"decoy\"}")));
    store.append(Append::new(writer.stream, Seq::START, envelopes)).await.unwrap();
}

/// Stores five debates, of two tenants and of none, of two formats.
async fn five(store: &dyn EventStore) {
    debate(store, 10, "a", "prediction", &["call_started", "concluded", "resolved"]).await;
    debate(store, 50, "", "prediction", &["call_started"]).await;
    debate(store, 20, "a", "deliberation", &["paused", "resumed", "call_started"]).await;
    debate(store, 40, "b", "deliberation", &["concluded", "continued", "concluded"]).await;
    debate(store, 30, "a", "prediction", &[]).await;
}

fn filter() -> ListFilter {
    let kinds = ["opened", "paused", "resumed", "concluded", "continued"];
    ListFilter { lifecycle: kinds.map(str::to_owned).to_vec(), ..ListFilter::default() }
}

fn ids(listed: &[Listed]) -> Vec<u128> {
    listed.iter().map(|it| it.first.stream.id.as_u128()).collect()
}

async fn debates_are_listed_newest_first_with_their_latest_lifecycle_event(store: Arc<dyn EventStore>) {
    assert_eq!(store.list(filter()).await.unwrap(), []);
    five(&*store).await;
    let listed = store.list(filter()).await.unwrap();
    let rows: Vec<_> = listed
        .iter()
        .map(|it| {
            let last = it.last_of_kinds.as_ref().unwrap();
            (it.first.stream.id.as_u128(), it.head.0, last.seq.0, last.kind.as_str())
        })
        .collect();
    assert_eq!(
        rows,
        [
            (30, 1, 1, "opened"),
            (40, 4, 4, "concluded"),
            (20, 4, 3, "resumed"),
            (50, 2, 1, "opened"),
            (10, 4, 3, "concluded"),
        ]
    );
    assert!(listed.is_sorted_by(|newer, older| newer.position > older.position));
    assert!(listed.iter().all(|it| it.first.seq == Seq(1) && it.first.kind == "opened"));

    let unknowing = store.list(ListFilter::default()).await.unwrap();
    assert_eq!(unknowing.len(), 5);
    assert!(unknowing.iter().all(|it| it.last_of_kinds.is_none()));
}

/// Reads a list in pages of one. As for any client that reads a whole list, a page that is not full is the last.
async fn in_pages(store: &dyn EventStore, filter: &ListFilter) -> Vec<Listed> {
    let mut found: Vec<Listed> = Vec::new();
    loop {
        let before = found.last().map(|it| it.position);
        let page = store.list(ListFilter { before, limit: 1, ..filter.clone() }).await.unwrap();
        if page.is_empty() {
            return found;
        }
        found.extend(page);
    }
}

async fn a_list_holds_one_tenants_debates(store: Arc<dyn EventStore>) {
    five(&*store).await;
    for (tenant, wanted) in [("a", vec![30, 20, 10]), ("b", vec![40]), ("", vec![50]), ("c", vec![])] {
        let filter = ListFilter { tenant: Some(tenant.to_owned()), ..filter() };
        assert_eq!(ids(&in_pages(&*store, &filter).await), wanted);
        assert_eq!(ids(&store.list(filter).await.unwrap()), wanted);
    }
}

async fn a_list_holds_one_formats_debates(store: Arc<dyn EventStore>) {
    five(&*store).await;
    // A first event that is not JSON has no format.
    let mut odd = StreamWriter::new(60);
    let envelope = odd.event("opened", "not json");
    store.append(Append::new(odd.stream, Seq::START, vec![envelope])).await.unwrap();
    for (format, wanted) in
        [("prediction", vec![30, 50, 10]), ("deliberation", vec![40, 20]), ("decoy", vec![])]
    {
        let filter = ListFilter { format: Some(format.to_owned()), ..filter() };
        assert_eq!(ids(&in_pages(&*store, &filter).await), wanted);
        assert_eq!(ids(&store.list(filter).await.unwrap()), wanted);
    }
    let both = ListFilter { format: Some("prediction".to_owned()), tenant: Some("a".to_owned()), ..filter() };
    assert_eq!(ids(&store.list(both).await.unwrap()), [30, 10]);
}

async fn a_list_holds_debates_of_a_status(store: Arc<dyn EventStore>) {
    five(&*store).await;
    let cases = [
        (vec!["concluded"], vec![40, 10]),
        (vec!["opened", "resumed", "continued"], vec![30, 20, 50]),
        (vec!["paused"], vec![]),
        (vec!["call_started"], vec![]),
        (vec![], vec![]),
    ];
    for (status, wanted) in cases {
        let status = status.into_iter().map(str::to_owned).collect();
        let filter = ListFilter { status: Some(status), ..filter() };
        assert_eq!(ids(&in_pages(&*store, &filter).await), wanted);
        assert_eq!(ids(&store.list(filter).await.unwrap()), wanted);
    }
}

async fn a_list_holds_debates_that_were_touched_lately(store: Arc<dyn EventStore>) {
    five(&*store).await;
    let all = store.list(filter()).await.unwrap();
    let touched = |listed: &Listed| listed.last_of_kinds.as_ref().unwrap().at;
    let mut times: Vec<_> = all.iter().map(touched).collect();
    times.sort_unstable();
    for since in times {
        let wanted: Vec<_> = all.iter().filter(|it| touched(it) >= since).cloned().collect();
        let filter = ListFilter { touched_since: Some(since), ..filter() };
        assert_eq!(in_pages(&*store, &filter).await, wanted);
        assert_eq!(store.list(filter).await.unwrap(), wanted);
        let filter =
            ListFilter { touched_since: Some(since), tenant: Some("a".to_owned()), ..self::filter() };
        assert!(store.list(filter).await.unwrap().iter().all(|it| it.first.tenant == "a"));
    }
    let later = Some(Timestamp(i64::MAX));
    assert_eq!(store.list(ListFilter { touched_since: later, ..filter() }).await.unwrap(), []);
}

async fn a_list_is_read_in_pages(store: Arc<dyn EventStore>) {
    five(&*store).await;
    let mut found = Vec::new();
    let mut before: Option<Position> = None;
    for _ in 0..3 {
        let page = store.list(ListFilter { before, limit: 2, ..filter() }).await.unwrap();
        before = page.last().map(|it| it.position);
        found.push(ids(&page));
    }
    assert_eq!(found, [vec![30, 40], vec![20, 50], vec![10]]);
    let page = ListFilter { before, limit: 2, ..filter() };
    assert_eq!(store.list(page).await.unwrap(), []);
}

async fn streams_of_other_kinds_are_not_listed(store: Arc<dyn EventStore>) {
    store.append(StreamWriter::of_kind(StreamKind::Policy, 1).append(2)).await.unwrap();
    assert_eq!(store.list(filter()).await.unwrap(), []);
}
