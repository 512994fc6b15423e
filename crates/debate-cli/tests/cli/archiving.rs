//! `debate archive` and `restore`: what leaves the store is in the archive, whatever happens in between.

use std::fs;
use std::io::BufReader;
use std::process::Stdio;

use serde_json::Value;

use crate::hostile::{gzip, text, unpacked};
use crate::program::{Program, Ran, example};
use crate::proving::{audited, checkpoint, second_verifier};
use crate::verifying::alter;

fn says(ran: &Ran, code: i32, text: &str) {
    assert!(ran.code == Some(code) && ran.stdout.contains(text), "{text}: {ran:?}");
}

/// Returns the name of a debate's bundle.
fn bundle_of(program: &Program, id: &str) -> String {
    let shown = program.run(["show", id, "--json"]).json();
    assert_eq!(shown["status"], "archived");
    shown["bundle"].as_str().unwrap().to_owned()
}

/// A store that is signed and all of whose debates are archived: a prediction, a fork of it, a deliberation with a redaction.
struct Archived {
    program: Program,
    parent: String,
    fork: String,
    topic: String,
    /// Their logs before the redaction.
    logs: [String; 3],
}

fn archived() -> Archived {
    let program = audited();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let parent = program.debate("ice.json");
    let fork = run(&["fork", &parent, "--json", "--without", "optimist"]).json()["debate_id"].clone();
    let fork = fork.as_str().unwrap().to_owned();
    let topic = program.debate("deliberation.json");
    let logs = [&parent, &fork, &topic].map(|id| run(&["log", id, "--json"]).stdout);
    assert_eq!(run(&["redact", &topic, "--event", "5"]).code, Some(0));
    assert_eq!(checkpoint(&program).code, Some(0));
    let held_back = run(&["archive", &parent, "--to", "archive"]);
    says(
        &held_back,
        2,
        &format!("kept      {parent}  debate {fork} was forked from it, and is in the store\n"),
    );
    let archived = run(&["archive", "--older-than", "0", "--to", "archive"]);
    assert_eq!((archived.code, archived.stdout.matches("archived  ").count()), (Some(0), 3), "{archived:?}");
    Archived { program, parent, fork, topic, logs }
}

#[test]
fn k15_an_archived_debate_is_missing_without_its_archive_and_proved_with_it() {
    let Archived { program, parent, fork, topic, .. } = archived();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let again = run(&["archive", &parent, "--to", "archive", "--json"]).json();
    assert_eq!((&again["archived"], &again["bundle"]), (&true.into(), &bundle_of(&program, &parent).into()));

    let elsewhere = run(&["archive", &parent, "--to", "elsewhere"]);
    says(&elsewhere, 2, "which is not in elsewhere\n");

    // What stays says where they are.
    let listed = run(&["list", "--json"]).lines();
    let statuses: Vec<_> =
        listed.iter().map(|it| (it["debate_id"].as_str().unwrap(), &it["status"])).collect();
    let status = "archived".into();
    assert_eq!(statuses, [(&*topic, &status), (&*fork, &status), (&*parent, &status)]);
    assert_eq!(run(&["list", "--status", "concluded"]).stdout, "no debates\n");
    says(&run(&["show", &parent]), 0, &format!("debate {parent} is archived since "));
    let log = run(&["log", &parent]);
    assert!(
        log.code == Some(3) && log.stderr.contains(&format!("debate {parent} is archived in ")),
        "{log:?}"
    );
    says(&run(&["show", &fork, "--archive", "archive"]), 0, "Will");

    // Without the archive they are missing, with it they are proved.
    let verify = ["verify", "--checkpoint", "proof", "--key", "audit.pub"];
    for args in [&["verify", "--all"][..], &verify] {
        let missing = run(args);
        says(&missing, 4, "3 debates checked, 3 with a fault\n");
        says(&missing, 4, &format!("FAULT  {topic}  at event 1: missing here: it is archived in {topic}-"));
        says(&run(&[args, &["--archive", "archive"]].concat()), 0, "3 debates checked, 0 with a fault\n");
    }
    assert_eq!(run(&["verify", &topic, "--archive", "archive"]).code, Some(0));
    says(&checkpoint(&program), 0, "nothing is new since the last checkpoint");
    let export = ["export", "--all", "--checkpoint", "proof", "--output", "all.bundle"];
    let refused = run(&export);
    assert!(refused.code == Some(2) && refused.stderr.contains("3 debates are archived"), "{refused:?}");
    says(&run(&[&export[..], &["--archive", "archive"]].concat()), 0, "3 debates");
    says(&run(&["verify", "--bundle", "all.bundle", "--key", "audit.pub"]), 0, "3 debates checked, 0 faults");
    let single = program.path("archive").join(bundle_of(&program, &fork));
    if let Some(output) = second_verifier(&[&single]) {
        assert!(output.status.success(), "{output:?}");
    }
    let import = run(&["import", "all.bundle"]);
    assert!(import.code != Some(0) && import.stderr.contains("is archived; restore it first"), "{import:?}");
}

#[test]
fn k15_an_archived_debate_is_restored_to_the_byte_and_from_nothing_else() {
    let Archived { program, parent, fork, topic, logs } = archived();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let single = program.path("archive").join(bundle_of(&program, &fork));
    // A bundle that was changed, and one that is not the debate's, are found.
    let path = program.path("archive").join(bundle_of(&program, &topic));
    let whole = fs::read(&path).unwrap();
    let mut torn = whole.clone();
    torn[whole.len() / 2] ^= 1;
    for bytes in [&torn[..], &whole[..whole.len() - 9], &fs::read(&single).unwrap()] {
        fs::write(&path, bytes).unwrap();
        let found = run(&["verify", "--all", "--archive", "archive"]);
        says(
            &found,
            4,
            &format!("FAULT  {topic}  at event 1: it is archived, and its bundle cannot be used: "),
        );
        says(&found, 4, "3 debates checked, 1 with a fault\n");
        assert_eq!(run(&["restore", &topic, "--from", "archive"]).code, Some(4));
    }
    fs::write(&path, &whole).unwrap();

    let refused = run(&["restore", &fork, "--from", "archive"]);
    assert!(
        refused.code == Some(2)
            && refused.stderr.contains(&format!("forked from {parent}; restore that first"))
    );
    says(&run(&["restore", &parent, &fork, "--from", "archive"]), 0, &format!("restored  {fork}  "));
    says(&run(&["restore", &parent, &topic, "--from", "archive"]), 0, &format!("restored  {topic}  "));
    let after = [&parent, &fork, &topic].map(|id| run(&["log", id, "--json"]).stdout);
    assert_eq!(after[..2], logs[..2], "to the byte");
    assert!(!after[2].starts_with(&logs[2]), "redacted words do not come back");
    let verify = run(&["verify", "--checkpoint", "proof", "--key", "audit.pub"]);
    says(&verify, 0, "3 debates checked, 0 with a fault\n");
    assert_eq!(run(&["resolve", &fork, "yes"]).code, Some(0), "and it goes on");
    let first = single.file_name().unwrap().to_str().unwrap();
    assert_eq!(run(&["archive", &fork, "--to", "archive"]).code, Some(0));
    assert_ne!(bundle_of(&program, &fork), first, "a debate that grew has another bundle");
}

#[test]
fn k15_of_an_archived_debate_no_more_is_read_than_was_archived() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let events = program.run(["log", &id, "--json"]).lines().len();
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let bundle = program.path("archive").join(bundle_of(&program, &id));
    // Elsewhere it has gone on: a sound bundle that goes beyond what was archived.
    let elsewhere = Program::new();
    assert_eq!(elsewhere.run(["import".as_ref(), bundle.as_os_str()]).code, Some(0));
    assert_eq!(elsewhere.run(["resolve", &id, "yes"]).code, Some(0));
    assert_eq!(elsewhere.run(["export", &id, "--output", "longer.bundle"]).code, Some(0));
    let longer = fs::File::open(elsewhere.path("longer.bundle")).unwrap();
    let longer = std::io::read_to_string(flate2::read::MultiGzDecoder::new(longer)).unwrap();
    // A reader that goes on after the first surplus event would reach the invalid line and report it.
    let (before, end) = longer.trim_end().rsplit_once('\n').unwrap();
    for bytes in [&longer, &format!("{before}\nno line of a bundle\n{end}\n")] {
        fs::write(&bundle, bytes).unwrap();
        let refused = program.run(["restore", &id, "--from", "archive"]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        let expected = format!("the debate in it does not end with event {events}, as archived");
        assert!(refused.stderr.contains(&expected), "{refused:?}");
    }
}

#[test]
fn k15_another_end_of_the_same_length_is_not_what_was_archived() {
    let program = Program::new();
    let id = program.debate("ice.json");
    assert_eq!(program.run(["export", &id, "--output", "early.bundle"]).code, Some(0));
    assert_eq!(program.run(["resolve", &id, "yes"]).code, Some(0));
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let bundle = program.path("archive").join(bundle_of(&program, &id));
    // Elsewhere it has had another end: as many events, soundly chained.
    let elsewhere = Program::new();
    let early = program.path("early.bundle");
    assert_eq!(elsewhere.run(["import".as_ref(), early.as_os_str()]).code, Some(0));
    assert_eq!(elsewhere.run(["resolve", &id, "no"]).code, Some(0));
    assert_eq!(elsewhere.run(["export", &id, "--output", "other.bundle"]).code, Some(0));
    assert_eq!(elsewhere.run(["verify", "--bundle", "other.bundle"]).code, Some(0));
    fs::copy(elsewhere.path("other.bundle"), &bundle).unwrap();

    let expected = "the debate in it does not end with event ";
    let shown = program.run(["show", &id, "--archive", "archive"]);
    assert!(shown.code != Some(0) && shown.stdout.is_empty() && shown.stderr.contains(expected), "{shown:?}");
    for args in [&["verify", &id][..], &["verify", "--all"]] {
        let ran = program.run(args.iter().copied().chain(["--archive", "archive"]));
        assert!(ran.code == Some(4) && ran.stdout.contains(expected), "{args:?}: {ran:?}");
    }
    assert_eq!(program.run(["restore", &id, "--from", "archive"]).code, Some(4));
}

#[test]
fn k15_no_name_of_a_bundle_leads_out_of_the_archive() {
    let program = Program::new();
    let id = program.debate("ice.json");
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let bundle = program.path("archive").join(bundle_of(&program, &id));
    // The very bundle, wherever a name could lead.
    let elsewhere = program.path("it.bundle");
    fs::create_dir(program.path("archive/below")).unwrap();
    for path in [&elsewhere, &program.path("archive/below/it.bundle"), &program.path("archive/it.bundle")] {
        fs::copy(&bundle, path).unwrap();
    }
    alter(&program, &["DROP TRIGGER archived_update"]);
    let is_named = |name: &str| alter(&program, &[&format!("UPDATE archived SET bundle = '{name}'")]);
    let absolute = elsewhere.to_str().unwrap();
    for name in ["../it.bundle", absolute, "below/it.bundle", "./it.bundle", "it.bundle/", "..", ".", "/"] {
        is_named(name);
        let expected = format!("{name} is no bundle's name\n");
        let shown = program.run(["show", &id, "--archive", "archive"]);
        assert!(
            shown.code != Some(0) && shown.stdout.is_empty() && shown.stderr.ends_with(&expected),
            "{shown:?}"
        );
        says(&program.run(["verify", &id, "--archive", "archive"]), 4, &expected);
        let restored = program.run(["restore", &id, "--from", "archive"]);
        assert!(restored.code == Some(4) && restored.stderr.ends_with(&expected), "{restored:?}");
        let again = program.run(["archive", &id, "--to", "archive"]);
        says(&again, 2, &format!("kept      {id}  {expected}"));
    }
    is_named("it.bundle");
    says(&program.run(["restore", &id, "--from", "archive"]), 0, "restored  ");
}

#[test]
fn k15_an_archive_out_of_which_words_were_taken_is_neither_shown_nor_restored() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    assert_eq!(program.run(["redact", &id, "--event", "5"]).code, Some(0));
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let bundle = program.path("archive").join(bundle_of(&program, &id));
    let kept = fs::read(&bundle).unwrap();
    let mut lines = unpacked(&bundle);
    let worded = lines.iter_mut().filter_map(|line| line.get_mut("event")?.as_object_mut());
    let event = worded.filter(|event| event.contains_key("prose")).nth(1).unwrap();
    // The order of the rest is how a bundle is written.
    event.shift_remove("prose");
    let expected = format!("event {}: its words were deleted and no redaction is on record", event["seq"]);
    fs::write(&bundle, gzip(&text(&lines))).unwrap();

    let shown = program.run(["show", &id, "--archive", "archive"]);
    assert!(
        shown.code != Some(0) && shown.stdout.is_empty() && shown.stderr.contains(&expected),
        "{shown:?}"
    );
    let verified = program.run(["verify", &id, "--archive", "archive"]);
    assert!(verified.code == Some(4) && verified.stdout.contains(&expected), "{verified:?}");
    let restored = program.run(["restore", &id, "--from", "archive"]);
    assert!(restored.code == Some(4) && restored.stderr.contains(&expected), "{restored:?}");
    fs::write(&bundle, kept).unwrap();
    assert_eq!(
        program.run(["restore", &id, "--from", "archive"]).code,
        Some(0),
        "words that were redacted may lack"
    );
}

#[test]
fn k15_words_that_are_put_back_into_an_archive_are_neither_shown_nor_restored() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    assert_eq!(program.run(["export", &id, "--output", "worded.bundle"]).code, Some(0));
    assert_eq!(program.run(["redact", &id, "--event", "1"]).code, Some(0));
    let shown = program.run(["show", &id]).stdout;
    let log = program.run(["log", &id, "--json"]).stdout;
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let bundle = program.path("archive").join(bundle_of(&program, &id));
    // The deleted text can be put back from a copy: no hash shows whether it is there.
    let (mut lines, worded) = (unpacked(&bundle), unpacked(&program.path("worded.bundle")));
    let first = lines.iter().position(|line| line.get("event").is_some()).unwrap();
    assert!(lines[first]["event"]["prose"].is_null() && !worded[first]["event"]["prose"].is_null());
    lines[first] = worded[first].clone();
    fs::write(&bundle, gzip(&text(&lines))).unwrap();
    assert_eq!(program.run(["verify".as_ref(), "--bundle".as_ref(), bundle.as_os_str()]).code, Some(0));

    assert_eq!(program.run(["show", &id, "--archive", "archive"]).stdout, shown);
    assert_eq!(program.run(["restore", &id, "--from", "archive"]).code, Some(0));
    assert_eq!(program.run(["log", &id, "--json"]).stdout, log);
}

#[test]
fn k15_words_whose_deletion_is_on_record_go_into_no_bundle_and_no_archive_though_they_be_there_still() {
    let program = Program::new();
    let id = program.debate("ice.json");
    alter(&program, &["CREATE TABLE kept AS SELECT position, prose, salt FROM events"]);
    assert_eq!(program.run(["redact", &id, "--all-prose"]).code, Some(0));
    // As a deletion that was cut short leaves it: all is on record, and nothing is deleted.
    alter(
        &program,
        &[
            "UPDATE events SET (prose, salt) = (SELECT prose, salt FROM kept WHERE kept.position = events.position)",
            "DROP TABLE kept",
        ],
    );
    let stored = program.run(["log", &id, "--json"]).lines();
    assert!(stored.iter().any(|event| !event["prose"].is_null()), "the words are there");
    let is_worded = |line: &Value| !line["event"]["prose"].is_null();
    assert_eq!(program.run(["export", &id, "--output", "one.bundle"]).code, Some(0));
    assert!(!unpacked(&program.path("one.bundle")).iter().any(is_worded));
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let archived = program.path("archive").join(bundle_of(&program, &id));
    assert!(!unpacked(&archived).iter().any(is_worded));
}

#[test]
fn what_cannot_be_archived_or_restored_is_one_clear_line() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    alter(&program, &["DELETE FROM events WHERE seq > 20"]);
    says(
        &program.run(["archive", &id, "--to", "archive"]),
        2,
        &format!("kept      {id}  it has not concluded\n"),
    );
    let none = program.run(["archive", "--older-than", "0", "--to", "archive"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    for args in [["archive", unknown_id, "--to", "archive"], ["restore", unknown_id, "--from", "archive"]] {
        let ran = program.run(args);
        assert_eq!((ran.code, ran.stderr), (Some(3), format!("error: there is no debate {unknown_id}\n")));
    }
    let damaged = program.debate("deliberation.json");
    alter(&program, &["UPDATE events SET body = replace(body, '1', '2') WHERE seq = 10"]);
    let kept = program.run(["archive", &damaged, "--to", "archive"]);
    says(
        &kept,
        2,
        &format!("kept      {damaged}  its bundle does not verify; see debate verify {damaged}\n"),
    );
    let left = program.run(["list", "--json", "--status", "concluded"]).lines();
    assert_eq!(left[0]["debate_id"], damaged, "what cannot be proved is not removed");
}

#[test]
fn a_debate_that_cannot_be_read_stays_and_keeps_no_other() {
    let program = Program::new();
    let [sound, damaged] = ["deliberation.json"; 2].map(|name| program.debate(name));
    let hex = damaged.replace('-', "");
    let alien = "UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE seq = 8 AND stream_id = x'";
    alter(&program, &[&format!("{alien}{hex}'")]);
    let ran = program.run(["archive", "--older-than", "0", "--to", "archive"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 2), "{ran:?}");
    // The newest comes first.
    assert!(ran.stdout.starts_with(&format!("kept      {damaged}  ")), "{ran:?}");
    assert!(ran.stdout.contains(&format!("\narchived  {sound}  ")), "{ran:?}");
}

/// Archives and restores with the program killed at every step; `store` names where.
fn killed_at_every_step(store: &[&str]) {
    let program = Program::new();
    let run = |args: &[&str]| program.run(args.iter().chain(store).copied());
    let file = example("deliberation.json");
    let ids: Vec<String> = (0..4)
        .map(|_| {
            run(&["run", file.to_str().unwrap(), "--json"]).json()["debate_id"].as_str().unwrap().to_owned()
        })
        .collect();
    let log = |id: &String| run(&["log", id, "--json"]).stdout;
    let before: Vec<String> = ids.iter().map(log).collect();
    // What earlier attempts may have left: half a draft, and half a bundle.
    fs::create_dir(program.path("archive")).unwrap();
    let events = before[0].lines().count();
    program.write(&format!("archive/{}-{events}.bundle.new", ids[0]), "half");
    program.write(&format!("archive/{}-{events}.bundle", ids[0]), "half");
    let files = |end: &str| {
        let names = fs::read_dir(program.path("archive")).unwrap().map(|it| it.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().ends_with(end)).count()
    };

    let archive = ["archive", "--older-than", "0", "--to", "archive"];
    let kill_when = |args: &[&str], is_time: &mut dyn FnMut(&mut dyn std::io::BufRead) -> bool| {
        let mut child = program.command(args.iter().chain(store)).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        while !is_time(&mut stdout) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    };
    let line = |stdout: &mut dyn std::io::BufRead| stdout.read_line(&mut String::new()).is_ok();
    let nothing_is_lost = |step: &str| {
        let verified = run(&["verify", "--all", "--archive", "archive"]);
        says(&verified, 0, "4 debates checked, 0 with a fault\n");
        assert_eq!(run(&["list", "--json"]).lines().len(), 4, "{step}");
    };
    kill_when(&archive, &mut |_| true);
    nothing_is_lost("at once");
    kill_when(&archive, &mut |_| files(".new") > 1);
    nothing_is_lost("with a draft");
    kill_when(&archive, &mut |_| files(".bundle") > 1);
    nothing_is_lost("with a bundle");
    kill_when(&archive, &mut |stdout| line(stdout));
    nothing_is_lost("with one archived");
    assert_eq!(run(&archive).code, Some(0));
    nothing_is_lost("archived");
    assert_eq!(run(&["list", "--json", "--status", "archived"]).lines().len(), 4);

    let mut restore = vec!["restore"];
    restore.extend(ids.iter().map(String::as_str));
    restore.extend(["--from", "archive"]);
    kill_when(&restore, &mut |_| true);
    nothing_is_lost("at once, back");
    kill_when(&restore, &mut |stdout| line(stdout));
    nothing_is_lost("with one back");
    assert_eq!(run(&restore).code, Some(0));
    says(&run(&["verify", "--all"]), 0, "4 debates checked, 0 with a fault\n");
    assert_eq!(ids.iter().map(log).collect::<Vec<_>>(), before);
}

#[test]
fn k2_an_archive_of_a_file_killed_at_any_step_loses_nothing_and_is_finished_by_the_next() {
    killed_at_every_step(&[]);
}

#[cfg(unix)]
#[test]
fn k2_an_archive_of_a_database_killed_at_any_step_loses_nothing_and_is_finished_by_the_next() {
    let url = debate_postgres_fixture::fresh_database().unwrap();
    killed_at_every_step(&["--store", &url]);
}

#[cfg(unix)]
#[test]
fn bundles_of_an_archive_and_of_exports_are_for_their_owner_alone() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let program = Program::new();
    let id = program.debate("ice.json");
    // What somebody put in the way gets nothing.
    let trap = program.write("trap", "");
    symlink(&trap, program.path("one.bundle.new")).unwrap();
    assert_eq!(program.run(["export", &id, "--output", "one.bundle"]).code, Some(0));
    // So it is at the name itself: the link is replaced.
    symlink(&trap, program.path("two.bundle")).unwrap();
    assert_eq!(program.run(["export", &id, "--output", "two.bundle"]).code, Some(0));
    assert!(!program.path("two.bundle").is_symlink());
    assert_eq!(fs::read(&trap).unwrap(), b"");
    assert_eq!(program.run(["archive", &id, "--to", "archive"]).code, Some(0));
    let archived = program.path("archive").join(bundle_of(&program, &id));
    for path in [program.path("one.bundle"), archived] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}
