//! Starting twice under one request id (rule K11).

use std::sync::Arc;

use debate_core::id::{Digest, Seq};
use debate_store::{Append, AppendError, EventStore, ListFilter, RequestKey, RequestOwner};

use crate::conformance::on_every_store;
use crate::stream_writer::{StreamWriter, read_stream};

on_every_store! {
    k11_a_request_id_is_stored_with_what_it_opened,
    k11_a_request_id_opens_one_stream_only,
    k11_the_same_start_again_is_success,
    k11_a_refused_append_leaves_the_request_id_free,
    k11_events_stored_without_a_request_take_one_later,
    k11_starts_at_the_same_time_open_one_stream,
    words_that_would_end_a_statement_are_stored_and_found_as_they_are,
}

fn key(tenant: &str, request_id: &str, body: &str) -> RequestKey {
    RequestKey {
        tenant: tenant.to_owned(),
        request_id: request_id.to_owned(),
        body_hash: Digest::of_text(body),
    }
}

fn start(id: u128, request: RequestKey) -> Append {
    StreamWriter::new(id).append(2).with_request(request)
}

async fn k11_a_request_id_is_stored_with_what_it_opened(store: Arc<dyn EventStore>) {
    store.append(start(1, key("a", "r1", "body"))).await.unwrap();
    let owner = RequestOwner { stream: StreamWriter::new(1).stream, body_hash: Digest::of_text("body") };
    assert_eq!(store.find_request("a", "r1").await.unwrap(), Some(owner));
    assert_eq!(store.find_request("b", "r1").await.unwrap(), None);
    assert_eq!(store.find_request("a", "r2").await.unwrap(), None);
    assert_eq!(store.request_of(owner.stream).await.unwrap().as_deref(), Some("r1"));
    assert_eq!(store.request_of(StreamWriter::new(2).stream).await.unwrap(), None);
}

async fn k11_a_request_id_opens_one_stream_only(store: Arc<dyn EventStore>) {
    store.append(start(1, key("a", "r1", "body"))).await.unwrap();
    let first = StreamWriter::new(1).stream;
    for (body, wanted) in [("body", true), ("other body", false)] {
        let refused = store.append(start(2, key("a", "r1", body))).await;
        assert!(matches!(
            refused,
            Err(AppendError::RequestTaken { stream, same_body }) if stream == first && same_body == wanted
        ));
    }
    assert_eq!(read_stream(&*store, StreamWriter::new(2).stream).await, []);
    store.append(start(2, key("b", "r1", "other body"))).await.unwrap();
}

async fn k11_the_same_start_again_is_success(store: Arc<dyn EventStore>) {
    let position = store.append(start(1, key("a", "r1", "body"))).await.unwrap();
    assert_eq!(store.append(start(1, key("a", "r1", "body"))).await.unwrap(), position);
    let refused = store.append(start(1, key("a", "r1", "other body"))).await;
    assert!(matches!(refused, Err(AppendError::RequestTaken { same_body: false, .. })));
    let mut longer = StreamWriter::new(1);
    let refused = store.append(longer.append(3).with_request(key("a", "r1", "body"))).await;
    assert!(matches!(refused, Err(AppendError::RequestTaken { same_body: true, .. })));
    assert_eq!(read_stream(&*store, longer.stream).await.len(), 2);
}

async fn k11_a_refused_append_leaves_the_request_id_free(store: Arc<dyn EventStore>) {
    store.append(StreamWriter::new(1).append(1)).await.unwrap();
    let mut rival = StreamWriter::new(1);
    let envelope = rival.event("opened", "{\"by\":\"rival\"}");
    let append = Append::new(rival.stream, Seq::START, vec![envelope]);
    let refused = store.append(append.with_request(key("a", "r1", "body"))).await;
    assert!(matches!(refused, Err(AppendError::Conflict { .. })));
    assert_eq!(store.find_request("a", "r1").await.unwrap(), None);
    store.append(start(2, key("a", "r1", "body"))).await.unwrap();
}

async fn k11_events_stored_without_a_request_take_one_later(store: Arc<dyn EventStore>) {
    let position = store.append(StreamWriter::new(1).append(2)).await.unwrap();
    assert_eq!(store.append(start(1, key("a", "r1", "body"))).await.unwrap(), position);
    assert!(store.find_request("a", "r1").await.unwrap().is_some());
}

async fn k11_starts_at_the_same_time_open_one_stream(store: Arc<dyn EventStore>) {
    let starts = (0..20).map(|id| store.append(start(id, key("a", "r1", "body"))));
    let answers = futures::future::join_all(starts).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let owner = store.find_request("a", "r1").await.unwrap().unwrap();
    for answer in answers {
        match answer {
            Ok(_) => {}
            Err(AppendError::RequestTaken { stream, same_body: true }) => assert_eq!(stream, owner.stream),
            Err(other) => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(read_stream(&*store, owner.stream).await.len(), 2);
}

async fn words_that_would_end_a_statement_are_stored_and_found_as_they_are(store: Arc<dyn EventStore>) {
    let odd = [
        "'; DROP TABLE events; --",
        "' OR '1'='1",
        "\"",
        "\\'",
        "%",
        "_",
        "?1",
        "$1",
        "{}",
        "}",
        "a\n/*",
        "ʼ",
    ];
    for (id, word) in (1..).zip(odd) {
        let mut writer = StreamWriter::new(id).with_tenant(word);
        let body = serde_json::json!({ "format": word }).to_string();
        let events =
            vec![writer.event_with_prose("opened", &body, word), writer.event_with_prose(word, &body, word)];
        let append = Append::new(writer.stream, Seq::START, events.clone());
        store.append(append.with_request(key(word, word, word))).await.unwrap();
        assert_eq!(read_stream(&*store, writer.stream).await, events, "{word:?}");
    }
    for (id, word) in (1..).zip(odd) {
        let stream = StreamWriter::new(id).stream;
        let owner = RequestOwner { stream, body_hash: Digest::of_text(word) };
        assert_eq!(store.find_request(word, word).await.unwrap(), Some(owner), "{word:?}");
        assert_eq!(store.request_of(stream).await.unwrap().as_deref(), Some(word));
        let (tenant, format, kinds) = (Some(word.to_owned()), Some(word.to_owned()), vec![word.to_owned()]);
        let by_tenant = ListFilter { tenant, ..ListFilter::default() };
        let by_format = ListFilter { format, ..ListFilter::default() };
        let by_status = ListFilter { lifecycle: kinds.clone(), status: Some(kinds), ..ListFilter::default() };
        for filter in [by_tenant, by_format, by_status] {
            let listed = store.list(filter.clone()).await.unwrap();
            let found: Vec<_> = listed.iter().map(|it| it.first.stream).collect();
            assert_eq!(found, [stream], "{filter:?}");
            assert_eq!(store.list_archived(filter).await.unwrap(), []);
        }
    }
}
