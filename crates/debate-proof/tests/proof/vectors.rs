//! The test vectors, which never change, and a second verifier that must agree on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use debate_core::chain::GENESIS;
use debate_proof::bundle::{End, EventLine, Inclusion, Line, REQUEST_ID_BYTES_MAX, Signed, StreamReport};
use debate_proof::checkpoint::Checkpoint;
use debate_proof::note;
use debate_proof::tree;
use serde_json::{Value, json};

use crate::log::{Log, append, check, key, rehash, stream, verifier};

fn log() -> Log {
    let mut log = Log::default().grow(&[3, 1]);
    // One event is redacted, and says so.
    let stream = &mut log.streams[0];
    stream[1].prose = None;
    stream[2].kind = "redacted".to_owned();
    stream[2].body = "{\"seq\":2}".to_owned();
    rehash(stream);
    Log { streams: log.streams, ..Log::default() }.grow(&[3, 1]).grow(&[5, 1, 2]).grow(&[5, 4, 2])
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Returns what the file of vectors must hold.
fn vectors(log: &Log) -> Value {
    let leaves = log.leaves.as_slice();
    let hashes = log.leaves.tree_hashes();
    let sizes = 0..=hashes.len();
    let note = |size: usize| Checkpoint::sign(&log.leaves.first(size as u64).unwrap(), &key());
    let checkpoints = [2, 4, hashes.len()].map(|size| json!({ "size": size, "note": note(size) }));
    let inclusion = sizes.clone().flat_map(|size| (0..size).map(move |index| (index, size)));
    let consistency = sizes.clone().flat_map(|size| (0..=size).map(move |from| (from, size)));
    let events = log.streams.iter().flat_map(|events| {
        let before = std::iter::once(GENESIS).chain(events.iter().map(|event| event.hash));
        before.zip(events).map(|(previous, event)| {
            json!({
                "stream": event.stream.to_string(),
                "previous": previous.to_string(),
                "event": serde_json::to_value(EventLine::from(event)).unwrap(),
            })
        })
    });
    json!({
        "private_key": key().secret_text(),
        "public_key": key().verifier().to_string(),
        "leaves": leaves.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "leaf_hashes": hashes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "roots": sizes.clone().map(|size| tree::root(&hashes[..size]).to_string()).collect::<Vec<_>>(),
        "inclusion": inclusion.map(|(index, size)| json!({
            "index": index, "size": size, "proof": tree::inclusion_proof(&hashes[..size], index).unwrap(),
        })).collect::<Vec<_>>(),
        "consistency": consistency.map(|(from, size)| json!({
            "from": from, "size": size, "proof": tree::consistency_proof(&hashes[..size], from).unwrap(),
        })).collect::<Vec<_>>(),
        "checkpoints": checkpoints,
        "events": events.collect::<Vec<_>>(),
        "bundles": bundles(log).into_iter().map(|(name, _, said)| (name, said)).collect::<BTreeMap<_, _>>(),
    })
}

/// Returns the bundles that are sound, each with what the second verifier says of it. What was forged without the key, a
/// stream without a leaf and an event behind the last leaf of one, is not called signed.
fn bundles(log: &Log) -> [(&'static str, Vec<String>, &'static str); 4] {
    let mut extra = log.clone();
    extra.streams.push(Vec::new());
    append(&mut extra.streams[3], stream(9));
    append(&mut extra.streams[3], stream(9));
    let mut tail = log.clone();
    append(&mut tail.streams[1], stream(2));
    [
        ("whole.bundle", log.whole(Some(2)), "3 streams, 11 events, signed by debates.example.org"),
        ("single.bundle", log.single(1, Some(2)), "1 stream, 4 events, signed by debates.example.org"),
        (
            "extra.bundle",
            extra.whole(Some(2)),
            "4 streams, 13 events, signed by debates.example.org; 1 stream and 2 events are not signed",
        ),
        (
            "tail.bundle",
            tail.single(1, Some(2)),
            "1 stream, 5 events, signed by debates.example.org; 0 streams and 1 event are not signed",
        ),
    ]
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_vectors_are_what_is_computed() {
    let log = log();
    let stored = std::fs::read_to_string(folder().join("proof.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), vectors(&log));
    let since =
        Checkpoint::open(&Checkpoint::sign(&log.leaves.first(2).unwrap(), &key()), &verifier()).unwrap();
    for (name, lines, verdict) in bundles(&log) {
        assert_eq!(std::fs::read_to_string(folder().join(name)).unwrap(), text(&lines), "{name}");
        let report = check(&lines, Some(verifier()), Some(since.clone())).unwrap();
        assert!(report.is_sound(), "{name}");
        let is_signed = |it: &StreamReport| it.signed.is_some_and(|seq| seq >= it.head.0);
        assert_eq!(report.streams.iter().all(is_signed), !verdict.contains("not signed"), "{name}");
    }
}

/// Runs the verifier in another language; says so where Python is not there.
fn second_verifier(args: &[&Path]) -> Option<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify_bundle.py");
    match Command::new("python3").arg(script).args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: python3 cannot be run ({error})");
            None
        }
    }
}

#[test]
fn a_second_verifier_agrees_on_every_vector() {
    let Some(output) = second_verifier(&[Path::new("--vectors"), &folder().join("proof.json")]) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("ok     every vector"), "{said}");
}

#[test]
fn k15_a_second_verifier_agrees_on_altered_bundles() {
    let folder = std::env::temp_dir().join(format!("debate-proof-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let older = Checkpoint::sign(&log().leaves.first(2).unwrap(), &key());
    let since = Checkpoint::open(&older, &verifier()).unwrap();
    std::fs::write(folder.join("older"), older).unwrap();
    let mut paths = Vec::new();
    for number in 0..160 {
        let (_, mut lines, _) = bundles(&log())[number % 2].clone();
        let index = (number / 2) % lines.len();
        let mut bytes = lines[index].clone().into_bytes();
        let bit = (number * 7_919) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        // What is no text is found by both when the file is read.
        if let Ok(line) = String::from_utf8(bytes)
            && !line.contains('\n')
        {
            lines[index] = line;
            let report = check(&lines, Some(verifier()), Some(since.clone()));
            assert!(!report.is_ok_and(|report| report.is_sound()), "{}", lines[index]);
            paths.push(folder.join(number.to_string()));
            std::fs::write(&paths[paths.len() - 1], text(&lines)).unwrap();
        }
    }
    let (key, older) = (verifier().to_string(), folder.join("older"));
    let mut args = vec![Path::new("--key"), Path::new(&key), Path::new("--since"), &older];
    args.extend(paths.iter().map(PathBuf::as_path));
    let output = second_verifier(&args);
    std::fs::remove_dir_all(&folder).unwrap();
    let Some(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(paths.len() > 100, "{} of them", paths.len());
    for path in &paths {
        assert!(said.contains(&format!("FAULT  {}: ", path.display())), "{}: {said}", path.display());
    }
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns bundles of one debate that somebody forged without the key, around what it signed, each with what the second
/// verifier says of it.
fn forged(log: &Log) -> [(&'static str, Vec<String>, &'static str); 9] {
    let sound = log.single(0, None);
    let (mut changed, mut shorter) = (log.clone(), log.clone());
    changed.streams[0].last_mut().unwrap().actor = "x".to_owned();
    rehash(&mut changed.streams[0]);
    shorter.streams[0].pop();
    let rewritten = changed.single(0, None);
    let mut twice = rewritten.clone();
    twice.splice(8.., sound[2..8].iter().cloned());
    twice.push(Line::End(End { streams: 1, events: 10 }).text());
    let named = |request_id: &str| {
        let mut lines = sound.clone();
        let place = ",\"inclusion\"";
        lines[2] = lines[2].replacen(place, &format!(",\"request_id\":\"{request_id}\"{place}"), 1);
        lines
    };
    assert!(check(&named(&"x".repeat(REQUEST_ID_BYTES_MAX)), None, None).unwrap().is_sound());
    let longer = format!("\n{}\n\n", "x".repeat(note::BYTES_MAX));
    let mut long_note = sound.clone();
    let note = log.note().replacen("\n\n", &longer, 1);
    long_note[1] = Line::Checkpoint(Signed { note, since: None }).text();
    // All leaves are there, and the first debate brings a proof of its first one alone, behind which it ends.
    let mut ended = log.clone();
    ended.streams[0].truncate(3);
    let mut ended = ended.whole(None);
    let proof = tree::inclusion_proof(&log.leaves.tree_hashes(), 0).unwrap();
    let inclusion = Inclusion { leaf: log.leaves.as_slice()[0].to_string(), index: 0, proof };
    ended[7] = Line::stream(stream(1), Some(inclusion)).text();
    [
        ("ended", ended, "line 8: it does not belong in this place"),
        ("rewritten", rewritten, "event 5: history up to here is not what was recorded"),
        ("shorter", shorter.single(0, None), "cut short at event 4, it had 5"),
        ("twice", twice, "line 9: the stream is there already"),
        ("long-request", named(&"x".repeat(REQUEST_ID_BYTES_MAX + 1)), "line 3: it names no request"),
        ("odd-request", named("a b"), "line 3: it names no request"),
        ("wide-request", named("caf\u{e9}"), "line 3: it names no request"),
        ("unseen-request", named("a\u{7f}"), "line 3: it names no request"),
        ("long-note", long_note, "the note is too long"),
    ]
}

#[test]
fn k15_a_second_verifier_agrees_on_bundles_that_are_forged_around_what_a_key_signed() {
    let folder = std::env::temp_dir().join(format!("debate-proof-forged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let forged = forged(&log());
    let paths = forged.each_ref().map(|(name, ..)| folder.join(name));
    for ((name, lines, _), path) in forged.iter().zip(&paths) {
        for key in [None, Some(verifier())] {
            assert!(!check(lines, key, None).is_ok_and(|report| report.is_sound()), "{name}");
        }
        std::fs::write(path, text(lines)).unwrap();
    }
    let (key, bundles) = (verifier().to_string(), paths.each_ref().map(PathBuf::as_path));
    let with_key = [&[Path::new("--key"), Path::new(&key)], &bundles[..]].concat();
    let ran = [&bundles[..], &with_key].map(second_verifier);
    std::fs::remove_dir_all(&folder).unwrap();
    for output in ran.into_iter().flatten() {
        let said = String::from_utf8_lossy(&output.stdout);
        for ((name, _, expected), path) in forged.iter().zip(&paths) {
            let fault = format!("FAULT  {}: ", path.display());
            let is_fault = |line: &str| line.starts_with(&fault) && line.ends_with(expected);
            assert!(said.lines().any(is_fault), "{name}: {said}");
        }
    }
}

#[test]
fn an_event_is_written_as_it_is_specified() {
    let log = log();
    let line = Line::Event(EventLine::from(&log.streams[0][0])).text();
    assert!(
        line.starts_with("{\"event\":{\"seq\":1,\"kind\":\"opened\",\"version\":1,\"at\":1700000000001,")
    );
}
