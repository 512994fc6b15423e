//! Taking finished streams out of a store and putting them back.

use std::sync::Arc;

use debate_core::chain::ChainBreak;
use debate_core::envelope::Envelope;
use debate_core::id::{Digest, Seq, Timestamp};
use debate_store::{Append, AppendError, ArchiveError, Archived, Head, ListFilter, Position, RequestKey};

use crate::conformance::{Archiving, on_every_store};
use crate::stream_writer::{StreamWriter, read_stream, settled, verify};

on_every_store! {
    an_archived_stream_is_gone_but_for_where_it_is,
    k15_a_restored_stream_is_the_same_to_the_byte,
    only_finished_streams_are_archived,
    only_what_was_archived_is_restored,
    k11_request_ids_of_archived_streams_stay_taken,
    archived_streams_are_listed_the_newest_first,
}

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// A finished debate of four events, one of them with prose.
fn finished(writer: &mut StreamWriter) -> Append {
    let envelopes = vec![
        writer.event("opened", "{\"format\":\"chess\"}"),
        writer.event_with_prose("said", "{\"n\":2}", "{\"text\":\"two\"}"),
        writer.event("concluded", "{}"),
        writer.event("resolved", "{}"),
    ];
    Append::new(writer.stream, Seq::START, envelopes)
}

fn head_of(events: &[Envelope]) -> Head {
    let last = events.last().unwrap();
    Head { seq: last.seq, hash: last.hash }
}

async fn an_archived_stream_is_gone_but_for_where_it_is(store: Arc<dyn Archiving>) {
    let (mut before, mut gone, mut after) =
        (StreamWriter::new(1), StreamWriter::new(2).with_tenant("a"), StreamWriter::new(3));
    store.append(before.append(2)).await.unwrap();
    store.append(finished(&mut gone)).await.unwrap();
    let last = store.append(after.append(2)).await.unwrap();
    settled(&*store, last).await;
    let all = store.read_all(Position::START, 100).await.unwrap();
    let events = read_stream(&*store, gone.stream).await;
    let head = head_of(&events);
    assert_eq!(store.find_archived(gone.stream).await.unwrap(), None);

    store.archive(gone.stream, head, "two.bundle", NOW).await.unwrap();
    store.archive(gone.stream, head, "two.bundle", NOW).await.unwrap();
    let archived = Archived {
        stream: gone.stream,
        head,
        bundle: "two.bundle".to_owned(),
        at: NOW,
        position: all[2].0,
        tenant: "a".to_owned(),
        format: Some("chess".to_owned()),
        opened_at: events[0].at,
    };
    assert_eq!(store.find_archived(gone.stream).await.unwrap(), Some(archived.clone()));
    assert_eq!(store.list_archived(ListFilter::default()).await.unwrap(), [archived]);
    assert_eq!(read_stream(&*store, gone.stream).await, []);
    assert_eq!(store.head(gone.stream).await.unwrap(), None);
    let heads = store.heads(None, 10).await.unwrap();
    assert_eq!(heads.iter().map(|(stream, _)| *stream).collect::<Vec<_>>(), [before.stream, after.stream]);
    assert_eq!(store.list(ListFilter::default()).await.unwrap().len(), 2);
    // All else stays where it was.
    let rest = store.read_all(Position::START, 100).await.unwrap();
    assert_eq!(rest, [&all[..2], &all[6..]].concat());
    let next = store.append(after.append(1)).await.unwrap();
    assert!(next > last, "positions are not used again");

    // Nothing is added to it: neither at its end nor from its beginning.
    for append in [gone.append(1), finished(&mut StreamWriter::new(2).with_tenant("a"))] {
        let refused = store.append(append).await;
        assert!(
            matches!(refused, Err(AppendError::Archived(stream)) if stream == gone.stream),
            "{refused:?}"
        );
    }
    let elsewhere = store.archive(gone.stream, head, "other.bundle", NOW).await;
    assert!(
        matches!(&elsewhere, Err(ArchiveError::Elsewhere { bundle, .. }) if bundle == "two.bundle"),
        "{elsewhere:?}"
    );
}

async fn k15_a_restored_stream_is_the_same_to_the_byte(store: Arc<dyn Archiving>) {
    let mut writer = StreamWriter::new(1);
    store.append(finished(&mut writer)).await.unwrap();
    let last = store.append(StreamWriter::new(2).append(1)).await.unwrap();
    store.redact(writer.stream, Seq(2)).await.unwrap();
    let events = read_stream(&*store, writer.stream).await;
    for _ in 0..2 {
        store.archive(writer.stream, head_of(&events), "a.bundle", NOW).await.unwrap();
        let waiting = store.wait(writer.stream, Seq(3));
        let (restored, woken) = tokio::join!(store.restore(writer.stream, events.clone()), waiting);
        restored.unwrap();
        assert_eq!(woken.unwrap(), Seq(4));
        store.restore(writer.stream, events.clone()).await.unwrap();
        assert_eq!(read_stream(&*store, writer.stream).await, events);
        assert_eq!(verify(&*store, writer.stream).await, Ok(Seq(4)));
        assert_eq!(store.find_archived(writer.stream).await.unwrap(), None);
    }
    assert!(store.wait_all(last).await.unwrap() > last);
    store.append(writer.append(1)).await.unwrap();
    let goes_on = read_stream(&*store, writer.stream).await;
    assert_eq!((goes_on.len(), &goes_on[..4]), (5, &events[..]));
    let unfinished = store.archive(writer.stream, head_of(&goes_on), "b.bundle", NOW).await;
    assert!(matches!(unfinished, Err(ArchiveError::Unfinished(_))), "{unfinished:?}");
}

async fn only_finished_streams_are_archived(store: Arc<dyn Archiving>) {
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(2)).await.unwrap();
    let running = read_stream(&*store, writer.stream).await;
    let refused = store.archive(writer.stream, head_of(&running), "a.bundle", NOW).await;
    assert!(matches!(refused, Err(ArchiveError::Unfinished(_))), "{refused:?}");
    let concluded = writer.event("concluded", "{}");
    let head = Head { seq: concluded.seq, hash: concluded.hash };
    store.append(Append::new(writer.stream, Seq(2), vec![concluded])).await.unwrap();
    for head in [head_of(&running), Head { seq: Seq(4), ..head }, Head { hash: Digest::of_text("x"), ..head }]
    {
        let moved = store.archive(writer.stream, head, "a.bundle", NOW).await;
        assert!(matches!(moved, Err(ArchiveError::Moved { .. })), "{moved:?}");
    }
    let unknown = store.archive(StreamWriter::new(9).stream, head, "a.bundle", NOW).await;
    assert!(matches!(unknown, Err(ArchiveError::NotFound(_))), "{unknown:?}");
    assert_eq!(read_stream(&*store, writer.stream).await.len(), 3);
    assert_eq!(store.list_archived(ListFilter::default()).await.unwrap(), []);
}

async fn only_what_was_archived_is_restored(store: Arc<dyn Archiving>) {
    let mut writer = StreamWriter::new(1);
    store.append(finished(&mut writer)).await.unwrap();
    let events = read_stream(&*store, writer.stream).await;
    store.archive(writer.stream, head_of(&events), "a.bundle", NOW).await.unwrap();

    let cut_short = store.restore(writer.stream, events[..3].to_vec()).await;
    assert!(matches!(cut_short, Err(ArchiveError::OtherEvents(_))), "{cut_short:?}");
    let mut changed = events.clone();
    changed[1].body = "{\"n\":7}".to_owned();
    let broken = store.restore(writer.stream, changed).await;
    assert!(matches!(broken, Err(ArchiveError::Chain(ChainBreak::Hash { seq: Seq(2), .. }))), "{broken:?}");
    let mut other = StreamWriter::new(2);
    let others: Vec<Envelope> =
        finished(&mut other).envelopes().iter().map(|it| Envelope::clone(it)).collect();
    let unknown = store.restore(other.stream, others).await;
    assert!(matches!(unknown, Err(ArchiveError::NotArchived(_))), "{unknown:?}");
    assert_eq!(store.read_all(Position::START, 10).await.unwrap(), []);
    store.restore(writer.stream, events.clone()).await.unwrap();
    assert_eq!(read_stream(&*store, writer.stream).await, events);
}

async fn k11_request_ids_of_archived_streams_stay_taken(store: Arc<dyn Archiving>) {
    let mut writer = StreamWriter::new(1);
    let body_hash = Digest::of_text("body");
    let request = RequestKey { tenant: "a".to_owned(), request_id: "r1".to_owned(), body_hash };
    store.append(finished(&mut writer).with_request(request.clone())).await.unwrap();
    let events = read_stream(&*store, writer.stream).await;
    store.archive(writer.stream, head_of(&events), "a.bundle", NOW).await.unwrap();
    let again = store.append(StreamWriter::new(2).append(1).with_request(request)).await;
    assert!(
        matches!(again, Err(AppendError::RequestTaken { stream, same_body: true }) if stream == writer.stream),
        "{again:?}"
    );
    assert_eq!(store.find_request("a", "r1").await.unwrap().map(|it| it.stream), Some(writer.stream));
}

async fn archived_streams_are_listed_the_newest_first(store: Arc<dyn Archiving>) {
    for (id, tenant) in [(1, "odd"), (2, "even"), (3, "odd"), (4, "even"), (5, "")] {
        let mut writer = StreamWriter::new(id).with_tenant(tenant);
        store.append(finished(&mut writer)).await.unwrap();
        let events = read_stream(&*store, writer.stream).await;
        store.archive(writer.stream, head_of(&events), &format!("{id}.bundle"), NOW).await.unwrap();
    }
    let listed = async |filter: ListFilter| -> Vec<String> {
        let found = store.list_archived(filter).await.unwrap();
        found.into_iter().map(|archived| archived.bundle.replace(".bundle", "")).collect()
    };
    let all = ListFilter::default();
    assert_eq!(listed(all.clone()).await, ["5", "4", "3", "2", "1"]);
    for (tenant, theirs) in [("even", &["4", "2"][..]), ("odd", &["3", "1"]), ("", &["5"])] {
        assert_eq!(listed(ListFilter { tenant: Some(tenant.to_owned()), ..all.clone() }).await, theirs);
    }
    assert_eq!(listed(ListFilter { format: Some("go".to_owned()), ..all.clone() }).await, [""; 0]);
    let page = ListFilter { format: Some("chess".to_owned()), limit: 2, ..all };
    let before = store.list_archived(page.clone()).await.unwrap().last().map(|last| last.position);
    assert_eq!(listed(ListFilter { before, ..page }).await, ["3", "2"]);
}
