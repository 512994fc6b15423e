//! What a bundle says of itself, and what is refused.

use debate_core::id::Seq;
use debate_proof::bundle::{BundleFault, BundleReport, LineError, StreamFault};
use debate_proof::checkpoint::{Checkpoint, CheckpointError};
use debate_proof::key::SigningKey;
use debate_proof::leaves::LeafFault;
use debate_proof::tree::{ConsistencyError, InclusionError};

use crate::log::{Log, append, check, rehash, stream, verifier};

fn log() -> Log {
    Log::default().grow(&[3, 2]).grow(&[5, 2, 4])
}

#[test]
fn k15_a_bundle_of_one_debate_is_proved_by_its_checkpoint() {
    let report = check(&log().single(0, None), Some(verifier()), None).unwrap();
    assert!(report.is_sound() && report.is_signed && !report.whole);
    assert_eq!(report.checkpoint.unwrap().size, 4);
    let [found] = report.streams.as_slice() else { panic!("{:?}", report.streams) };
    assert_eq!((found.stream, found.events, found.signed), (stream(1), 5, Some(Seq(5))));
}

#[test]
fn k15_events_after_the_checkpoint_are_not_signed() {
    let mut log = log();
    append(&mut log.streams[1], stream(2));
    append(&mut log.streams[1], stream(2));
    for lines in [log.single(1, None), log.whole(None)] {
        let report = check(&lines, Some(verifier()), None).unwrap();
        let found = report.streams.iter().find(|it| it.stream == stream(2)).unwrap();
        assert_eq!((found.events, found.signed, &found.fault), (4, Some(Seq(2)), &None));
    }
}

#[test]
fn k15_redacted_events_are_counted_and_still_verify() {
    let mut log = log();
    for event in &mut log.streams[0] {
        event.prose = None;
    }
    let report = check(&log.whole(None), Some(verifier()), None).unwrap();
    assert!(report.is_sound());
    assert_eq!((report.streams[0].redacted, report.streams[1].redacted), (4, 0));
}

#[test]
fn a_bundle_without_a_checkpoint_proves_nothing_against_a_key() {
    let mut lines = log().single(0, None);
    lines.remove(1);
    lines[1] =
        "{\"stream\":{\"kind\":\"debate\",\"id\":\"00000000-0000-0000-0000-000000000001\"}}".to_owned();
    assert!(check(&lines, None, None).unwrap().is_sound());
    let report = check(&lines, Some(verifier()), None).unwrap();
    assert_eq!((report.is_signed, report.faults), (false, vec![BundleFault::Unsigned]));
}

#[test]
fn k15_a_debate_that_is_not_proved_to_be_under_the_checkpoint_is_a_fault() {
    let mut lines = log().single(0, None);
    lines[2] =
        "{\"stream\":{\"kind\":\"debate\",\"id\":\"00000000-0000-0000-0000-000000000001\"}}".to_owned();
    for key in [Some(verifier()), None] {
        let report = check(&lines, key, None).unwrap();
        assert_eq!(report.streams[0].fault, Some(StreamFault::Unproved));
    }
}

#[test]
fn a_checkpoint_of_another_key_is_no_proof() {
    let other = SigningKey::new("debates.example.org", [8; 32]).unwrap();
    let report = check(&log().whole(None), Some(other.verifier().clone()), None).unwrap();
    assert!(!report.is_signed);
    assert!(matches!(report.faults[0], BundleFault::Checkpoint(CheckpointError::Note(_))));
}

#[test]
fn k15_whatever_is_put_around_what_a_key_signed_is_not_signed_by_it() {
    let log = log();
    assert!(!check(&log.single(0, None), None, None).unwrap().is_signed, "the signature was not checked");
    // Other events under the key's note: they can be chained and recorded without the key.
    let mut made_up = Log { streams: log.streams.clone(), ..Log::default() };
    made_up.streams[0][1].body.push(' ');
    rehash(&mut made_up.streams[0]);
    let forged = Log { leaves: log.leaves.clone(), ..made_up.clone() };
    made_up.streams[0].truncate(3);
    made_up.streams[2].clear();
    let made_up = made_up.grow(&[3, 2]).grow(&[5, 2, 4]);
    let with_note = |mut lines: Vec<String>| {
        lines[1] = log.single(0, None)[1].clone();
        check(&lines, Some(verifier()), None).unwrap()
    };
    let root = InclusionError::Root { index: 2 };
    let unproved = |report: &BundleReport| (report.streams[0].fault.clone(), report.streams[0].signed);
    let report = with_note(made_up.single(0, None));
    assert_eq!(unproved(&report), (Some(StreamFault::Inclusion(root)), None));
    assert_eq!(with_note(made_up.whole(None)).faults, [BundleFault::Leaves { signed: 4, found: 4 }]);
    let rewritten = Some(StreamFault::Leaf(LeafFault::Rewritten { from: Seq(1), to: Seq(5) }));
    assert_eq!(with_note(forged.single(0, None)).streams[0].fault, rewritten);
    let rewritten = Some(StreamFault::Leaf(LeafFault::Rewritten { from: Seq(1), to: Seq(3) }));
    assert_eq!(with_note(forged.whole(None)).streams[0].fault, rewritten);
    // One debate with the proof of another.
    let (mut first, second) = (log.single(0, None), log.single(1, None));
    first[2] = second[2].replace(&stream(2).id.to_string(), &stream(1).id.to_string());
    first[2] = first[2].replace(&format!("\"leaf\":\"{}", stream(1)), &format!("\"leaf\":\"{}", stream(2)));
    let report = check(&first, Some(verifier()), None).unwrap();
    assert_eq!(unproved(&report), (Some(StreamFault::OtherStream(stream(2))), None));
}

#[test]
fn k15_a_bundle_of_all_names_what_is_missing() {
    let mut log = log();
    log.streams.remove(1);
    let report = check(&log.whole(None), Some(verifier()), None).unwrap();
    let missing = report.streams.iter().find(|it| it.stream == stream(2)).unwrap();
    assert_eq!(missing.fault, Some(StreamFault::Leaf(LeafFault::Removed { signed: Seq(2) })));
}

#[test]
fn leaves_left_out_of_a_bundle_of_all_are_missed() {
    let mut lines = log().whole(None);
    lines.remove(5);
    let report = check(&lines, Some(verifier()), None).unwrap();
    assert_eq!(report.faults, [BundleFault::Leaves { signed: 4, found: 3 }]);
}

#[test]
fn a_bundle_must_continue_what_was_seen_before() {
    let before = Log::default().grow(&[3, 2]);
    let seen = Checkpoint::open(&before.note(), &verifier()).unwrap();
    let check = |lines: &[String], since: &Checkpoint| {
        check(lines, Some(verifier()), Some(since.clone())).unwrap().faults
    };
    assert_eq!(check(&log().single(0, Some(2)), &seen), []);
    assert_eq!(check(&before.single(0, None), &seen), []);
    assert_eq!(check(&log().single(0, None), &seen), [BundleFault::NotContinued { size: 2 }]);
    let newer = Checkpoint::open(&log().note(), &verifier()).unwrap();
    let shrunk = check(&before.single(0, None), &newer);
    assert_eq!(shrunk, [BundleFault::NotContinued { size: 4 }]);
    let other = Checkpoint { root: newer.root, ..seen.clone() };
    let forked = check(&log().single(0, Some(2)), &other);
    assert_eq!(forked, [BundleFault::Consistency(ConsistencyError::Root { from: 2, size: 4 })]);
    let foreign = Checkpoint { origin: "x".to_owned(), ..seen };
    assert!(matches!(check(&log().single(0, Some(2)), &foreign)[..], [BundleFault::OtherLog { .. }]));
}

#[test]
fn a_line_out_of_its_place_is_refused_and_named() {
    let lines = log().single(0, None);
    let end = lines.len() - 1;
    type Edit = fn(&mut Vec<String>, usize);
    let cases: [(Edit, u64, LineError); 8] = [
        (|lines, end| drop(lines.remove(end)), 9, LineError::CutOff),
        (|lines, _| drop(lines.remove(0)), 1, LineError::Place),
        (|lines, _| lines.insert(2, lines[1].clone()), 3, LineError::Place),
        (|lines, _| lines.insert(3, lines[2].clone()), 4, LineError::Events { stream: stream(1), events: 0 }),
        (|lines, end| lines.insert(end, lines[2].clone()), 9, LineError::Twice(stream(1))),
        (|lines, end| drop(lines.remove(end - 1)), 8, LineError::Count { streams: 1, events: 4 }),
        (|lines, _| lines[0] = lines[0].replace('1', "2"), 1, LineError::Version(2)),
        (|lines, _| lines[4].push(' '), 5, LineError::Spelling),
    ];
    for (edit, line, what) in cases {
        let mut edited = lines.clone();
        edit(&mut edited, end);
        let error = check(&edited, None, None).unwrap_err();
        assert_eq!((error.line, error.what), (line, what));
    }
}
