//! `cargo xtask bench attack`: what one hostile message costs a server in memory, and how long short requests wait while
//! others fold the longest debate.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cargo::Workspace;
use crate::peers::{install, model_server};
use crate::real::child::OwnedChild;

/// The memory that a message may use: this many bytes for each byte of the message, plus a fixed number.
const BYTES_EACH: u64 = 20;
const BYTES_FREE: u64 = 1 << 20;

/// The longest that one in a hundred short requests may wait.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Clients that fold, and for how long.
const CLIENTS: usize = 50;
const FOR: Duration = Duration::from_secs(10);

/// KiB of the messages: three each of JSON and protobuf.
const LARGE: [[usize; 3]; 2] = [[64, 256, 1_000], [64, 512, 2_000]];
/// Those of the same messages, only small, that a server gets first, and how many of them.
const SMALL: [[usize; 3]; 2] = [[1; 3]; 2];
const SMALL_FIRST: usize = 16;

/// Entries that are short on the wire and long in memory, as JSON.
const JSON_ENTRIES: [(&str, &str); 5] =
    [("lists", "[],"), ("objects", "{},"), ("texts", "\"\","), ("numbers", "0,"), ("members", "\"a\":0,")];

/// One message of the corpus.
struct Message {
    name: String,
    path: &'static str,
    content_type: &'static str,
    body: Vec<u8>,
}

/// Runs both measurements and prints them.
///
/// # Errors
///
/// When the program does not build or serve, or a promise does not hold.
pub(crate) fn run(workspace: &Workspace, json: bool) -> Result<()> {
    let program = install::rust_in(workspace, ".", "debate-cli", "debate")?;
    let folder = workspace.target.join("bench-attack");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let bench = Bench { workspace, program, folder };
    let (memory, mut faults) = bench.memory()?;
    let (waits, slow) = bench.waits()?;
    faults.extend(slow);
    if json {
        println!("{}", json!({ "bench": "attack", "memory": memory, "waits": waits }));
    }
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

struct Bench<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
    folder: PathBuf,
}

/// A server on a free port, which ends with this.
struct Server {
    child: OwnedChild,
    address: String,
    /// Open, lest the server's next line fail.
    _stdout: BufReader<ChildStdout>,
}

impl Bench<'_> {
    fn serve(&self, name: &str) -> Result<Server> {
        let mut serve = model_server::on_processor(0, &self.program);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--model", "simulated", "--store"]);
        serve.arg(self.store(name)).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = OwnedChild(serve.spawn().context("cannot start the server")?);
        let mut stdout = BufReader::new(child.0.stdout.take().context("the server has no output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on ").context("the server does not listen")?;
        Ok(Server { child, address: address.to_owned(), _stdout: stdout })
    }

    fn store(&self, name: &str) -> String {
        format!("sqlite:{}", self.folder.join(name).with_extension("db").display())
    }

    /// Measures what each message of the corpus costs a server of its own.
    fn memory(&self) -> Result<(Vec<Value>, Vec<String>)> {
        println!("{:<34} {:>10} {:>12} {:>8} {:>7}", "message", "bytes", "memory", "each", "status");
        let (mut rows, mut faults) = (Vec::new(), Vec::new());
        for (number, (message, small)) in corpus(LARGE).iter().zip(corpus(SMALL)).enumerate() {
            let server = self.serve(&format!("memory-{number}"))?;
            // A message does not pay for what a process sets up once: code, descriptors, the heaps of threads.
            for _ in 0..SMALL_FIRST {
                server.send("POST", small.path, small.content_type, &small.body)?;
            }
            let before = server.memory("VmRSS")?;
            server.forget_peak()?;
            let status = server.send("POST", message.path, message.content_type, &message.body)?.0;
            let memory = server.memory("VmHWM")?.saturating_sub(before);
            let bytes = message.body.len() as u64;
            let each = memory as f64 / bytes as f64;
            println!("{:<34} {bytes:>10} {memory:>12} {each:>8.1} {status:>7}", message.name);
            if memory > BYTES_EACH * bytes + BYTES_FREE {
                faults.push(format!("{} costs {memory} bytes of memory", message.name));
            }
            rows.push(json!({ "message": message.name, "bytes": bytes, "memory": memory, "status": status }));
        }
        Ok((rows, faults))
    }

    /// Measures short requests while others verify, compare and read the longest debate.
    fn waits(&self) -> Result<(Value, Vec<String>)> {
        let id = self.longest_debate()?;
        let server = self.serve("waits")?;
        if model_server::is_pinned() {
            let own = std::process::id().to_string();
            Command::new("taskset")
                .args(["--all-tasks", "--pid", "--cpu-list", "1", &own])
                .stdout(Stdio::null())
                .status()?;
        }
        let alone = server.healthz(FOR / 5)?;
        let (is_over, folded, requests) = (AtomicBool::new(false), AtomicU64::new(0), requests(&id));
        let busy = thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, requests, is_over, folded) = (&server, &requests, &is_over, &folded);
                scope.spawn(move || {
                    let (method, path, content_type, body) = &requests[client % requests.len()];
                    while !is_over.load(Ordering::Relaxed) {
                        let answered = server.send(method, path, content_type, body);
                        folded.fetch_add(
                            u64::from(answered.is_ok_and(|(status, _)| status == 200)),
                            Ordering::Relaxed,
                        );
                    }
                });
            }
            thread::sleep(Duration::from_secs(1));
            let busy = server.healthz(FOR);
            is_over.store(true, Ordering::Relaxed);
            busy
        })?;
        let folded = folded.load(Ordering::Relaxed);
        if folded == 0 {
            bail!("no debate was folded meanwhile");
        }
        let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
        println!(
            "\n/healthz: p50 {:.1} ms, p99 {:.1} ms alone; p50 {:.1} ms, p99 {:.1} ms while {CLIENTS} clients folded {folded} times",
            ms(alone.0),
            ms(alone.1),
            ms(busy.0),
            ms(busy.1)
        );
        let row = json!({
            "p50_ms": ms(busy.0), "p99_ms": ms(busy.1), "alone_p99_ms": ms(alone.1), "folded": folded,
        });
        let slow = (busy.1 > WAIT_MAX).then(|| format!("/healthz p99 is {:.1} ms", ms(busy.1)));
        Ok((row, slow.into_iter().collect()))
    }

    /// Holds the longest debate that a request may ask for, and returns its id.
    fn longest_debate(&self) -> Result<String> {
        let example = self.workspace.root.join("examples/ice.json");
        let mut request: Value = serde_json::from_slice(&fs::read(example)?)?;
        request["config"]["rounds"] = json!(10);
        request["options"]["preset"] = json!("deep");
        let outcomes =
            (0..50).map(|place| json!({ "id": format!("o{place}"), "label": format!("Outcome {place}") }));
        request["prediction_context"]["outcomes"] = outcomes.collect();
        request["prediction_context"]["simulation_summary"] = json!({});
        let path = self.folder.join("longest.json");
        fs::write(&path, request.to_string())?;
        let mut run = Command::new(&self.program);
        run.arg("run")
            .arg(&path)
            .args(["--json", "--quiet", "--model", "simulated", "--store"])
            .arg(self.store("waits"));
        let held = run.stderr(Stdio::inherit()).output().context("cannot hold the longest debate")?;
        let result: Value =
            serde_json::from_slice(&held.stdout).context("the longest debate has no result")?;
        Ok(result["debate_id"].as_str().context("the debate has no id")?.to_owned())
    }
}

impl Server {
    /// Sends a request on a connection of its own; returns status and body.
    fn send(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        // A server may answer before it has read all.
        let _refused = stream.write_all(body);
        let mut answer = Vec::new();
        let _cut = stream.read_to_end(&mut answer);
        let status = answer.get(9..12).and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
        Ok((status.context("the server gives no answer")?, answer))
    }

    /// Asks for health again and again; returns the median and the 99th percentile.
    fn healthz(&self, span: Duration) -> Result<(Duration, Duration)> {
        let (until, mut waits) = (Instant::now() + span, Vec::new());
        while Instant::now() < until {
            let asked = Instant::now();
            self.send("GET", "/healthz", "text/plain", b"")?;
            waits.push(asked.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
        waits.sort_unstable();
        let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)];
        Ok((at(50), at(99)))
    }

    /// Returns a number of the process's memory in bytes.
    fn memory(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib: u64 =
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).context("no such number")?;
        Ok(kib * 1024)
    }

    fn forget_peak(&self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.child.0.id()), "5")?)
    }
}

fn corpus([json, protobuf]: [[usize; 3]; 2]) -> Vec<Message> {
    let mut corpus = Vec::new();
    for kib in json {
        for (name, entry) in JSON_ENTRIES {
            let entries = entry.repeat(kib * 1024 / entry.len());
            let (open, close) = if name == "members" { ("{", "\"z\":0}") } else { ("[", "0]") };
            let body = format!("{{\"prediction_context\":{{\"task\":{open}{entries}{close}}}}}");
            let (path, content_type) = ("/api/v1/debates", "application/json");
            corpus.push(Message {
                name: format!("json {name}, {kib} KiB"),
                path,
                content_type,
                body: body.into(),
            });
        }
    }
    for kib in protobuf {
        let entries = |tag: u8| [tag, 0].repeat(kib * 512);
        // Of a prediction's context the outcomes and the variables; of a task, which is any JSON, a list.
        let lists = [
            ("outcomes", entries(0x12)),
            ("variables", entries(0x1a)),
            ("values", nested(0x0a, &nested(0x32, &entries(0x0a)))),
        ];
        for (name, list) in lists {
            corpus.push(started(&format!("protobuf {name}, {kib} KiB"), &list));
        }
    }
    corpus
}

/// Returns the message that starts a debate with such a context.
fn started(name: &str, context: &[u8]) -> Message {
    let message = nested(0x12, &nested(0x12, context));
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    body.extend(message);
    let (path, content_type) = ("/debate.v1.DebateService/StartDebate", "application/grpc-web+proto");
    Message { name: name.to_owned(), path, content_type, body }
}

/// Writes a field that is as long as it says.
fn nested(tag: u8, content: &[u8]) -> Vec<u8> {
    let (mut bytes, mut length) = (vec![tag], content.len());
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(content);
    bytes
}

type Request = (&'static str, String, &'static str, Vec<u8>);

/// Returns what clients ask of a debate: to check it, to compare it with itself, and to read it.
fn requests(id: &str) -> [Request; 3] {
    let grpc = |method: &str, message: Vec<u8>| {
        let mut body = vec![0, 0, 0, 0, message.len() as u8];
        body.extend(message);
        ("POST", format!("/debate.v1.AuditService/{method}"), "application/grpc-web+proto", body)
    };
    let named = |tag: u8| nested(tag, id.as_bytes());
    [
        grpc("VerifyDebate", named(0x0a)),
        grpc("DiffDebates", [named(0x0a), named(0x12)].concat()),
        ("GET", format!("/api/v1/debates/{id}"), "text/plain", Vec::new()),
    ]
}
