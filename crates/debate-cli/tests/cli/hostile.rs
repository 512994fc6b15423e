//! Bundles that somebody forged without the key: both verifiers come to the same verdict.

use std::io::Write as _;
use std::path::Path;

use debate_core::chain::{ChainCheck, hash_of};
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::program::{Program, example};
use crate::proving::{audited, checkpoint, second_verifier};
use crate::steering::{STEERS, is_calm};
use crate::verifying::alter;

const FORGED: &str = "11111111-2222-4333-8444-555555555555";

/// What both verifiers must come to.
enum Verdict {
    Fault,
    Sound,
    /// No fault, but not all of it is signed, as the second verifier says in these words.
    Unsigned(&'static str),
}

/// Returns the hash of an event that has no prose.
fn chained(previous: &Value, stream: &Value, event: &Value) -> String {
    hash_of(&serde_json::from_value(previous.clone()).unwrap(), &wordless(stream, event)).to_string()
}

/// Returns an event of a bundle without its prose.
pub(crate) fn wordless(stream: &Value, event: &Value) -> Envelope {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Envelope {
        stream: StreamId {
            kind: StreamKind::from_name(&text(&stream["kind"])).unwrap(),
            id: text(&stream["id"]).parse().unwrap(),
        },
        seq: Seq(event["seq"].as_u64().unwrap()),
        kind: text(&event["kind"]),
        version: 1,
        at: Timestamp(event["at"].as_i64().unwrap()),
        tenant: text(&event["tenant"]),
        actor: text(&event["actor"]),
        trace: None,
        body: text(&event["body"]),
        prose: None,
        prose_digest: None,
        hash: Digest::default(),
    }
}

/// Appends an event to the first debate of a bundle, chained as anybody can who has no key.
fn append(lines: Vec<Value>, kind: &str, body: &str) -> Vec<Value> {
    append_to("opened", lines, kind, body)
}

/// Returns where in a bundle the first debate begins whose first event is of a kind.
fn begin_of(first: &str, lines: &[Value]) -> usize {
    let begins = |pair: &[Value]| pair[0].get("stream").is_some() && pair[1]["event"]["kind"] == first;
    lines.windows(2).position(begins).unwrap()
}

/// Appends an event to the first debate of a bundle whose first event is of a kind.
pub(crate) fn append_to(first: &str, mut lines: Vec<Value>, kind: &str, body: &str) -> Vec<Value> {
    let begin = begin_of(first, &lines);
    let events = lines[begin + 1..].iter().take_while(|line| line.get("event").is_some()).count();
    let last = &lines[begin + events]["event"];
    let mut event = json!({
        "seq": events + 1, "kind": kind, "version": 1, "at": last["at"],
        "tenant": last["tenant"], "actor": last["actor"], "body": body, "hash": "",
    });
    event["hash"] = chained(&last["hash"], &lines[begin]["stream"], &event).into();
    lines.insert(begin + events + 1, json!({ "event": event }));
    counted(lines)
}

/// Gives a bundle an end that counts what it holds.
fn counted(mut lines: Vec<Value>) -> Vec<Value> {
    let count = |name: &str| lines.iter().filter(|line| line.get(name).is_some()).count();
    let end = json!({ "end": { "streams": count("stream"), "events": count("event") } });
    *lines.last_mut().unwrap() = end;
    lines
}

/// Returns a bundle with the debate of another one added, for which there is no leaf.
fn with_another(mut lines: Vec<Value>, other: &[Value]) -> Vec<Value> {
    let begin = other.iter().position(|line| line.get("stream").is_some()).unwrap();
    let end = lines.len() - 1;
    lines.splice(end..end, other[begin..other.len() - 1].iter().cloned());
    counted(lines)
}

fn reordered(mut lines: Vec<Value>) -> Vec<Value> {
    let event = lines.iter_mut().find_map(|line| line.get_mut("event")).unwrap();
    *event = event.as_object().unwrap().clone().into_iter().rev().collect();
    lines
}

pub(crate) fn text(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(bytes).unwrap();
    file.finish().unwrap()
}

/// Exports all debates and returns the lines.
pub(crate) fn exported(program: &Program, args: &[&str]) -> Vec<Value> {
    let ran = program.run([&["export", "--all", "--output", "it.bundle"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    unpacked(&program.path("it.bundle"))
}

/// Returns the lines of a bundle.
pub(crate) fn unpacked(bundle: &std::path::Path) -> Vec<Value> {
    let mut lines = String::new();
    let file = std::fs::File::open(bundle).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut lines).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn k15_both_verifiers_come_to_the_same_verdict_on_forged_bundles() {
    let program = audited();
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let lines = exported(&program, &["--checkpoint", "proof"]);
    let stranger = Program::new();
    stranger.debate("deliberation.json");
    let other = exported(&stranger, &[]);
    let sound = text(&lines);
    let half = sound.len() / 2;
    let forge = |kind, body| text(&append(lines.clone(), kind, body));
    let no_redaction = |body| (forge("redacted", body), Verdict::Fault);
    let own = lines.iter().filter(|line| line.get("event").is_some()).count() + 1;
    let of_itself = format!("{{\"seq\":{own}}}");
    let mut long_leaf = lines.clone();
    let leaf = long_leaf.iter_mut().find_map(|line| line.get_mut("leaf")).unwrap();
    *leaf = format!("debate/{FORGED} {} {}", "9".repeat(5_000), "0".repeat(64)).into();
    // What the key has not signed, though the debate is as it was, and the leaf true.
    let mut one_leaf_more = lines.clone();
    let index = lines.iter().position(|line| line.get("leaf").is_some()).unwrap();
    let (id, first) =
        (&lines[begin_of("opened", &lines)]["stream"]["id"], &lines[index + 2]["event"]["hash"]);
    let leaf = format!("debate/{} 1 {}", id.as_str().unwrap(), first.as_str().unwrap());
    one_leaf_more.insert(index, json!({ "leaf": leaf }));
    let one_more = "; 0 streams and 1 event are not signed";
    let cases = [
        (sound.clone(), Verdict::Sound),
        (gzip(&sound), Verdict::Sound),
        ([gzip(&sound[..half]), gzip(&sound[half..])].concat(), Verdict::Sound),
        ([gzip(&sound), vec![0; 10]].concat(), Verdict::Fault),
        ([gzip(&sound), b"junk".to_vec()].concat(), Verdict::Fault),
        (gzip(&sound)[..half / 8].to_vec(), Verdict::Fault),
        (text(&reordered(lines.clone())), Verdict::Fault),
        (text(&with_another(lines.clone(), &other)), Verdict::Unsigned("; 1 stream and ")),
        (forge("redacted", "{\"seq\":1}"), Verdict::Unsigned(one_more)),
        no_redaction("{}"),
        no_redaction("[]"),
        no_redaction("{\"seq\":\"1\"}"),
        no_redaction("{\"seq\":0}"),
        no_redaction(&of_itself),
        no_redaction("{\"seq\":9999}"),
        (forge("redacted", &"[".repeat(100_000)), Verdict::Fault),
        (text(&long_leaf), Verdict::Fault),
        (text(&one_leaf_more), Verdict::Fault),
        (["[".repeat(100_000).into_bytes(), b"\n".to_vec(), sound.clone()].concat(), Verdict::Fault),
    ];
    for (number, (bytes, verdict)) in cases.into_iter().enumerate() {
        program.write("forged.bundle", bytes);
        let first = program.run(["verify", "--bundle", "forged.bundle", "--key", "audit.pub"]);
        let wanted = if matches!(verdict, Verdict::Fault) { 4 } else { 0 };
        assert_eq!(first.code, Some(wanted), "{number}: {first:?}");
        let unsigned = if let Verdict::Unsigned(words) = verdict { words } else { "" };
        let says_unsigned = first.stdout.contains("not wholly signed");
        assert!(wanted == 4 || says_unsigned != unsigned.is_empty(), "{number}: {first:?}");
        let unchecked = program.run(["verify", "--bundle", "forged.bundle"]);
        assert!(
            unchecked.code == Some(4) || unchecked.stdout.contains(" not wholly signed"),
            "{number}: {unchecked:?}"
        );
        for ran in [Some(&first).filter(|_| wanted == 4), Some(&unchecked)].into_iter().flatten() {
            assert!(!ran.stdout.contains(", signed"), "{number}: {ran:?}");
        }
        let paths = ["audit.pub", "forged.bundle"].map(|name| program.path(name));
        let Some(second) = second_verifier(&[Path::new("--key"), &paths[0], &paths[1]]) else { return };
        let stdout = String::from_utf8_lossy(&second.stdout);
        assert_eq!(second.status.code(), Some(wanted), "{number}: {second:?}");
        assert_eq!(stdout.contains("not signed"), !unsigned.is_empty(), "{number}: {stdout}");
        assert!(stdout.contains(unsigned), "{number}: {stdout}");
    }
}

#[test]
fn k15_words_of_a_proposal_that_go_without_a_record_are_missed() {
    let program = audited();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let file = example("review.json");
    for seed in ["1", "2"] {
        assert_eq!(run(&["review", file.to_str().unwrap(), "--quiet", "--seed", seed]).code, Some(0));
    }
    std::fs::create_dir(program.path("reviewers")).unwrap();
    program.write("reviewers/security.cjs", "const SYSTEM_PROMPT = `Look.`;\n");
    let propose =
        ["policy", "propose", "security", "--reviewers-dir", "reviewers", "--debates-min", "2", "--anyway"];
    assert_eq!(run(&propose).code, Some(0));
    assert_eq!(checkpoint(&program).code, Some(0));
    let mut lines = exported(&program, &["--checkpoint", "proof"]);
    let sound = ["verify", "--bundle", "it.bundle", "--key", "audit.pub"];
    assert_eq!(run(&sound).code, Some(0), "as it was made");

    let unheard_of = append_to("proposal_started", lines.clone(), "unheard_of", "{}");
    let begin = begin_of("proposal_started", &unheard_of);
    let end = begin + unheard_of[begin + 1..].iter().take_while(|line| line.get("event").is_some()).count();
    let fault = format!("at event {}: event {0} of the log of proposals", unheard_of[end]["event"]["seq"]);
    program.write("forged.bundle", text(&append_to("proposal_started", unheard_of, "unheard_of", "{}")));
    let found = run(&["verify", "--bundle", "forged.bundle"]);
    assert!(found.code == Some(4) && found.stdout.contains(&fault), "{fault}: {found:?}");

    let mut events = lines.iter_mut().filter_map(|line| line.get_mut("event")?.as_object_mut());
    let made = events.find(|event| event["kind"] == "proposal_made").unwrap();
    // The order of the rest is how a bundle is written.
    assert!(made.shift_remove("prose").is_some());
    let fault = format!("at event {}: its words were deleted and no redaction is on record", made["seq"]);
    program.write("forged.bundle", text(&lines));
    // Neither a trigger nor the chain keeps words in the store.
    alter(&program, &["UPDATE events SET prose = NULL, salt = NULL WHERE kind = 'proposal_made'"]);
    for args in [
        &["verify", "--all"][..],
        &["verify", "--checkpoint", "proof", "--key", "audit.pub"],
        &["verify", "--bundle", "forged.bundle", "--key", "audit.pub"],
        &["--store", "sqlite://new.sqlite", "import", "forged.bundle", "--key", "audit.pub"],
    ] {
        let found = run(args);
        assert_eq!(found.code, Some(4), "{args:?}: {found:?}");
        let mut faults = found.stdout.lines().filter(|line| line.starts_with("FAULT  policy/"));
        assert!(faults.any(|line| line.ends_with(&fault)), "{args:?}: {found:?}");
    }
    assert!(!program.path("new.sqlite").exists(), "nothing was imported");
    program.write("two.bundle", text(&append_to("proposal_started", lines, "unheard_of", "{}")));
    let found = run(&["verify", "--bundle", "two.bundle"]);
    assert!(found.stdout.contains(&fault), "the first of two that are bad: {found:?}");
    let paths = ["audit.pub", "forged.bundle"].map(|name| program.path(name));
    let Some(second) = second_verifier(&[Path::new("--key"), &paths[0], &paths[1]]) else { return };
    assert_eq!(second.status.code(), Some(4), "{second:?}");
}

/// Takes the words of all events of some lines away; returns what is wrong then.
fn without_words(mut lines: Vec<Value>, begin: usize, end: usize) -> (Vec<Value>, String) {
    let worded = lines[begin..=end].iter_mut().filter_map(|line| line.get_mut("event")?.as_object_mut());
    let taken: Vec<_> =
        worded.filter_map(|event| event.shift_remove("prose").map(|_| &event["seq"])).collect();
    assert!(taken.len() > 1);
    let expected = format!("at event {}: its words were deleted and no redaction is on record", taken[0]);
    (lines, expected)
}

#[test]
fn k14_a_forged_fork_is_believed_no_more_than_any_debate() {
    let program = Program::new();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let parent = program.debate("ice.json");
    let forked = run(&["fork", &parent, "--json", "--without", "optimist"]).json();
    let fork = forked["debate_id"].as_str().unwrap();
    let lines = exported(&program, &[]);
    assert_eq!(run(&["verify", "--bundle", "it.bundle"]).code, Some(0), "as it was made");
    let begin = begin_of("forked", &lines);
    let end = begin + lines[begin + 1..].iter().take_while(|line| line.get("event").is_some()).count();

    let unheard_of = append_to("forked", lines.clone(), "unheard_of", "{}");
    let resumed = append_to("forked", lines.clone(), "resumed", "{\"deadline_at\":0}");
    let opening = lines[begin + 1]["event"]["body"].as_str().unwrap();
    let forked_within = append_to("forked", lines.clone(), "forked", opening);
    let start =
        serde_json::to_value(ChainCheck::new(fork.parse::<DebateId>().unwrap().into()).head().1).unwrap();
    let opened_with = |body: String| {
        let mut lines = lines.clone();
        lines.drain(begin + 2..=end);
        let (stream, event) = (lines[begin]["stream"].clone(), &mut lines[begin + 1]["event"]);
        assert_eq!(event["hash"], chained(&start, &stream, event));
        event["body"] = body.into();
        event["hash"] = chained(&start, &stream, event).into();
        counted(lines)
    };
    let another = opened_with(opening.replace(fork, FORGED));
    let mut body: Value = serde_json::from_str(opening).unwrap();
    assert!(body.as_object_mut().unwrap().shift_remove("debate").is_some());
    let nameless = opened_with(body.to_string());
    let concluded = |place: &str, value: Value| {
        let mut lines = lines.clone();
        let removed = lines.remove(end)["event"].take();
        assert_eq!((&removed["kind"], removed.get("prose")), (&"concluded".into(), None));
        let mut body: Value = serde_json::from_str(removed["body"].as_str().unwrap()).unwrap();
        let stored = body.pointer_mut(place).unwrap();
        assert_ne!(*stored, value);
        *stored = value;
        append_to("forked", lines, "concluded", &body.to_string())
    };
    let outcome = concluded("/outcome_digest", Digest::default().to_string().into());
    let spend = concluded("/spend/calls", 0.into());
    let (wordless, taken) = without_words(lines, begin, end);

    // Who folds nothing can know of words alone.
    let cases = [
        (unheard_of, "unheard_of", 0),
        (resumed, "the debate is concluded", 0),
        (forked_within, "forked stands within a debate", 0),
        (another, "forked begins another debate", 0),
        (nameless, "it does not say which debate it opens", 0),
        (outcome, "the outcome does not follow from the log", 0),
        (spend, "the spend does not follow from the log", 0),
        (wordless, &taken, 4),
    ];
    for (lines, why, second) in cases {
        let path = program.write("forged.bundle", text(&lines));
        for args in [
            &["verify", "--bundle", "forged.bundle"][..],
            &["--store", "sqlite://new", "import", "forged.bundle"],
        ] {
            let found = run(args);
            assert_eq!(found.code, Some(4), "{why}: {found:?}");
            let mut faults =
                found.stdout.lines().filter(|line| line.starts_with(&format!("FAULT  {fork}  ")));
            assert!(faults.any(|line| line.contains(why)), "{why}: {found:?}");
        }
        assert!(!program.path("new").exists(), "nothing was imported");
        if let Some(ran) = second_verifier(&[&path]) {
            assert_eq!(ran.status.code(), Some(second), "{why}: {ran:?}");
        }
    }
}

#[test]
fn k15_a_little_that_unpacks_to_much_is_refused_before_it_is_all_unpacked() {
    let program = audited();
    let endless = gzip(&vec![b'['; 80 * 1024 * 1024]);
    assert!(endless.len() < 100 * 1024);
    // More than a line may have, and no line feed. A reader that goes on reaches bytes that cannot be unpacked, and
    // reports them.
    program.write("bomb.bundle", [&endless, &b"no gzip"[..]].concat());
    for arguments in [&["verify", "--bundle", "bomb.bundle"][..], &["import", "bomb.bundle"]] {
        let refused = program.run(arguments);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(refused.stderr.contains("a line is cut off or too long"), "{refused:?}");
    }
}

/// Tells how long a line may be for the second verifier; then how much of each bundle it unpacks, and what it finds, where a
/// line may have 1 MiB.
const LINES_OF_1_MIB: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
import verify_bundle
print(verify_bundle.LINE_BYTES_MAX)
verify_bundle.LINE_BYTES_MAX = 1 << 20
chunks, sizes = verify_bundle.chunks_of, []
verify_bundle.chunks_of = lambda path: (sizes.append(len(chunk)) or chunk for chunk in chunks(path))
for bundle in sys.argv[2:]:
    sizes.clear()
    faults = verify_bundle.verify(bundle, None, None).faults
    print(sum(sizes), *faults)
"#;

#[test]
fn k15_a_little_that_unpacks_to_much_is_refused_by_the_second_verifier_too() {
    let program = Program::new();
    let bomb = program.write("bomb.bundle", gzip(&vec![b'['; 4 << 20]));
    let ended = program.write("ended.bundle", gzip(&[vec![b'['; 3 << 19], b"\n".to_vec()].concat()));
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let script = ["-B", "-c", LINES_OF_1_MIB];
    let Ok(ran) = std::process::Command::new("python3").args(script).args([docs, bomb, ended]).output()
    else {
        println!("skipped: python3 cannot be run");
        return;
    };
    // Twice what a line may have, piece by piece, and not all of it; a line that has an end is too long all the same.
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let too_long = "line 0: it is too long";
    assert_eq!(stdout, format!("67108864\n2097152 {too_long}\n1572865 {too_long}\n"), "{ran:?}");
}

#[test]
fn k15_of_what_is_wrong_with_a_debate_of_a_bundle_only_the_beginning_is_kept() {
    let program = Program::new();
    program.debate("deliberation.json");
    let lines = exported(&program, &[]);
    // Of one of them a letter stands across the end of the beginning.
    for name in ["unheard_of", "unheard_ofx"].map(|name| name.to_owned() + &"\u{e9}".repeat(50_000)) {
        program.write("forged.bundle", text(&append(lines.clone(), &name, "{}")));
        let found = program.run(["verify", "--bundle", "forged.bundle"]);
        assert_eq!(found.code, Some(4), "{found:?}");
        assert!(found.stdout.contains("unheard_of") && found.stdout.len() < 2_000, "{found:?}");
    }
}

#[test]
fn k15_with_a_key_nothing_is_imported_of_a_bundle_that_it_did_not_sign() {
    let program = audited();
    let run = |args: &[&str]| program.run(args.iter().copied());
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let lines = exported(&program, &["--checkpoint", "proof"]);
    let is_proof = |line: &&Value| line.get("checkpoint").or(line.get("leaf")).is_some();
    let bare: Vec<Value> = lines.iter().filter(|line| !is_proof(line)).cloned().collect();
    program.write("bare.bundle", text(&bare));
    let other = run(&["keys", "new", "--name", "debates.example.org", "--file", "other.key"]);
    program.write("other.pub", other.stdout);
    for (bundle, key, why) in [
        ("it.bundle", "other.pub", "the note is not signed by debates.example.org+"),
        ("bare.bundle", "audit.pub", "the bundle carries no checkpoint"),
    ] {
        let import = ["--store", "sqlite://new.sqlite", "import", bundle, "--key", key];
        for args in [&["verify", "--bundle", bundle, "--key", key][..], &import] {
            let found = run(args);
            assert!(found.code == Some(4) && found.stdout.contains(why), "{args:?}: {found:?}");
        }
        assert!(!program.path("new.sqlite").exists(), "nothing was imported");
        let paths = [key, bundle].map(|name| program.path(name));
        if let Some(second) = second_verifier(&[Path::new("--key"), &paths[0], &paths[1]]) {
            assert_eq!(second.status.code(), Some(4), "{bundle}: {second:?}");
        }
        // There is nothing else wrong with it.
        assert_eq!(run(&["verify", "--bundle", bundle]).code, Some(0), "{bundle}");
    }
    let signed = run(&["--store", "sqlite://new.sqlite", "import", "it.bundle", "--key", "audit.pub"]);
    assert_eq!(signed.code, Some(0), "{signed:?}");
}

#[test]
fn k13_what_is_wrong_with_a_bundle_steers_no_terminal() {
    let program = Program::new();
    program.debate("deliberation.json");
    let lines = exported(&program, &[]);
    program.write("forged.bundle", text(&append(lines, STEERS, "{}")));
    for command in [&["verify", "--bundle", "forged.bundle"][..], &["import", "forged.bundle"]] {
        let ran = program.run(command);
        assert!(ran.code != Some(0) && is_calm(&[ran.stdout, ran.stderr].concat()), "{command:?}");
    }

    let program = audited();
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let mut lines = exported(&program, &["--checkpoint", "proof"]);
    let note = lines.iter_mut().find_map(|line| line.pointer_mut("/checkpoint/note")).unwrap();
    *note = note.as_str().unwrap().replacen("debates.example.org", STEERS, 1).into();
    program.write("forged.bundle", text(&lines));
    let found = program.run(["verify", "--bundle", "forged.bundle"]);
    assert!(is_calm(&found.stdout), "who made the checkpoint is shown all the same: {found:?}");

    let made = program.run(["keys", "new", "--name", "an\u{202e}owned.name", "--file", "odd.key"]);
    program.write("odd.pub", made.stdout);
    let signed = program.run(["checkpoint", "--folder", "odd", "--key", "odd.key"]);
    assert_eq!(signed.code, Some(0), "{signed:?}");
    exported(&program, &["--checkpoint", "odd"]);
    std::fs::copy(program.path("it.bundle"), program.path("odd.bundle")).unwrap();
    exported(&program, &["--checkpoint", "proof"]);
    program.write("no.leaves", "");
    let of_a_record = ["verify", "--checkpoint", "odd", "--key", "odd.pub"];
    for (command, code) in [
        (&["verify", "--bundle", "odd.bundle", "--key", "odd.pub"][..], 0),
        (&["verify", "--bundle", "it.bundle", "--key", "odd.pub"], 4),
        (&of_a_record, 0),
        (&[&of_a_record[..], &["--leaves", "no.leaves"]].concat(), 4),
    ] {
        let ran = program.run(command);
        assert!(is_calm(&ran.stdout), "whose key it is is shown all the same: {command:?}: {ran:?}");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{command:?}");
    }
}

#[test]
fn an_import_tells_which_debates_would_go_on() {
    let stranger = Program::new();
    stranger.debate("deliberation.json");
    let whole = exported(&stranger, &[]);
    let mut begun = whole.clone();
    begun.truncate(8);
    begun.push(json!({}));
    let program = Program::new();
    for (lines, is_unfinished) in [(counted(begun), true), (whole, false)] {
        program.write("it.bundle", text(&lines));
        let imported = program.run(["import", "it.bundle"]);
        assert_eq!(imported.code, Some(0), "{imported:?}");
        let says_unfinished = imported.stdout.contains("; 1 debate has not ended and will go on");
        assert_eq!(says_unfinished, is_unfinished, "{imported:?}");
    }
}

#[test]
fn k15_another_history_of_a_debate_is_not_imported_however_long_it_is() {
    let program = Program::new();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let id = program.debate("ice.json");
    assert_eq!(run(&["export", &id, "--output", "early.bundle"]).code, Some(0));
    // Elsewhere it had another end, soundly chained: as long as here, or longer.
    let elsewhere = Program::new();
    let done = |args: &[&str]| assert_eq!(elsewhere.run(args.iter().copied()).code, Some(0), "{args:?}");
    elsewhere.write("early.bundle", std::fs::read(program.path("early.bundle")).unwrap());
    done(&["import", "early.bundle"]);
    for (name, more) in
        [("same.bundle", ["resolve", &id, "no"]), ("longer.bundle", ["redact", &id, "--all-prose"])]
    {
        done(&more);
        done(&["export", &id, "--output", name]);
        program.write(name, std::fs::read(elsewhere.path(name)).unwrap());
    }
    assert_eq!(run(&["resolve", &id, "yes"]).code, Some(0));
    let is_refused = |name: &str| {
        let before = run(&["log", &id, "--json"]).stdout;
        let refused = run(&["import", name]);
        let expected = format!("the store has other events in debate/{id}; it keeps them");
        assert!(refused.code == Some(4) && refused.stderr.contains(&expected), "{name}: {refused:?}");
        assert_eq!(refused.stdout, "");
        assert_eq!(run(&["log", &id, "--json"]).stdout, before, "{name}: nothing is written");
    };
    is_refused("same.bundle");
    is_refused("longer.bundle");
    assert_eq!(run(&["redact", &id, "--event", "1"]).code, Some(0));
    // What is in the bundle is shorter now than what is here.
    is_refused("same.bundle");
    assert_eq!(run(&["import", "early.bundle"]).code, Some(0), "a beginning of what is here is the same");
}
