//! Any single bit that changes, anywhere in the events, their order or a checkpoint, is found and located; and so is a
//! whole debate that is gone.

use debate_core::envelope::{Envelope, SaltedProse};
use debate_core::id::{Digest, Seq, Timestamp};
use debate_proof::bundle::BundleCheck;
use debate_proof::checkpoint::Checkpoint;
use debate_proof::leaves::{LeafFault, Leaves};
use proptest::prelude::*;
use uuid::Uuid;

use crate::log::{Found, Log, check, key, rehash, stream, verifier};

fn small() -> Log {
    Log::default().grow(&[3, 0]).grow(&[4, 3])
}

/// Returns every text that differs from this one in one bit and is still a text.
fn flipped(text: &str) -> Vec<String> {
    let bits = (0..text.len() * 8).map(|bit| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        String::from_utf8(bytes)
    });
    bits.filter_map(Result::ok).collect()
}

fn flipped_bytes<const N: usize>(bytes: [u8; N]) -> Vec<[u8; N]> {
    let bits = (0..N * 8).map(|bit| {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    });
    bits.collect()
}

/// Returns the event with any one bit of any of its fields changed.
fn changed(event: &Envelope) -> Vec<Envelope> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Envelope)| {
        let mut envelope = event.clone();
        change(&mut envelope);
        all.push(envelope);
    };
    flipped(&event.kind).into_iter().for_each(|it| add(&move |to| to.kind.clone_from(&it)));
    flipped(&event.tenant).into_iter().for_each(|it| add(&move |to| to.tenant.clone_from(&it)));
    flipped(&event.actor).into_iter().for_each(|it| add(&move |to| to.actor.clone_from(&it)));
    flipped(&event.body).into_iter().for_each(|it| add(&move |to| to.body.clone_from(&it)));
    let traces = event.trace.as_deref().map(flipped).unwrap_or_default();
    traces.into_iter().for_each(|it| add(&move |to| to.trace = Some(it.clone())));
    (0..64).for_each(|bit| add(&move |to| to.seq = Seq(to.seq.0 ^ (1 << bit))));
    (0..64).for_each(|bit| add(&move |to| to.at = Timestamp(to.at.0 ^ (1 << bit))));
    (0..16).for_each(|bit| add(&move |to| to.version ^= 1 << bit));
    flipped_bytes(event.hash.0).into_iter().for_each(|it| add(&move |to| to.hash = Digest(it)));
    flipped_bytes(*event.stream.id.as_bytes())
        .into_iter()
        .for_each(|it| add(&move |to| to.stream.id = Uuid::from_bytes(it)));
    if let Some(digest) = event.prose_digest {
        flipped_bytes(digest.0).into_iter().for_each(|it| add(&move |to| to.prose_digest = Some(Digest(it))));
        add(&|to| to.prose_digest = None);
    }
    add(&|to| to.prose_digest = Some(Digest::default()));
    if let Some(prose) = &event.prose {
        for text in flipped(&prose.text) {
            add(&move |to| to.prose = Some(SaltedProse { salt: prose.salt, text: text.clone() }));
        }
        for salt in flipped_bytes(prose.salt) {
            add(&move |to| to.prose = Some(SaltedProse { salt, text: prose.text.clone() }));
        }
    } else {
        add(&|to| to.prose = Some(SaltedProse { salt: [0; 16], text: String::new() }));
    }
    if event.trace.is_none() {
        add(&|to| to.trace = Some(String::new()));
        add(&|to| to.trace = Some("00".to_owned()));
    } else {
        add(&|to| to.trace = None);
    }
    all
}

#[test]
fn k15_any_single_bit_of_any_field_of_any_event_is_found_at_that_event() {
    let log = small();
    let mut tried = 0;
    for (number, events) in log.streams.iter().enumerate() {
        let stream = events[0].stream;
        assert_eq!(log.check(stream), Ok(()));
        for (index, event) in events.iter().enumerate() {
            for changed in changed(event) {
                let mut altered = log.clone();
                altered.streams[number][index] = changed;
                // What names another stream is read as no part of this one; the first event decides here.
                let found = match altered.streams[number][0].stream == stream {
                    true => altered.check(stream),
                    false => altered.check(stream).map_err(|_| Found::Chain(Seq(1))),
                };
                assert_eq!(found, Err(Found::Chain(event.seq)), "{:?}", altered.streams[number][index]);
                tried += 1;
            }
        }
    }
    assert!(tried > 8_000, "{tried}");
}

#[test]
fn k15_any_change_of_the_order_of_events_is_found_at_its_first_event() {
    let log = Log::default().grow(&[6]);
    for from in 0..6 {
        for to in (0..6).filter(|to| *to != from) {
            let mut moved = log.clone();
            let event = moved.streams[0].remove(from);
            moved.streams[0].insert(to, event);
            assert_eq!(moved.check(stream(1)), Err(Found::Chain(Seq(from.min(to) as u64 + 1))));
            let mut doubled = log.clone();
            let event = doubled.streams[0][from].clone();
            doubled.streams[0].insert(to, event);
            assert!(matches!(doubled.check(stream(1)), Err(Found::Chain(seq)) if seq.0 > to as u64));
        }
    }
}

#[test]
fn k15_what_a_chain_cannot_show_is_found_against_the_leaves() {
    let log = small();
    let mut removed = log.clone();
    removed.streams[1].clear();
    assert_eq!(removed.check(stream(2)), Err(Found::Leaf(LeafFault::Removed { signed: Seq(3) })));
    assert_eq!(removed.check(stream(1)), Ok(()));

    let mut short = log.clone();
    short.streams[0].pop();
    let fault = LeafFault::CutShort { head: Seq(3), signed: Seq(4) };
    assert_eq!(short.check(stream(1)), Err(Found::Leaf(fault)));

    for (first, from, to) in [(0, 1, 3), (1, 1, 3), (2, 1, 3), (3, 4, 4)] {
        let mut rewritten = log.clone();
        rewritten.streams[0][first].body.push(' ');
        rehash(&mut rewritten.streams[0]);
        let fault = LeafFault::Rewritten { from: Seq(from), to: Seq(to) };
        assert_eq!(rewritten.check(stream(1)), Err(Found::Leaf(fault)), "from event {}", first + 1);
    }
}

#[test]
fn k15_any_single_bit_of_a_checkpoint_is_found() {
    let note = small().note();
    assert!(Checkpoint::open(&note, &verifier()).is_ok());
    for changed in flipped(&note) {
        assert!(Checkpoint::open(&changed, &verifier()).is_err(), "{changed}");
    }
}

#[test]
fn k15_any_single_bit_of_the_leaves_is_found() {
    let leaves = small().leaves;
    for changed in flipped(&leaves.to_string()) {
        let found = Leaves::parse(&changed).is_ok_and(|read| read.root() == leaves.root());
        assert!(!found, "{changed}");
    }
}

#[test]
fn k15_any_single_bit_of_a_bundle_is_found() {
    let log = Log::default().grow(&[1]).grow(&[2, 1]);
    let before = Checkpoint::over(&log.leaves.first(1).unwrap(), "debates.example.org");
    for lines in [log.whole(Some(1)), log.single(0, Some(1))] {
        let mut before_line = BundleCheck::new(Some(verifier()), Some(before.clone()));
        let sound = |mut check: BundleCheck, lines: &[&str]| {
            lines.iter().try_for_each(|line| check.push(line).map(drop)).is_ok()
                && check.finish().is_ok_and(|report| report.is_sound())
        };
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert!(sound(before_line.clone(), &lines));
        for (index, line) in lines.iter().enumerate() {
            for changed in flipped(line) {
                let rest = [&[changed.as_str()], &lines[index + 1..]].concat();
                assert!(!sound(before_line.clone(), &rest), "line {}: {changed}", index + 1);
            }
            before_line.push(line).unwrap();
        }
    }
}

/// Lengths of streams at two checkpoints.
fn lengths() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    prop::collection::vec((1_usize..12, 0_usize..12), 1..8)
        .prop_map(|all| all.into_iter().map(|(first, more)| (first, first + more)).unzip())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn k15_one_bit_of_a_larger_log_is_found_and_its_debate_named(
        (first, second) in lengths(),
        choice in any::<prop::sample::Index>(),
        bit in any::<prop::sample::Index>(),
    ) {
        let log = Log::default().grow(&first).grow(&second);
        let lines = log.whole(Some(first.len()));
        let events: Vec<usize> =
            (0..lines.len()).filter(|index| lines[*index].starts_with("{\"event\"")).collect();
        let index = *choice.get(&events);
        let mut altered = lines.clone();
        let mut bytes = lines[index].clone().into_bytes();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        // What is not UTF-8 is no line at all.
        if let Ok(text) = String::from_utf8(bytes) {
            altered[index] = text;
            let stream = lines[..index].iter().filter(|line| line.starts_with("{\"stream\"")).count() - 1;
            match check(&altered, Some(verifier()), None) {
                Err(error) => prop_assert_eq!(error.line, index as u64 + 1),
                Ok(report) => {
                    let bad = report.streams.iter().position(|stream| stream.fault.is_some());
                    prop_assert_eq!(bad, Some(stream));
                    let inside = lines[..index].iter().rev().take_while(|line| line.starts_with("{\"event\""));
                    let seq = report.streams[stream].fault.as_ref().map(|fault| fault.seq().0);
                    prop_assert_eq!(seq, Some(inside.count() as u64 + 1));
                }
            }
        }
    }

    #[test]
    fn k15_removed_and_cut_and_rewritten_debates_of_a_larger_log_are_named(
        (first, second) in lengths(),
        choice in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let mut log = Log::default().grow(&first).grow(&second);
        let number = choice.index(log.streams.len());
        let events = &mut log.streams[number];
        let at = at.index(events.len());
        match how {
            0 => events.clear(),
            1 => events.truncate(at),
            _ => {
                events[at].actor.push('x');
                rehash(events);
            }
        }
        let report = check(&log.whole(None), Some(verifier()), None).unwrap();
        let bad: Vec<_> = report.streams.iter().filter(|it| it.fault.is_some()).map(|it| it.stream).collect();
        prop_assert_eq!(bad, [stream(number as u128 + 1)]);
    }

    #[test]
    fn k15_a_log_that_does_not_continue_an_older_checkpoint_is_found(
        (first, second) in lengths(),
        choice in any::<prop::sample::Index>(),
    ) {
        let before = Log::default().grow(&first);
        let seen = Checkpoint::open(&before.note(), &verifier()).unwrap();
        let size = before.leaves.len();
        let honest = before.clone().grow(&second).whole(Some(size));
        prop_assert!(check(&honest, Some(verifier()), Some(seen.clone())).unwrap().is_sound());

        // The key's holder signs another history.
        let mut other = before;
        let number = choice.index(other.streams.len());
        other.streams[number][0].body.push(' ');
        rehash(&mut other.streams[number]);
        let streams = other.streams;
        let forged = Log { streams, ..Log::default() }.grow(&first).grow(&second);
        prop_assert!(check(&forged.whole(None), Some(key().verifier().clone()), None).unwrap().is_sound());
        let report = check(&forged.whole(Some(size)), Some(verifier()), Some(seen)).unwrap();
        prop_assert_eq!(report.faults.len(), 1);
    }
}
