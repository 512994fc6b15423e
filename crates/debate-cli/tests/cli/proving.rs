//! Keys, checkpoints, bundles and redaction as auditors use them (rule K15).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::{Program, Ran};
use crate::verifying::alter;

/// A program with a key, `audit.key` and `audit.pub`.
pub(crate) fn audited() -> Program {
    let program = Program::new();
    let made = program.run(["keys", "new", "--name", "debates.example.org", "--file", "audit.key"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    program.write("audit.pub", made.stdout);
    program
}

pub(crate) fn checkpoint(program: &Program) -> Ran {
    program.run(["checkpoint", "--folder", "proof", "--key", "audit.key"])
}

fn verify(program: &Program) -> Ran {
    program.run(["verify", "--checkpoint", "proof", "--key", "audit.pub"])
}

fn in_hex(id: &str) -> String {
    format!("x'{}'", id.replace('-', ""))
}

/// Runs a program in another language that verifies bundles; says so where Python is not there.
pub(crate) fn second_verifier(args: &[&Path]) -> Option<Output> {
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
fn k15_a_debate_that_is_gone_is_found_and_named_by_a_checkpoint_alone() {
    let program = audited();
    let [kept, gone] = ["deliberation.json", "deliberation.json"].map(|name| program.debate(name));
    let signed = checkpoint(&program);
    assert_eq!(signed.code, Some(0), "{signed:?}");
    assert!(signed.stdout.ends_with("checkpoint-000000000002: 2 debates, 2 new or longer\n"));
    let sound = verify(&program);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    assert!(sound.stdout.starts_with("ok     checkpoint of debates.example.org, 2 leaves, root "));
    assert!(sound.stdout.contains(", signed, head "), "{}", sound.stdout);

    alter(&program, &[&format!("DELETE FROM events WHERE stream_id = {}", in_hex(&gone))]);
    assert_eq!(program.run(["verify", "--all"]).code, Some(0), "nothing in the store shows it");
    let found = verify(&program);
    assert_eq!(found.code, Some(4), "{found:?}");
    assert!(
        found.stdout.contains(&format!("FAULT  {gone}  at event 1: removed: it had ")),
        "{}",
        found.stdout
    );
    assert!(found.stdout.contains(&format!("ok     {kept}  ")), "{}", found.stdout);
    assert!(found.stdout.ends_with("2 debates checked, 1 with a fault\n"), "{}", found.stdout);

    let refused = checkpoint(&program);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stdout.contains(&format!("FAULT  debate/{gone}  removed: it had ")),
        "{}",
        refused.stdout
    );
    assert!(refused.stdout.ends_with("nothing was signed: the store contradicts the last checkpoint\n"));
}

#[test]
fn k15_every_way_of_altering_a_store_is_found_against_a_checkpoint() {
    for (what, statement, fault) in [
        ("cut short", "DELETE FROM events WHERE seq > 20", "at event 21: cut short: it ends at event 20"),
        ("removed", "DELETE FROM events WHERE seq = 20", "at event 20: "),
        ("words changed", "UPDATE events SET prose = replace(prose, 'e', 'a') WHERE seq = 1", "at event 1: "),
        ("words gone", "UPDATE events SET prose = NULL, salt = NULL WHERE seq = 1", "at event 1: its words"),
        ("hash changed", "UPDATE events SET hash = zeroblob(32) WHERE seq = 5", "at event 5: "),
        (
            "end rewritten",
            "UPDATE events SET hash = zeroblob(32) WHERE seq = (SELECT max(seq) FROM events)",
            "at event ",
        ),
    ] {
        let program = audited();
        let id = program.debate("deliberation.json");
        assert_eq!(checkpoint(&program).code, Some(0));
        alter(&program, &[statement]);
        let found = verify(&program);
        assert_eq!(found.code, Some(4), "{what}: {found:?}");
        assert!(found.stdout.contains(&format!("FAULT  {id}  {fault}")), "{what}: {}", found.stdout);
        // What was signed is not read again but where it ends.
        if matches!(what, "cut short" | "end rewritten") {
            let refused = checkpoint(&program);
            assert_eq!(refused.code, Some(4), "{what}: {refused:?}");
            assert!(refused.stdout.contains(&format!("FAULT  debate/{id}  ")), "{what}: {refused:?}");
        }
    }
}

#[test]
fn k15_checkpoints_go_on_from_one_another() {
    let program = audited();
    let empty = checkpoint(&Program::new());
    assert_eq!(empty.code, Some(2), "without a key: {empty:?}");
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let unchanged = checkpoint(&program);
    assert_eq!(unchanged.code, Some(0), "{unchanged:?}");
    assert!(unchanged.stdout.starts_with("nothing is new since the last checkpoint"), "{unchanged:?}");
    let second = program.debate("deliberation.json");
    let after = verify(&program);
    assert_eq!(after.code, Some(0), "{after:?}");
    assert!(
        after.stdout.contains(&format!("ok     {second}  ")) && after.stdout.contains(", not signed yet, ")
    );
    let json = program.run(["checkpoint", "--folder", "proof", "--key", "audit.key", "--json"]).json();
    assert_eq!((&json["size"], &json["new"]), (&2.into(), &1.into()));

    // The first checkpoint, which somebody may have kept, still holds.
    let kept = ["verify", "--checkpoint", "proof/checkpoint-000000000001", "--key", "audit.pub", "--json"];
    let kept = program.run(kept);
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert_eq!(kept.lines()[0]["size"], 1);

    // A crash after the leaves and before the note: what was never signed is written anew.
    let leaves = program.path("proof/leaves");
    let mut text = std::fs::read_to_string(&leaves).unwrap();
    text.push_str("debate/6f1c2a4e");
    std::fs::write(&leaves, text).unwrap();
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    assert_eq!(verify(&program).code, Some(0));
    assert!(!std::fs::read_to_string(&leaves).unwrap().contains("debate/6f1c2a4e\n"));
}

#[test]
fn k14_a_fork_is_proved_with_what_it_was_forked_from() {
    let program = audited();
    let parent = program.debate("ice.json");
    let forked = program.run(["fork", &parent, "--json", "--without", "optimist"]);
    let fork = forked.json()["debate_id"].as_str().unwrap().to_owned();
    assert_eq!(checkpoint(&program).code, Some(0));
    assert_eq!(verify(&program).code, Some(0));
    for debates in [&fork, "--all"] {
        let export = ["export", debates, "--checkpoint", "proof", "--output", "fork.bundle"];
        assert_eq!(program.run(export).code, Some(0));
        let found = program.run(["verify", "--bundle", "fork.bundle", "--key", "audit.pub"]);
        assert_eq!(found.code, Some(0), "{found:?}");
        assert!(found.stdout.ends_with("2 debates checked, 0 faults\n"), "{found:?}");
        let store = format!("sqlite://{}.sqlite", &debates[2..5]);
        let imported = program.run(["--store", &store, "import", "fork.bundle", "--key", "audit.pub"]);
        assert_eq!(imported.code, Some(0), "{imported:?}");
        assert_eq!(program.run(["--store", &store, "verify", &fork]).code, Some(0));
    }
    let redacted = program.run(["redact", &fork, "--all-prose"]);
    assert_eq!(redacted.code, Some(0), "{redacted:?}");
    assert_eq!(verify(&program).code, Some(0));
}

#[test]
fn k15_unsigned_debates_are_reported_as_unsigned() {
    let program = audited();
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let late = program.debate("deliberation.json");
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    let check = |id| program.run(["verify", id, "--checkpoint", "proof", "--key", "audit.pub"]);
    assert!(check(&late).stdout.contains(", not signed yet, "));
    assert_eq!(check(unknown_id).code, Some(3));

    let export = ["export", &late, "--checkpoint", "proof", "--output", "late.bundle"];
    let refused = program.run(export);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("is not under that checkpoint yet"), "{refused:?}");
    assert!(!program.path("late.bundle.new").exists() && !program.path("late.bundle").exists());

    let export = ["export", "--all", "--checkpoint", "proof", "--output", "all.bundle"];
    assert_eq!(program.run(export).code, Some(0));
    let found = program.run(["verify", "--bundle", "all.bundle", "--key", "audit.pub"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.stdout.ends_with("2 debates checked, 0 faults, 1 not wholly signed\n"), "{found:?}");
    let imported =
        program.run(["--store", "sqlite://new.sqlite", "import", "all.bundle", "--key", "audit.pub"]);
    assert!(imported.stdout.contains("; 1 debate is not wholly signed"), "{imported:?}");
}

#[test]
fn k15_altered_leaves_and_notes_and_other_keys_are_refused() {
    let program = audited();
    let id = program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let note = program.path("proof/checkpoint-000000000001");
    let leaves = program.path("proof/leaves");
    let edit = |path: &PathBuf, edit: &dyn Fn(String) -> String| {
        let before = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, edit(before.clone())).unwrap();
        let (verified, signed) = (verify(&program), checkpoint(&program));
        let exported = program.run(["export", "--all", "--checkpoint", "proof", "--output", "x.bundle"]);
        assert_eq!(exported.code, Some(4), "{exported:?}");
        std::fs::write(path, before).unwrap();
        assert_eq!((verified.code, signed.code), (Some(4), Some(4)), "{verified:?} {signed:?}");
        (verified, signed)
    };
    let (_, signed) = edit(&note, &|note| note.replacen("\n1\n", "\n2\n", 1));
    assert!(signed.stderr.contains("the signature by debates.example.org does not match"), "{signed:?}");
    let (verified, signed) = edit(&leaves, &|leaf| {
        let (rest, seq) = (leaf.split(' ').collect::<Vec<_>>(), 7);
        format!("{} {seq} {}", rest[0], rest[2])
    });
    assert!(verified.stdout.contains("FAULT  checkpoint of debates.example.org: the 1 leaves are not those"));
    assert!(verified.stdout.contains(&format!("FAULT  {id}  at event 1: rewritten")), "{verified:?}");
    assert!(signed.stderr.contains("the 1 leaves are not those that were signed"), "{signed:?}");
    let log = program.run(["log", &id, "--json"]).lines();
    let (verified, _) = edit(&leaves, &|_| format!("debate/{id} 7 {}\n", log[6]["hash"].as_str().unwrap()));
    assert!(verified.stdout.contains("events") && !verified.stdout.contains(", signed"), "{verified:?}");
    let (verified, _) = edit(&leaves, &|_| String::new());
    assert!(verified.stdout.contains("1 leaves were signed, only 0 are there"), "{verified:?}");

    let other = program.run(["keys", "new", "--name", "debates.example.org", "--file", "other.key"]);
    let found = program.run(["verify", "--checkpoint", "proof", "--key", other.stdout.trim()]);
    assert_eq!(found.code, Some(4), "{found:?}");
    assert!(found.stderr.contains("the note is not signed by debates.example.org+"), "{}", found.stderr);
}

#[test]
fn a_bundle_is_verified_elsewhere_and_restored_to_the_byte() {
    let program = audited();
    let ids = ["ice.json", "deliberation.json"].map(|name| program.debate(name));
    assert_eq!(checkpoint(&program).code, Some(0));
    let one = program.run(["export", &ids[0], "--checkpoint", "proof", "--output", "one.bundle"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let all = program.run(["export", "--all", "--checkpoint", "proof", "--output", "all.bundle"]);
    assert_eq!(all.code, Some(0), "{all:?}");

    // Another machine: nothing but the bundles and the public key.
    let elsewhere = Program::new();
    for name in ["one.bundle", "all.bundle", "audit.pub"] {
        elsewhere.write(name, std::fs::read(program.path(name)).unwrap());
    }
    for (name, debates) in [("one.bundle", 1), ("all.bundle", 2)] {
        let sound = elsewhere.run(["verify", "--bundle", name, "--key", "audit.pub"]);
        assert_eq!(sound.code, Some(0), "{sound:?}");
        assert!(sound.stdout.contains("1 outcome recomputed, signed, head "), "{}", sound.stdout);
        assert!(
            sound.stdout.contains(&format!("\n{debates} debate"))
                && sound.stdout.ends_with(" checked, 0 faults\n"),
            "{}",
            sound.stdout
        );
    }
    let unsigned = elsewhere.run(["verify", "--bundle", "one.bundle"]);
    assert!(unsigned.stdout.contains("without --key its signature is not checked"), "{unsigned:?}");

    for _ in 0..2 {
        let imported = elsewhere.run(["import", "all.bundle", "--key", "audit.pub"]);
        assert_eq!(imported.code, Some(0), "{imported:?}");
    }
    for id in &ids {
        let [here, there] = [&program, &elsewhere].map(|it| it.run(["log", id, "--json"]).stdout);
        assert_eq!(here, there);
    }
    let proof = program.path("proof");
    let args = ["verify", "--checkpoint", proof.to_str().unwrap(), "--key", "audit.pub"];
    assert_eq!(elsewhere.run(args).code, Some(0), "the checkpoint holds for the restored store");

    if let Some(output) = second_verifier(&[
        Path::new("--key"),
        &program.path("audit.pub"),
        &program.path("one.bundle"),
        &program.path("all.bundle"),
    ]) {
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(text.matches(", signed by debates.example.org\n").count(), 2, "{text}");
    }
}

#[test]
fn k15_an_altered_bundle_is_found_by_both_verifiers_and_not_imported() {
    let program = audited();
    let [kept, gone] = ["deliberation.json", "deliberation.json"].map(|name| program.debate(name));
    assert_eq!(checkpoint(&program).code, Some(0));
    let export = ["export", "--all", "--checkpoint", "proof", "--output", "all.bundle"];
    alter(&program, &[&format!("DELETE FROM events WHERE stream_id = {}", in_hex(&gone))]);
    assert_eq!(program.run(export).code, Some(0), "an export says what there is");
    let missing = program.run(["verify", "--bundle", "all.bundle", "--key", "audit.pub"]);
    assert!(missing.stdout.contains(&format!("FAULT  {gone}  at event 1: removed")), "{missing:?}");
    alter(&program, &["UPDATE events SET actor = 'x' WHERE seq = 9"]);
    let export = ["export", &kept, "--checkpoint", "proof", "--output", "changed.bundle"];
    assert_eq!(program.run(export).code, Some(0));
    let changed = program.run(["verify", "--bundle", "changed.bundle", "--key", "audit.pub"]);
    assert!(changed.stdout.contains(&format!("FAULT  {kept}  at event 9: ")), "{changed:?}");
    let torn = std::fs::read(program.path("all.bundle")).unwrap();
    program.write("torn.bundle", &torn[..torn.len() / 2]);

    for name in ["all.bundle", "changed.bundle", "torn.bundle"] {
        let found = program.run(["verify", "--bundle", name, "--key", "audit.pub"]);
        assert_eq!(found.code, Some(4), "{name}: {found:?}");
        let refused = program.run(["--store", "sqlite://new.sqlite", "import", name, "--key", "audit.pub"]);
        assert_eq!(refused.code, Some(4), "{name}: {refused:?}");
        assert!(!program.path("new.sqlite").exists(), "nothing was imported");
        let [key, path] = ["audit.pub", name].map(|name| program.path(name));
        if let Some(output) = second_verifier(&[Path::new("--key"), &key, &path]) {
            assert_eq!(output.status.code(), Some(4), "{name}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

#[test]
fn k15_a_bundle_proves_that_it_continues_what_was_seen_before() {
    let program = audited();
    let id = program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let seen = "proof/checkpoint-000000000001";
    let export = ["export", &id, "--checkpoint", "proof", "--since", seen, "--output", "one.bundle"];
    assert_eq!(program.run(export).code, Some(0));
    let check = ["verify", "--bundle", "one.bundle", "--key", "audit.pub", "--since", seen];
    assert_eq!(program.run(check).code, Some(0));

    // What another key signed was not seen before, whatever it says.
    let other = program.run(["keys", "new", "--name", "debates.example.org", "--file", "other.key"]);
    assert_eq!(other.code, Some(0), "{other:?}");
    let signed = program.run(["checkpoint", "--folder", "made-up", "--key", "other.key"]);
    assert_eq!(signed.code, Some(0), "{signed:?}");
    let made_up = "made-up/checkpoint-000000000002";
    let found = program.run(["verify", "--bundle", "one.bundle", "--key", "audit.pub", "--since", made_up]);
    assert_eq!(found.code, Some(4), "{found:?}");
    assert!(found.stderr.contains("the note is not signed by debates.example.org+"), "{found:?}");
    let [key, since, bundle] = ["audit.pub", made_up, "one.bundle"].map(|name| program.path(name));
    let args = [Path::new("--key"), &key, Path::new("--since"), &since, &bundle];
    if let Some(output) = second_verifier(&args) {
        let (code, stdout) = (output.status.code(), String::from_utf8(output.stdout).unwrap());
        assert!(code == Some(4) && stdout.contains("the note is not signed by the key"), "{stdout}");
    }

    let without = ["export", &id, "--checkpoint", "proof", "--output", "one.bundle"];
    assert_eq!(program.run(without).code, Some(0));
    let found = program.run(check);
    assert_eq!(found.code, Some(4), "{found:?}");
    assert!(
        found.stdout.contains("does not prove that it continues the checkpoint of 1 leaves"),
        "{found:?}"
    );

    // Another history under the same key.
    std::fs::rename(program.path("debates.sqlite"), program.path("before.sqlite")).unwrap();
    let other = program.debate("deliberation.json");
    let forked = program.run(["checkpoint", "--folder", "forked", "--key", "audit.key"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    let export = ["export", &other, "--checkpoint", "forked", "--since", seen, "--output", "one.bundle"];
    let refused = program.run(export);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let export = ["export", &other, "--checkpoint", "forked", "--output", "one.bundle"];
    assert_eq!(program.run(export).code, Some(0));
    assert_eq!(program.run(["verify", "--bundle", "one.bundle", "--key", "audit.pub"]).code, Some(0));
    let found = program.run(check);
    assert_eq!(found.code, Some(4), "{found:?}");
    assert!(found.stdout.contains("is not shown to begin with the 1 that were seen before"), "{found:?}");
}

#[test]
fn k15_redacted_words_are_gone_and_everything_still_verifies_and_says_so() {
    let program = audited();
    let id = program.debate("ice.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let question = "ice";
    assert!(program.run(["log", &id, "--json"]).stdout.to_lowercase().contains(question));
    let one = program.run(["redact", &id, "--event", "1"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    assert!(one.stdout.contains("1 redaction recorded, the words of 1 event deleted"), "{one:?}");
    let all = program.run(["redact", &id, "--all-prose", "--json"]).json();
    assert_eq!(all["recorded"], all["deleted"]);
    assert!(all["recorded"].as_u64().unwrap() > 31);

    let log = program.run(["log", &id, "--json"]).lines();
    assert!(log.iter().all(|event| event["prose"].is_null()));
    assert!(program.run(["show", &id]).stdout.contains("REDACTED"));
    let verified = program.run(["verify", &id, "--json"]).json();
    let redacted = all["recorded"].as_u64().unwrap() + 1;
    assert_eq!((&verified["ok"], verified["redacted"].as_u64()), (&true.into(), Some(redacted)));
    let verified = verify(&program);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.stdout.contains(&format!(", {redacted} redacted, signed up to event ")), "{verified:?}");

    assert_eq!(checkpoint(&program).code, Some(0));
    let export = ["export", "--all", "--checkpoint", "proof", "--output", "all.bundle"];
    assert_eq!(program.run(export).code, Some(0));
    let bundled = program.run(["verify", "--bundle", "all.bundle", "--key", "audit.pub"]);
    assert_eq!(bundled.code, Some(0), "{bundled:?}");
    assert!(bundled.stdout.contains(&format!(", {redacted} redacted, signed, head ")), "{bundled:?}");
    if let Some(output) = second_verifier(&[&program.path("all.bundle")]) {
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn k15_words_whose_deletion_a_bundle_records_are_deleted_where_they_are_stored() {
    let (program, elsewhere) = (Program::new(), Program::new());
    let id = program.debate("ice.json");
    let export = |name: &str| {
        assert_eq!(program.run(["export", &id, "--output", name]).code, Some(0));
        program.path(name)
    };
    let import = |bundle: &Path| {
        let ran = elsewhere.run(["import".as_ref(), bundle.as_os_str()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    let worded = export("worded.bundle");
    assert_eq!(program.run(["redact", &id, "--event", "1"]).code, Some(0));
    let recorded = export("recorded.bundle");
    assert!(!import(&worded).contains("deleted"));

    assert!(import(&recorded).contains("; the words of 1 event are deleted, as it records\n"));
    let found = elsewhere.run(["verify", &id, "--json"]).json();
    assert_eq!((&found["redacted"], &found["unfinished_redactions"]), (&1.into(), &serde_json::Value::Null));
    let is_wordless = || elsewhere.run(["log", &id, "--json"]).lines()[0]["prose"].is_null();
    assert!(is_wordless(), "those words and no others");
    assert!(!import(&recorded).contains("deleted"), "nothing is left to delete");
    assert!(!import(&worded).contains("deleted"));
    assert!(is_wordless(), "and words do not come back");
}

#[test]
fn k15_words_whose_deletion_a_bundle_records_are_deleted_though_the_store_has_another_debate_otherwise() {
    let (program, elsewhere) = (Program::new(), Program::new());
    let mut ids = [(); 3].map(|()| program.debate("ice.json"));
    ids.sort();
    // The bundle has them in this order.
    let [before, other, behind] = &ids;
    let import = |name: &str| {
        assert_eq!(program.run(["export", "--all", "--output", name]).code, Some(0));
        elsewhere.run(["import".as_ref(), program.path(name).as_os_str()])
    };
    assert_eq!(import("worded.bundle").code, Some(0));
    for (program, how) in [(&program, "yes"), (&elsewhere, "no")] {
        assert_eq!(program.run(["resolve", other, how]).code, Some(0));
    }
    for deleted in [before, behind] {
        assert_eq!(program.run(["redact", deleted, "--event", "1"]).code, Some(0));
    }

    let refused = import("recorded.bundle");
    let expected = format!("the store has other events in debate/{other}; it keeps them\n");
    assert!(refused.code == Some(4) && refused.stderr.ends_with(&expected), "{refused:?}");
    for (id, redacted) in [(before, 1), (other, 0), (behind, 1)] {
        let found = elsewhere.run(["verify", id, "--json"]).json();
        let unfinished = &found["unfinished_redactions"];
        assert_eq!((&found["redacted"], unfinished), (&redacted.into(), &serde_json::Value::Null), "{found}");
    }
}

#[test]
fn a_redaction_that_cannot_be_is_refused() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    for (args, code, why) in [
        (["redact", &id, "--event", "999"], 2, "the debate has no event 999"),
        (["redact", &id, "--event", "2"], 2, "event 2 has no words"),
        (["redact", "00000000-0000-4000-8000-000000000000", "--event", "1"], 3, "there is no debate"),
    ] {
        let refused = program.run(args);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(program.run(["redact", &id]).code, Some(2), "what to redact must be said");
}

#[test]
fn a_private_key_is_owner_only_and_never_overwritten() {
    let program = audited();
    let path = program.path("audit.key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let before = std::fs::read_to_string(&path).unwrap();
    let again = program.run(["keys", "new", "--name", "x", "--file", "audit.key"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(program.path("elsewhere"), program.path("link.key")).unwrap();
        let led = program.run(["keys", "new", "--name", "x", "--file", "link.key"]);
        assert_eq!((led.code, program.path("elsewhere").exists()), (Some(2), false), "{led:?}");
    }
    let is_warned_of = |key: &str| program.run(["keys", "public", key]).stderr.contains("use chmod 600");
    assert!(!is_warned_of("audit.key"));
    #[cfg(unix)]
    for mode in [0o640, 0o604] {
        use std::os::unix::fs::PermissionsExt;
        std::fs::copy(&path, program.path("copied.key")).unwrap();
        std::fs::set_permissions(program.path("copied.key"), PermissionsExt::from_mode(mode)).unwrap();
        assert!(is_warned_of("copied.key"), "{mode:o}");
    }
    let public = program.run(["keys", "public", "audit.key"]);
    assert_eq!(public.stdout, std::fs::read_to_string(program.path("audit.pub")).unwrap());
    let swapped = program.run(["verify", "--checkpoint", "proof", "--key", "audit.key"]);
    assert_eq!(swapped.code, Some(2), "{swapped:?}");
    assert!(!swapped.stderr.contains(before.trim()), "the private key is not shown");
    let bad = program.run(["keys", "new", "--name", "a b", "--file", "b.key"]);
    assert_eq!((bad.code, program.path("b.key").exists()), (Some(2), false), "{bad:?}");
}
