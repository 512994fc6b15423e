//! What people and models say is shown by every command, and steers no terminal (rule K13).

use serde_json::json;

use crate::program::{Program, Ran};
use crate::provider::{Answer, Provider};

/// Clears the screen, names the window, colours what follows by a control of one character, turns the line around.
const STEERS: &str = "a\u{1b}[2Jb\u{1b}]0;owned\u{7}c\u{9b}31md\u{202e}e\rf";

#[test]
fn k13_no_command_shows_words_that_steer_the_terminal() {
    let program = Program::new();
    let provider = Provider::start(|_| {
        let said = json!({
            "stance": "YES", "position": STEERS, "reasoning": STEERS, "confidence": 0.9, "citations": [STEERS],
        });
        Answer::words(&[&said.to_string()])
    });
    let table =
        json!({ "format": "roundtable", "topic": STEERS, "agents": ["ada", "bo"], "rounds": 2 }).to_string();
    program.write("table.json", table);
    let run = |arguments: &[&str]| {
        let mut command = program.command(arguments);
        command.env("OPENAI_BASE_URL", &provider.base_url).env("OPENAI_API_KEY", "sk-1");
        Ran::of(command.args(["--model", "openai:some-model"]).output().unwrap())
    };
    let held = run(&["run", "table.json"]);
    assert_eq!(held.code, Some(0), "{held:?}");
    let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    let mut outputs = vec![held, run(&["fork", &id])];
    for arguments in [
        &["list"][..],
        &["show", &id],
        &["show", &id, "--markdown"],
        &["report", &id, "--format", "md"],
        &["report", &id],
        &["log", &id],
        &["log", &id, "--prompt", "3"],
        &["watch", &id],
        &["replay", &id],
        &["verify", &id],
        &["continue", &id, "--focus", STEERS],
    ] {
        outputs.push(run(arguments));
    }
    let mut shown = 0;
    for ran in outputs {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for text in [&ran.stdout, &ran.stderr] {
            let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!text.contains(steers), "{ran:?}");
            shown += usize::from(text.contains("owned"));
        }
    }
    assert!(shown > 5, "the words are shown all the same");
}
