//! `cargo xtask bench prompts`: what the prompts of simulated debates take, by format and preset, and how much of them a
//! provider has read before.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cargo::Workspace;
use crate::peers::install;

/// What is measured: a name, the example and the preset, where the format has presets.
const DEBATES: [(&str, &str, Option<&str>); 7] = [
    ("prediction", "ice", Some("contract")),
    ("prediction", "ice", Some("standard")),
    ("prediction", "ice", Some("deep")),
    ("deliberation", "deliberation", None),
    ("roundtable", "roundtable-delphi", None),
    ("review", "review", None),
    ("investigation", "leap_second", None),
];

/// Example prices, in US dollars for a million tokens of input and of output. No provider's.
const DOLLARS: [f64; 2] = [2.0, 10.0];

/// What the prompts of one debate take.
#[derive(Debug, Default)]
struct Taken {
    calls: usize,
    input: u64,
    output: u64,
    /// Calls of the longest row of which each is shown the answer of the one before.
    in_a_row: usize,
    /// Prompts of which a part was cut or left out.
    cut: usize,
    /// Bytes of all prompts, and those that begin a prompt that was answered before.
    bytes: usize,
    known: usize,
}

/// Holds the debates and prints what their prompts take.
///
/// # Errors
///
/// When the program does not build, or a debate does not end.
pub(crate) fn run(workspace: &Workspace, json: bool) -> Result<()> {
    let program = install::rust_in(workspace, ".", "debate-cli", "debate")?;
    let folder = workspace.target.join("bench-prompts");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    println!(
        "{:<14} {:<9} {:>6} {:>8} {:>8} {:>6} {:>9} {:>9} {:>5} {:>12}",
        "format", "preset", "calls", "in a row", "in", "out", "each in", "dollars", "cut", "sent before"
    );
    let mut rows = Vec::new();
    for (format, example, preset) in DEBATES {
        let place = folder.join(format!("{example}-{}.db", preset.unwrap_or("own")));
        let request = workspace.root.join("examples").join(example).with_extension("json");
        let taken = Debate { workspace, program: &program, store: place }.hold(&request, preset)?;
        let share = taken.known as f64 / taken.bytes.max(1) as f64;
        let each = taken.input / taken.calls.max(1) as u64;
        println!(
            "{format:<14} {:<9} {:>6} {:>8} {:>8} {:>6} {each:>9} {:>9.3} {:>5} {:>10.0} %",
            preset.unwrap_or("–"),
            taken.calls,
            taken.in_a_row,
            taken.input,
            taken.output,
            taken.dollars(),
            taken.cut,
            share * 100.0
        );
        rows.push(json!({
            "format": format,
            "preset": preset,
            "calls": taken.calls,
            "calls_in_a_row": taken.in_a_row,
            "input_tokens": taken.input,
            "output_tokens": taken.output,
            "dollars": taken.dollars(),
            "prompts_cut": taken.cut,
            "share_sent_before": share,
        }));
    }
    if json {
        println!("{}", json!({ "bench": "prompts", "rows": rows }));
    }
    Ok(())
}

impl Taken {
    fn dollars(&self) -> f64 {
        let [input, output] = DOLLARS;
        (self.input as f64 * input + self.output as f64 * output) / 1e6
    }
}

/// One simulated debate in a store of its own.
struct Debate<'a> {
    workspace: &'a Workspace,
    program: &'a Path,
    store: PathBuf,
}

impl Debate<'_> {
    fn hold(&self, request: &Path, preset: Option<&str>) -> Result<Taken> {
        let mut run: Vec<&OsStr> =
            vec!["run".as_ref(), request.as_ref(), "--quiet".as_ref(), "--json".as_ref()];
        if let Some(preset) = preset {
            run.extend(["--preset", preset].map(OsStr::new));
        }
        self.lines(&run)?;
        let listed = self.lines(&["list".as_ref(), "--json".as_ref()])?;
        let id =
            listed.first().and_then(|debate| debate["debate_id"].as_str()).context("no debate was held")?;
        let (mut taken, mut answered, mut open) = (Taken::default(), Vec::<String>::new(), Vec::new());
        let mut depths = HashMap::new();
        for event in self.lines(&["log".as_ref(), id.as_ref(), "--json".as_ref()])? {
            let attempt =
                || [&event["body"]["call"], &event["body"]["attempt"]].map(Value::to_string).concat();
            match event["kind"].as_str().unwrap_or_default() {
                "call_started" => {
                    let seq = event["seq"].to_string();
                    let shown = ["log", id, "--prompt", &seq, "--json"].map(OsStr::new);
                    let shown = self.lines(&shown)?.pop().context("no prompt was shown")?;
                    let text = text(&shown);
                    let alike =
                        |other: &String| text.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
                    let sees = event["body"]["sees"].as_array();
                    let seen =
                        sees.into_iter().flatten().filter_map(|input| depths.get(&input["call"].to_string()));
                    let depth = 1 + seen.copied().max().unwrap_or_default();
                    depths.insert(event["body"]["call"].to_string(), depth);
                    taken.in_a_row = taken.in_a_row.max(depth);
                    taken.calls += 1;
                    taken.input += shown["sent"]["tokens"].as_u64().unwrap_or_default();
                    taken.cut +=
                        usize::from(shown["sent"]["omitted"].as_array().is_some_and(|list| !list.is_empty()));
                    taken.bytes += text.len();
                    taken.known += answered.iter().map(alike).max().unwrap_or_default();
                    open.push((attempt(), text));
                }
                "call_answered" => {
                    taken.output += event["body"]["usage"]["output"].as_u64().unwrap_or_default();
                    let attempt = attempt();
                    let ended = open.iter().position(|(name, _)| *name == attempt);
                    answered.extend(ended.map(|place| open.swap_remove(place).1));
                }
                _ => {}
            }
        }
        Ok(taken)
    }

    /// Runs the program and returns the JSON of each line that it prints.
    fn lines(&self, arguments: &[&OsStr]) -> Result<Vec<Value>> {
        let mut debate = self.workspace.program(self.program);
        debate.args(arguments).arg("--store").arg(format!("sqlite:{}", self.store.display()));
        debate.args(["--model", "simulated:7"]).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = debate.output().context("cannot start the program debate")?;
        if !output.status.success() {
            bail!("debate {} ended with {}", arguments[0].display(), output.status);
        }
        let text = String::from_utf8(output.stdout).context("the program debate prints no UTF-8")?;
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        values.collect::<Result<_, _>>().context("the program debate prints no JSON")
    }
}

/// Returns what a prompt says to a model, as one text.
fn text(shown: &Value) -> String {
    let messages = shown["rendered"]["messages"].as_array();
    let texts = messages.into_iter().flatten().filter_map(|message| message["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
