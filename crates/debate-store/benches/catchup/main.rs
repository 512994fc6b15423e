//! Events that catch-up readers lose, or see twice, while many processes write to one PostgreSQL.
//!
//! Readers are killed with SIGKILL at random and go on from what they had stored. A naive reader runs in parallel with
//! ours on the same log: a harness that does not catch it losing events proves nothing, and says so. The same is done
//! with other libraries, each a program of its own, see `peer.rs`: `--peer NAME=COMMAND`.

mod peer;
mod reader;

use std::env;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use debate_postgres_fixture::Server;
use serde_json::{Value, json};

use reader::{CommandLine, Run, Taken};

const WRITERS: usize = 16;
const READERS: u64 = 3;

/// Within what time the naive reader must be seen to lose an event.
const NAIVE_CAUGHT_MAX: Duration = Duration::from_secs(3);

/// What is run.
struct Task {
    name: String,
    program: CommandLine,
    /// The naive reader of the same tables that runs in parallel, if any.
    naive: Option<CommandLine>,
    events_per_writer: u64,
    time: Duration,
}

/// What became of it.
struct Outcome {
    written: u64,
    time: Duration,
    readers: Vec<Taken>,
    naive: Option<Taken>,
}

impl Task {
    fn run(&self, server: &Server, database: &str) -> Result<Outcome> {
        server.create_database(database)?;
        let url = server.url(database);
        if !start(&self.program, &["prepare", &url]).status()?.success() {
            bail!("cannot prepare the database");
        }
        let run = Run::new(url.clone(), WRITERS);
        let read = |program: &CommandLine, odd| {
            let (run, program) = (Arc::clone(&run), program.clone());
            thread::spawn(move || reader::read(&run, &program, odd))
        };
        let readers: Vec<_> = (1..=READERS).map(|number| read(&self.program, number)).collect();
        let naive = self.naive.as_ref().map(|program| read(program, 0));

        let began = Instant::now();
        let (events, ms) = (self.events_per_writer.to_string(), self.time.as_millis().to_string());
        let writers = (0..WRITERS).map(|writer| {
            let writer = writer.to_string();
            start(&self.program, &["write", &url, &writer, &events, &ms]).stdout(Stdio::piped()).spawn()
        });
        let mut written = 0;
        for writer in writers.collect::<Vec<_>>() {
            let printed = String::from_utf8(writer?.wait_with_output()?.stdout)?;
            written += printed.trim().parse::<u64>().context("a writer failed")?;
        }
        let time = began.elapsed();
        eprintln!("{}: {written} events in {:.0} s; readers catch up", self.name, time.as_secs_f64());
        run.end(written);
        let readers = readers.into_iter().map(taken_by).collect::<Result<_>>()?;
        Ok(Outcome { written, time, readers, naive: naive.map(taken_by).transpose()? })
    }
}

fn taken_by(reader: JoinHandle<Result<Taken>>) -> Result<Taken> {
    reader.join().unwrap_or_else(|_| bail!("a reader cannot be followed"))
}

fn start(program: &[String], arguments: &[&str]) -> Command {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).args(arguments).stdin(Stdio::null());
    command
}

/// Prints a row of the table and returns it as JSON.
fn report(name: &str, written: u64, time: Duration, readers: &[Taken]) -> Value {
    let sum = |count: fn(&Taken) -> u64| readers.iter().map(count).sum::<u64>();
    let (delivered, kills) = (sum(|it| it.events + it.doubled), sum(|it| it.kills));
    let (lost, doubled) = (sum(|it| it.lost), sum(|it| it.doubled));
    let is_one_order = readers.windows(2).all(|two| two[0].order == two[1].order);
    let order = if is_one_order { "one" } else { "differs" };
    println!(
        "{name:<14}  {written:>9}  {:>8.0}  {:>7}  {kills:>5}  {delivered:>10}  {lost:>6}  {doubled:>7}  {order}",
        written as f64 / time.as_secs_f64(),
        readers.len(),
    );
    json!({
        "name": name, "written": written, "seconds": time.as_secs_f64(), "readers": readers.len(), "kills": kills,
        "delivered": delivered, "lost": lost, "doubled": doubled, "same_order": is_one_order,
    })
}

fn bench(quick: bool, json: bool, peers: Vec<(String, CommandLine)>) -> Result<bool> {
    let this = env::current_exe()?.to_str().context("this program's path is no text")?.to_owned();
    let play =
        |more: &[&str]| [&[this.as_str(), "--play"], more].concat().iter().map(ToString::to_string).collect();
    let (events, peer_time) = if quick { (100_000, 8) } else { (1_000_000, 60) };
    let mut tasks = vec![Task {
        name: "ours".to_owned(),
        program: play(&[]),
        naive: Some(play(&["naive"])),
        events_per_writer: events / WRITERS as u64,
        time: Duration::from_secs(3_600),
    }];
    tasks.extend(peers.into_iter().map(|(name, program)| Task {
        name,
        program,
        naive: None,
        events_per_writer: u64::MAX >> 1,
        time: Duration::from_secs(peer_time),
    }));
    let server = Server::start(&["max_connections=200"])?;
    println!(
        "{WRITERS} writers, {READERS} readers of all events each killed again and again, all of them processes\n"
    );
    println!("library           written     per s  readers  kills   delivered    lost  doubled  order");
    let (mut rows, mut is_proof) = (Vec::new(), true);
    for (number, task) in tasks.iter().enumerate() {
        let outcome = match task.run(&server, &format!("run_{number}")) {
            Ok(outcome) => outcome,
            Err(error) if number > 0 => {
                println!("{:<14}  not measured: {error:#}", task.name);
                continue;
            }
            Err(error) => return Err(error),
        };
        let row = report(&task.name, outcome.written, outcome.time, &outcome.readers);
        is_proof &= number > 0 || (row["lost"] == 0 && row["doubled"] == 0 && row["same_order"] == true);
        rows.push(row);
        let Some(naive) = outcome.naive else { continue };
        rows.push(report("naive reader", outcome.written, outcome.time, std::slice::from_ref(&naive)));
        match naive.caught_after() {
            Some(after) if after <= NAIVE_CAUGHT_MAX => {
                println!(
                    "  (the naive reader passed over its first event after {:.2} s)",
                    after.as_secs_f64()
                );
            }
            Some(_) | None => {
                println!(
                    "  THE NAIVE READER WAS NOT CAUGHT WITHIN {NAIVE_CAUGHT_MAX:?}: this run proves nothing"
                );
                is_proof = false;
            }
        }
    }
    if json {
        println!("{}", json!({"bench": "catchup", "results": rows}));
    }
    Ok(is_proof)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.first() == Some(&"--play") {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        return runtime.block_on(peer::play(&words[1..]));
    }
    words.retain(|word| *word != "--bench");
    let (mut quick, mut json, mut peers) = (false, false, Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word {
            "--quick" => quick = true,
            "--json" => json = true,
            "--peer" => {
                let (name, command) =
                    words.next().and_then(|it| it.split_once('=')).context("--peer NAME=COMMAND")?;
                peers.push((name.to_owned(), command.split(' ').map(str::to_owned).collect()));
            }
            other => bail!("unknown argument {other}"),
        }
    }
    if bench(quick, json, peers)? { Ok(()) } else { bail!("ours did not hold, or nothing was proved") }
}
