//! Names out of a log that somebody sent: whatever they are made of, they steer no terminal (rule K13).

use debate_core::chain::{GENESIS, hash_of};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::{DebateId, Seq};
use debate_store::{Append, EventStore as _, SqliteOptions, SqliteStore};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::program::{Program, Ran, example};
use crate::provider::{Answer, Provider};
use crate::proving::audited;
use crate::steering::{STEERS, has_no_markup, is_calm, is_drawn_calmly, ran, refusing, requests, steering};
use crate::verifying::alter;

async fn opened(program: &Program) -> SqliteStore {
    let path = program.path("debates.sqlite");
    SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap()
}

fn stream(id: &str) -> StreamId {
    id.parse::<DebateId>().unwrap().into()
}

/// Returns the events of a stream as they are.
fn recorded(program: &Program, stream: StreamId) -> Vec<Envelope> {
    let read = async { opened(program).await.read(stream, Seq::START, 1_000).await };
    Runtime::new().unwrap().block_on(read).unwrap()
}

/// Returns the first events of a stream as somebody forged them, with words that steer behind each of some names and of who
/// did it, soundly chained.
fn renamed(program: &Program, stream: StreamId, names: &[&str], events: usize) -> Vec<Envelope> {
    let steering = serde_json::to_string(STEERS).unwrap();
    let steering = steering.trim_matches('"');
    let rename = |text: &mut String| {
        for name in names {
            *text = text.replace(name, &format!("{name}{steering}"));
        }
    };
    let mut log = recorded(program, stream);
    log.truncate(events);
    let mut before = GENESIS;
    for event in &mut log {
        rename(&mut event.body);
        event.actor.push_str(STEERS);
        if let Some(prose) = &mut event.prose {
            rename(&mut prose.text);
            event.prose_digest = Some(prose.digest());
        }
        event.hash = hash_of(&before, event);
        before = event.hash;
    }
    log
}

/// Makes a folder whose store has some logs.
fn holding<const N: usize>(logs: [Vec<Envelope>; N]) -> Program {
    let program = Program::new();
    Runtime::new().unwrap().block_on(async {
        let store = opened(&program).await;
        for log in logs {
            store.append(Append::new(log[0].stream, Seq::START, log)).await.unwrap();
        }
        store.close().await.unwrap();
    });
    program
}

/// The commands that show a debate, with an event that asks a model.
fn showing<'a>(id: &'a str, asked: &'a str) -> [Vec<&'a str>; 13] {
    [
        vec!["list"],
        vec!["show", id, "--full"],
        vec!["replay", id],
        vec!["replay", id, "--at", "3"],
        vec!["log", id],
        vec!["log", id, "--prompt", asked],
        vec!["watch", id],
        vec!["verify", id],
        vec!["report", id],
        vec!["report", id, "--format", "md"],
        vec!["influence", id],
        vec!["diff", id, id],
        vec!["fork", id],
    ]
}

#[test]
fn k13_names_out_of_a_log_that_somebody_sent_steer_no_terminal() {
    let stranger = Program::new();
    let id = stranger.debate("ice.json");
    // Of phases, models and templates: a log with other names that are none is not read at all.
    let names = ["opening", "simulated:0", "prediction/score@"];
    let log = renamed(&stranger, stream(&id), &names, 1_000);
    let scored = log.iter().find(|event| event.body.contains(r#""call":"score/"#)).unwrap().seq.to_string();
    let program = holding([log]);
    let outputs = showing(&id, &scored).map(|command| (program.run(&command), command));
    let mut shown = 0;
    for (ran, command) in &outputs {
        shown += usize::from(is_calm(&ran.stdout) | is_calm(&ran.stderr));
        // What the debate came to names its models, and no longer follows from what was asked.
        assert_eq!(ran.code, Some(if command[0] == "verify" { 4 } else { 0 }), "{command:?}: {ran:?}");
    }
    assert!(shown > 5, "the names are shown all the same: {outputs:?}");
    if let Some(watched) = program.run_on_terminal(&["watch", &id]) {
        is_drawn_calmly(&watched.stdout);
    }
}

#[test]
fn k13_models_that_never_answered_steer_no_terminal_whosever_log_names_them() {
    let stranger = Program::new();
    let provider = Provider::start(refusing);
    let file = example("deliberation.json");
    let held = ran(&stranger, &provider, &["run", file.to_str().unwrap(), "--json"]).json();
    let id = held["debate_id"].as_str().unwrap();
    let program = holding([renamed(&stranger, stream(id), &["openai:some-model"], 3)]);
    let forked = ran(&program, &provider, &["fork", id, "--at", "3"]);
    assert!(is_calm(&forked.stdout) & is_calm(&forked.stderr), "{forked:?}");
    assert!(forked.stderr.contains("\nerror: openai:some-model, openai:some-modela"), "{forked:?}");
}

#[test]
fn k13_the_change_of_a_fork_and_rules_that_were_broken_are_shown_and_neither_steer_nor_format() {
    let stranger = Program::new();
    // Who says no stance is asked again for it (rule T3).
    let provider = Provider::start(|_| {
        let said = json!({ "position": "owned", "reasoning": "owned", "confidence": 0.9 });
        Answer::words(&[&said.to_string()])
    });
    let mut table =
        json!({ "format": "roundtable", "topic": "owned?", "agents": ["ada", "bo", "cy"], "rounds": 1 });
    table["mode"] = json!("devils-advocate");
    stranger.write("it.json", table.to_string());
    let held = ran(&stranger, &provider, &["run", "it.json", "--json"]).json();
    let parent = held["debate_id"].as_str().unwrap();
    let forked = ran(&stranger, &provider, &["fork", parent, "--set", "model=simulated:1", "--json"]).json();
    let fork = forked["debate_id"].as_str().unwrap();
    let forged = holding([renamed(&stranger, stream(parent), &["T3"], 1_000)]);
    if let Some(watched) = forged.run_on_terminal(&["watch", parent]) {
        assert!(watched.stdout.contains("is asked again (T3a"), "{watched:?}");
        is_drawn_calmly(&watched.stdout);
    }
    let its_own =
        [recorded(&stranger, stream(parent)), renamed(&stranger, stream(fork), &["simulated:1"], 1_000)];
    for (program, id, expected) in
        [(forged, parent, "set aside: T3a"), (holding(its_own), fork, "with model=simulated:1a")]
    {
        let report = program.run(["report", id, "--format", "md"]).stdout;
        assert!(is_calm(&report) && report.contains(expected), "{report}");
        has_no_markup(&report, false);
    }
}

#[test]
fn k13_names_in_a_log_of_proposals_that_somebody_sent_steer_no_terminal() {
    let stranger = Program::new();
    let provider = Provider::start(steering);
    std::fs::create_dir(stranger.path("reviewers")).unwrap();
    stranger.write("reviewers/security.cjs", "const SYSTEM_PROMPT = `Look.`;\n");
    let [.., (_, _, review), _] = requests();
    stranger.write("review.json", review.to_string());
    for command in [
        &["review", "review.json"][..],
        &["review", "review.json"],
        &["policy", "propose", "security", "--reviewers-dir", "reviewers", "--debates-min", "2", "--anyway"],
        &["policy", "accept", "security"],
    ] {
        let ran = ran(&stranger, &provider, command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let proposals = "security".parse::<ReviewerName>().unwrap().stream("");
    let program = holding([renamed(&stranger, proposals, &["openai:some-model"], 1_000)]);
    let shown = program.run(["policy", "show", "security"]);
    assert!(shown.code == Some(0) && is_calm(&shown.stdout), "{shown:?}");
    for expected in ["by openai:some-modela", "accepted by clia"] {
        assert!(shown.stdout.contains(expected), "{expected}: {shown:?}");
    }
}

#[test]
fn k13_the_reason_of_a_cancel_is_shown_and_neither_steers_nor_formats() {
    let stranger = Program::new();
    let id = stranger.debate("deliberation.json");
    let program = holding([renamed(&stranger, stream(&id), &[], 3)]);
    assert_eq!(program.run(["cancel", &id, "--reason", STEERS]).code, Some(0));
    for command in [["log", &id], ["report", &id]] {
        let ran = program.run(command);
        assert!(is_calm(&ran.stdout), "{command:?}: {ran:?}");
    }
    let report = program.run(["report", &id, "--format", "md"]).stdout;
    assert!(is_calm(&report), "{report}");
    has_no_markup(&report, false);
}

#[test]
fn k13_what_a_log_that_somebody_sent_says_is_missing_neither_steers_nor_formats() {
    let stranger = Program::new();
    let id = stranger.debate("deliberation.json");
    let said = serde_json::to_string(STEERS).unwrap();
    for (whole, expected) in [
        (format!(r#"{{"state":"partial","missing":[{said}],"why":["Late."]}}"#), "PARTIAL"),
        (format!(r#"{{"state":"partial","missing":["x"],"why":[{said}]}}"#), "PARTIAL"),
        (format!(r#"{{"state":"void","why":[{said}]}}"#), "VOID"),
    ] {
        let mut log = recorded(&stranger, stream(&id));
        let last = log.len() - 1;
        let body = log[last].body.replace(r#"{"state":"full"}"#, &whole);
        assert!(log[last].kind == "concluded" && body != log[last].body, "{body}");
        log[last].body = body;
        log[last].hash = hash_of(&log[last - 1].hash, &log[last]);
        let report = holding([log]).run(["report", &id, "--format", "md"]).stdout;
        assert!(is_calm(&report) && report.contains(expected), "{report}");
        has_no_markup(&report, false);
    }
}

#[test]
fn k13_names_of_bundles_in_a_file_that_somebody_sent_are_shown_and_neither_steer_nor_format() {
    let program = audited();
    let [here, gone] = ["deliberation.json"; 2].map(|name| program.debate(name));
    // A name that a file may have, so that there can be one of it too.
    let name = STEERS.replace('/', ":");
    assert_eq!(program.run(["archive", &gone, "--to", "archive"]).code, Some(0));
    let otherwise = format!(
        "INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at, position, tenant, opened_at) \
         SELECT stream_kind, stream_id, 1, zeroblob(32), '{name}', 0, position, '', 0 FROM events WHERE seq = 1"
    );
    let renamed = format!("UPDATE archived SET bundle = '{name}'");
    let freely = ["insert", "taken", "update"].map(|when| format!("DROP TRIGGER archived_{when}"));
    let [insert, taken, update] = freely.each_ref().map(String::as_str);
    alter(&program, &[insert, taken, update, &otherwise, &renamed]);

    let report = program.run(["report", &here, "--format", "md"]).stdout;
    assert!(is_calm(&report) && report.contains("NOT INTACT at event 1: "), "{report}");
    has_no_markup(&report, false);
    let shows = |command: &[&str]| {
        let ran = program.run(command);
        assert!(
            is_calm(&ran.stdout) | is_calm(&ran.stderr),
            "it is shown all the same: {command:?}: {ran:?}"
        );
    };
    shows(&["report", &here]);
    shows(&["verify", &here]);
    for command in ["show", "log", "verify"] {
        shows(&[command, &gone]);
    }
    shows(&["show", &gone, "--archive", "elsewhere"]);
    shows(&["verify", "--all"]);
    shows(&["restore", &gone, "--from", "archive"]);
    shows(&["archive", &gone, "--to", "elsewhere"]);
    program.write(&format!("elsewhere/{name}"), "");
    shows(&["archive", &gone, "--to", "elsewhere"]);
    shows(&["checkpoint", "--folder", "proof", "--key", "audit.key"]);
    let listed = program.run(["list"]).stdout;
    is_calm(&listed);
    assert!(listed.contains("  in a"), "there is room for the beginning: {listed}");
}

#[test]
fn k13_kinds_of_streams_in_a_file_that_somebody_sent_steer_no_terminal() {
    let program = Program::new();
    program.debate("deliberation.json");
    alter(&program, &[&format!("UPDATE events SET stream_kind = '{STEERS}' WHERE seq = 1")]);
    let found = program.run(["verify", "--all"]);
    assert!(found.code != Some(0) && is_calm(&found.stdout) | is_calm(&found.stderr), "{found:?}");
}

#[test]
fn k13_a_debate_whose_speakers_have_names_that_none_may_have_is_no_debate() {
    let stranger = Program::new();
    let id = stranger.debate("ice.json");
    let program = holding([renamed(&stranger, stream(&id), &["optimist"], 1_000)]);
    let mut shown = 0;
    for command in showing(&id, "3").into_iter().skip(1) {
        let ran = program.run(&command);
        shown += usize::from(is_calm(&ran.stdout) | is_calm(&ran.stderr));
        assert_ne!(ran.code, Some(0), "{command:?}: {ran:?}");
    }
    assert!(shown > 0, "the name that is none is shown");
}

#[test]
fn k13_an_error_that_ends_a_command_steers_no_terminal() {
    let stranger = Program::new();
    let id = stranger.debate("deliberation.json");
    let mut log = renamed(&stranger, stream(&id), &[], 3);
    log[2].kind = STEERS.to_owned();
    log[2].hash = hash_of(&log[1].hash, &log[2]);
    let program = holding([log]);
    for command in [&["show", &id][..], &["replay", &id], &["watch", &id]] {
        let Ran { code, stderr, .. } = program.run(command);
        assert!(code != Some(0) && is_calm(&stderr), "{command:?}: {stderr:?}");
    }
}
