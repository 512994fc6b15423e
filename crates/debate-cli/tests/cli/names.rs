//! Names out of a log that somebody sent: whatever they are made of, they steer no terminal (rule K13).

use debate_core::chain::{GENESIS, hash_of};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{DebateId, Seq};
use debate_store::{Append, EventStore as _, SqliteOptions, SqliteStore};
use tokio::runtime::Runtime;

use crate::program::{Program, Ran};
use crate::steering::{STEERS, is_calm};

async fn opened(program: &Program) -> SqliteStore {
    let path = program.path("debates.sqlite");
    SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap()
}

/// Returns the first events of a debate as somebody forged them, with words that steer behind each of some names, soundly
/// chained.
fn renamed(program: &Program, id: &str, names: &[&str], events: usize) -> Vec<Envelope> {
    let steering = serde_json::to_string(STEERS).unwrap();
    let steering = steering.trim_matches('"');
    let rename = |text: &mut String| {
        for name in names {
            *text = text.replace(name, &format!("{name}{steering}"));
        }
    };
    let stream = StreamId::from(id.parse::<DebateId>().unwrap());
    Runtime::new().unwrap().block_on(async {
        let mut log = opened(program).await.read(stream, Seq::START, 1_000).await.unwrap();
        log.truncate(events);
        let mut before = GENESIS;
        for event in &mut log {
            rename(&mut event.body);
            if let Some(prose) = &mut event.prose {
                rename(&mut prose.text);
                event.prose_digest = Some(prose.digest());
            }
            event.hash = hash_of(&before, event);
            before = event.hash;
        }
        log
    })
}

/// Makes a folder whose store has a log.
fn holding(log: Vec<Envelope>) -> Program {
    let program = Program::new();
    Runtime::new().unwrap().block_on(async {
        let store = opened(&program).await;
        store.append(Append::new(log[0].stream, Seq::START, log)).await.unwrap();
        store.close().await.unwrap();
    });
    program
}

#[test]
fn k13_names_out_of_a_log_that_somebody_sent_steer_no_terminal() {
    let asked = [
        ("ice.json", &["optimist", "historian", "logical_strength", "opening", "simulated:7"][..]),
        ("deliberation.json", &["architect", "moderator", "initial", "simulated:0"]),
    ];
    for (example, names) in asked {
        let stranger = Program::new();
        let id = stranger.debate(example);
        let whole = renamed(&stranger, &id, names, 1_000);
        let of_call =
            |call: &str| whole.iter().find(|event| event.body.contains(call)).map(|event| event.seq);
        let asked = of_call(r#""call":"score/"#).or(of_call(r#""call":"initial"#)).unwrap().to_string();
        let (begun, program) = (holding(renamed(&stranger, &id, names, 7)), holding(whole));
        let mut outputs =
            vec![begun.run(["show", &id, "--full"]), begun.run(["replay", &id]), begun.run(["fork", &id])];
        for command in [
            &["list"][..],
            &["show", &id, "--full"],
            &["replay", &id, "--at", "3"],
            &["log", &id],
            &["log", &id, "--prompt", &asked],
            &["watch", &id],
            &["verify", &id],
            &["report", &id],
            &["report", &id, "--format", "md"],
            &["influence", &id],
            &["diff", &id, &id],
        ] {
            outputs.push(program.run(command));
        }
        let shown = outputs.iter().filter(|ran| is_calm(&ran.stdout) | is_calm(&ran.stderr));
        assert!(shown.count() > 8, "the names are shown all the same: {outputs:?}");
        if let Some(Ran { stdout, .. }) = program.run_on_terminal(&["watch", &id]) {
            let steers = ["\u{1b}[2J", "\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}"];
            assert!(!steers.iter().any(|steers| stdout.contains(steers)), "{stdout:?}");
        }
    }
}
