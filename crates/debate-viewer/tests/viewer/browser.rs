//! The page in a real browser, driven by the scripts in `web/browser`.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::Path as Part;
use axum::routing::post;
use debate_core::event::Resolved;
use debate_core::id::{DebateId, Seq};
use debate_core::measures::distribution::Distribution;
use debate_engine::{Control, Env, Fork};
use debate_grpc::tokens::Scope;
use debate_viewer::{DebatePage, Log, Report};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::watch;

use crate::door::Door;
use crate::house::{HOSTILE, House, deliberation, investigation, poisoned, prediction, review, roundtable};

/// Debates on the list in addition to those that the test opens.
const LISTED: usize = 300;
/// Debates of which it is known what happened.
const FORECASTS: usize = 40;
/// Events of the long debate, at least.
const LONG: usize = 5_000;
/// Those of them in which somebody speaks, is asked, or is scored: three for each of 401 requests, at least.
const SPEECH: usize = 1_200;

/// Returns the browser, and the folder with what drives it; none where they are not installed and may be missing.
pub(crate) fn tools() -> Option<(PathBuf, PathBuf)> {
    match installed() {
        Ok(tools) => Some(tools),
        Err(why) if env::var_os("DEBATE_NEEDS_BROWSER").is_none() => {
            eprintln!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Runs a script of `web/browser` with its setup as JSON.
pub(crate) async fn drive((chromium, web): (PathBuf, PathBuf), script: &str, mut setup: Value) {
    setup["chromium"] = json!(chromium);
    let mut driver = Command::new("node");
    driver.arg(web.join("browser").join(script)).arg(setup.to_string()).kill_on_drop(true);
    let status = driver.status().await.expect("node is there where its packages are");
    assert!(status.success(), "the browser saw something else; see above");
}

fn installed() -> Result<(PathBuf, PathBuf), String> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    if !web.join("node_modules/puppeteer-core").is_dir() {
        return Err("puppeteer-core is not installed; `cargo xtask test` installs it".to_owned());
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut found = env::split_paths(&folders).map(|folder| folder.join("chromium"));
    let chromium = found.find(|path| path.is_file()).ok_or("chromium is not installed")?;
    Ok((chromium, web))
}

/// A connection to a server that can be cut.
struct Wire {
    address: SocketAddr,
    cut: Arc<watch::Sender<bool>>,
}

impl Wire {
    async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, is_cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut is_cut = is_cut.clone();
                tokio::spawn(async move {
                    if *is_cut.borrow() {
                        return;
                    }
                    let Ok(mut far) = TcpStream::connect(server).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = is_cut.wait_for(|is_cut| *is_cut) => {}
                    }
                });
            }
        });
        Self { address, cut: Arc::new(cut) }
    }
}

pub(crate) async fn served(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Holds debates about questions whose answers are known, and records these with what a market had thought.
async fn forecasts(house: &House) {
    let mut request = prediction();
    request["config"]["rounds"] = 1.into();
    let questions = (0..FORECASTS).map(|number| {
        let mut request = request.clone();
        let question = format!("Will harbour {number} freeze before January?");
        request["prediction_context"]["task"]["question"] = question.into();
        request
    });
    let questions: Vec<Value> = questions.collect();
    let started: Vec<DebateId> = join_all(questions.iter().map(|request| house.start(request))).await;
    for (number, debate) in started.into_iter().enumerate() {
        house.concluded(debate).await;
        let chance = 0.1 + 0.8 * (number % 10) as f64 / 9.0;
        let market = Distribution::new(vec![chance, 1.0 - chance]).ok();
        let outcome = if number % 3 == 0 { "yes" } else { "no" };
        let resolve = Control::Resolve(Resolved { market, ..Resolved::new(outcome.into()) });
        house.engine.control(debate, resolve, "test").await.unwrap();
    }
}

/// Opens a debate of as much speech as there may be, twenty roles in ten rounds, fills its log up to [`LONG`] events, and
/// brings it to its end.
async fn long(house: &House) -> DebateId {
    house.hush();
    let mut request = prediction();
    let names: Vec<String> = (1..20).map(|number| format!("skipper{number}")).collect();
    let persona = |name: &String| (name.clone(), json!({ "system_prompt": "You are a careful skipper." }));
    request["options"]["personas"] = names.iter().map(persona).collect();
    let roles: Vec<&str> = names.iter().map(String::as_str).chain(["judge"]).collect();
    request["config"] = json!({ "rounds": 10, "roles": roles });
    let debate = house.start(&request).await;
    for _ in 0..(LONG - SPEECH) / 2 {
        house.engine.control(debate, Control::Pause, "test").await.unwrap();
        house.engine.control(debate, Control::Resume, "test").await.unwrap();
    }
    house.let_all_speak();
    house.concluded(debate).await;
    debate
}

/// Holds a fork of a debate, in which the judge sees the arguments in another order.
async fn fork(house: &House, parent: DebateId) -> DebateId {
    let change = "judge_order=reversed".parse().unwrap();
    let fork = Fork { parent, at: Some(Seq(12)), change, actor: "test".to_owned() };
    let fork = house.engine.fork(fork).await.unwrap().debate.unwrap();
    house.concluded(fork).await;
    fork
}

/// Returns a request with harm in every text that a client may choose.
fn hostile(mut request: Value) -> Value {
    request = poisoned(request);
    if request.get("prediction_context").is_some() {
        request["config"]["roles"] = json!(["optimist", "historian", "skipper", "judge"]);
        request["options"]["personas"] =
            json!({ "skipper": { "system_prompt": HOSTILE, "bias_direction": HOSTILE } });
        let context = &mut request["prediction_context"];
        context["outcomes"] = json!([
            { "id": "yes", "label": format!("Yes {HOSTILE}"), "description": HOSTILE },
            { "id": "no", "label": HOSTILE, "description": HOSTILE },
        ]);
        context["data_summary"] = json!({ "region": HOSTILE, "data_gaps": [HOSTILE] });
    }
    request
}

/// Begins a debate with harm in it and ends it before anybody has spoken, with harm for a reason.
async fn ended(house: &House) -> DebateId {
    house.hush();
    let debate = house.start(&hostile(prediction())).await;
    house.engine.control(debate, Control::Cancel { reason: HOSTILE.to_owned() }, "test").await.unwrap();
    house.concluded(debate).await;
    house.let_all_speak();
    debate
}

/// Holds a debate with all roles and three more, and records what happened and what a market had thought.
async fn full_house(house: &House) -> DebateId {
    let mut request = prediction();
    let own = ["skipper", "engineer", "insurer"];
    let roles = ["optimist", "pessimist", "contrarian", "historian"].into_iter().chain(own).chain(["judge"]);
    let persona =
        |role: &str| (role.to_owned(), json!({ "system_prompt": format!("You are a careful {role}.") }));
    request["config"] = json!({ "rounds": 3, "roles": roles.collect::<Vec<_>>() });
    request["options"]["personas"] = own.into_iter().map(persona).collect();
    let debate = house.held(&request).await;
    let market = Distribution::new(vec![0.12, 0.88]).ok();
    let resolve = Control::Resolve(Resolved { market, ..Resolved::new("no".into()) });
    house.engine.control(debate, resolve, "test").await.unwrap();
    debate
}

/// Returns what `debate report` writes.
pub(crate) async fn report(house: &House, debate: DebateId) -> Report {
    let log = Log::fold(debate, house.engine.history(debate, None).await.unwrap()).unwrap();
    let page = DebatePage::of(&log, log.head().0).unwrap();
    Report::new(page, house.engine.verify(debate).await.unwrap(), Env::real().now())
}

/// Starts a debate in which no role speaks yet.
async fn begin(house: &House) -> DebateId {
    house.hush();
    let mut request = prediction();
    request["prediction_context"]["task"]["question"] = "Will the quay be rebuilt?".into();
    house.start(&request).await
}

/// Returns what the driver may do to the house while it looks.
fn controls(house: &Arc<House>, wire: &Wire) -> Router {
    let (speaking, free, beginning) = (Arc::clone(house), Arc::clone(house), Arc::clone(house));
    let (cut, mend) = (Arc::clone(&wire.cut), Arc::clone(&wire.cut));
    Router::new()
        .route("/speak/{pauses}", post(async move |Part(pauses): Part<usize>| speaking.let_speak(pauses)))
        .route("/begin", post(async move || begin(&beginning).await.to_string()))
        .route("/free", post(async move || free.let_all_speak()))
        .route("/cut", post(async move || cut.send_replace(true).to_string()))
        .route("/mend", post(async move || mend.send_replace(false).to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_browser_shows_what_the_server_says() {
    let Some(tools) = tools() else { return };
    let house = Arc::new(House::open());
    let short = json!({
        "format": "deliberation", "mode": "weak", "topic": "Which of three hundred?",
        "participants": [{ "name": "pilot" }, { "name": "mayor" }],
    });
    let started: Vec<DebateId> = join_all((0..LISTED).map(|_| house.start(&short))).await;
    for debate in started {
        house.concluded(debate).await;
    }
    forecasts(&house).await;
    let long = long(&house).await;
    let (mut harmful, mut calm) = (Vec::new(), Vec::new());
    let formats = [prediction(), deliberation(), roundtable(), review(), investigation()];
    for request in &formats {
        harmful.push(house.held(&hostile(request.clone())).await);
    }
    harmful.push(ended(&house).await);
    for request in &formats {
        calm.push(house.held(request).await);
    }
    let fork = fork(&house, calm[0]).await;
    calm.push(full_house(&house).await);
    let reports = tempfile::tempdir().unwrap();
    for debate in harmful.iter().chain(&calm) {
        let path = reports.path().join(format!("{debate}.html"));
        std::fs::write(path, report(&house, *debate).await.html()).unwrap();
    }
    house.hush();
    let live = house.start(&prediction()).await;

    let door = Door::of(&house).await;
    let wire = Wire::to(door.address).await;
    let controls = served(controls(&house, &wire)).await;
    let setup = json!({
        "site": format!("http://{}", wire.address),
        "controls": format!("http://{controls}"),
        "debates": LISTED + FORECASTS + 3 + harmful.len() + calm.len(),
        "token": door.token("", &[Scope::Read, Scope::Audit]),
        "reader": door.token("", &[Scope::Read]),
        "stranger": door.token("elsewhere", &[Scope::Admin]),
        "reports": reports.path(),
        "long": long.to_string(),
        "fork": fork.to_string(),
        "live": live.to_string(),
        "hostile": harmful.iter().map(DebateId::to_string).collect::<Vec<_>>(),
        "calm": calm.iter().map(DebateId::to_string).collect::<Vec<_>>(),
    });
    drive(tools, "drive.mjs", setup).await;
}
