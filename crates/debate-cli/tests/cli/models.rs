//! Real models from the command line: a wrong address, a wrong key, limits, further models.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::program::{Program, Ran, example};
use crate::provider::{Answer, Provider};

const BODY: &str = r#"{"error":{"message":"Incorrect API key provided: wrong.","type":"invalid_request_error","code":"invalid_api_key"}}"#;

/// The providers, each with the variables of its address and its key.
const PROVIDERS: [(&str, &str, &str); 3] = [
    ("anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    ("gemini", "GEMINI_BASE_URL", "GEMINI_API_KEY"),
    ("openai", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
];

fn run(program: &Program, provider: &str, variables: &[(&str, &str)]) -> Ran {
    run_with(program, provider, &[], variables)
}

fn run_with(program: &Program, provider: &str, options: &[&str], variables: &[(&str, &str)]) -> Ran {
    let file = example("ice.json");
    let model = format!("{provider}:some-model");
    let mut command = program.command(["run", file.to_str().unwrap(), "--model", &model]);
    command.args(options);
    Ran::of(command.envs(variables.iter().copied()).output().unwrap())
}

/// Refuses every request in the same way.
fn server(status: &'static str) -> String {
    server_after(status, |_| {})
}

/// Refuses every request in the same way, after `seen` was shown it.
fn server_after(status: &'static str, seen: impl Fn(&str) + Clone + Send + 'static) -> String {
    server_that_says(status, "application/json", BODY, seen)
}

/// Says the same to every request, after `seen` was shown it.
fn server_that_says(
    status: &'static str,
    content_type: &'static str,
    body: &'static str,
    seen: impl Fn(&str) + Clone + Send + 'static,
) -> String {
    let answer = Answer { status, content_type, body: body.to_owned() };
    Provider::start(move |request| {
        seen(request);
        answer.clone()
    })
    .base_url
}

#[test]
fn a_wrong_key_ends_in_a_void_debate_that_says_so_and_never_shows_the_key() {
    let program = Program::new();
    let base = server("401 Unauthorized");
    let ran = run(&program, "openai", &[("OPENAI_BASE_URL", &base), ("OPENAI_API_KEY", "sk-very-secret")]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("VOID: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("denied: ") && ran.stdout.contains("401"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("SIMULATED"), "{}", ran.stdout);
    let bytes = std::fs::read(program.path("debates.sqlite")).unwrap();
    let stored = String::from_utf8_lossy(&bytes);
    assert!(![&*stored, &ran.stdout, &ran.stderr].iter().any(|text| text.contains("sk-very-secret")));
    assert_eq!(program.run(["verify", "--all"]).code, Some(0));
}

/// What a provider says that sends back the head of a request, the key in it, wherever errors have a text.
fn indiscreet(request: &str, kind: &str) -> Answer {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    let said =
        serde_json::json!({ "error": { "message": head, "type": "authentication_error", "code": head } });
    match kind {
        "refusal" => Answer::json("401 Unauthorized", &said),
        "stream" => Answer {
            status: "200 OK",
            content_type: "text/event-stream",
            body: format!("event: error\ndata: {said}\n\n"),
        },
        _ => Answer { status: "400 Bad Request", content_type: "text/html", body: head.to_owned() },
    }
}

#[test]
fn a_key_that_a_provider_sends_back_is_in_no_log_no_store_no_bundle_and_no_word_of_the_doctor() {
    const KEY: &str = "sk-very-secret-4711";
    for (name, base, key) in PROVIDERS {
        for kind in ["refusal", "stream", "page"] {
            let program = Program::new();
            let provider = Provider::start(move |request| indiscreet(request, kind));
            let variables = [(base, provider.base_url.as_str()), (key, KEY)];
            let ran = run_with(&program, name, &["--log-level", "trace"], &variables);
            assert_eq!(ran.code, Some(1), "{name} {kind}: {ran:?}");
            let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
            let log = program.run(["log", &id, "--json"]);
            assert!(log.stdout.contains("attempt_failed"), "{name} {kind}: {log:?}");
            let bundle = program.path("all.bundle");
            assert_eq!(program.run(["export", &id, "-o", bundle.to_str().unwrap()]).code, Some(0));
            let mut doctor = program.command(["doctor", "--model", &format!("{name}:some-model")]);
            let doctor = Ran::of(doctor.args(["--log-level", "trace"]).envs(variables).output().unwrap());
            let files = std::fs::read_dir(program.path("")).unwrap();
            let files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
            let files = files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let texts = [ran, log, doctor].into_iter().flat_map(|ran| [ran.stdout, ran.stderr]);
            for text in texts.chain(files) {
                assert!(!text.contains(KEY), "{name} {kind}: {text}");
            }
            assert!(provider.seen(KEY), "{name} {kind}: it was sent the key");
        }
    }
}

/// A server's status, content type and body, and what a person reads of it behind the name of the model.
type Bad = (&'static str, &'static str, &'static str, &'static str);

const PAGE: &str = "<html><body>Please sign in</body></html>";

#[test]
fn what_is_wrong_with_a_provider_is_one_line_at_the_end_that_says_what_to_do() {
    let table: [Bad; 5] = [
        (
            "401 Unauthorized",
            "application/json",
            BODY,
            "unauthorised: the provider refused the key (HTTP 401); check KEY, and ADDRESS if it is set",
        ),
        (
            "404 Not Found",
            "application/json",
            r#"{"error":{"message":"no model some-model","code":404,"type":"not_found_error"}}"#,
            "unknown_model: HTTP 404: no model some-model (ASKED); check the model's name, and ADDRESS if it is \
             set",
        ),
        (
            "402 Payment Required",
            "application/json",
            r#"{"error":{"message":"no credit"}}"#,
            "quota_exhausted: HTTP 402: no credit; top up the account of KEY, or use another key",
        ),
        (
            "200 OK",
            "text/html",
            PAGE,
            "malformed_response: the response is markup, not JSON (ASKED); something else than PROVIDER may be \
             answering: check ADDRESS and any proxy",
        ),
        (
            "403 Forbidden",
            "text/html; charset=utf-8",
            PAGE,
            "unauthorised: HTTP 403 with a web page instead of an answer; check KEY, and ADDRESS if it is set",
        ),
    ];
    for (provider, address, key) in PROVIDERS {
        for (status, content_type, body, line) in table {
            let program = Program::new();
            let base = server_that_says(status, content_type, body, |_| {});
            let ran = run(&program, provider, &[(address, &base), (key, "sk-very-secret")]);
            assert_eq!(ran.code, Some(1), "{status}: {ran:?}");
            let line = line.replace("PROVIDER", provider).replace("ADDRESS", address).replace("KEY", key);
            let asked = match provider {
                "anthropic" => "messages",
                "gemini" => "models/some-model:streamGenerateContent",
                _ => "chat/completions",
            };
            let server = base.trim_start_matches("http://").trim_end_matches('/');
            let line = line.replace("ASKED", &format!("{server}/{asked}"));
            let want = format!("error: {provider}:some-model never answered: {line}");
            let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(errors, [want.as_str()], "{status}");
            assert!(ran.stderr.ends_with(&format!("{want}\n")), "{status}: {}", ran.stderr);
            assert!(!format!("{ran:?}").contains("sk-very-secret"), "{status}: {ran:?}");
        }
    }
}

#[test]
fn an_address_or_key_that_cannot_be_used_is_one_clear_error() {
    let program = Program::new();
    for (provider, address, key) in PROVIDERS {
        for (variables, says) in [
            (&[][..], format!("{key} is not set")),
            (
                &[(address, "localhost:1/v1")],
                "error: base URL \"localhost:1/v1\" cannot be used: it must begin with http:// or https://\n"
                    .to_owned(),
            ),
            (&[(address, "http://h:99999/")], "port".to_owned()),
            (&[(key, "a\nb")], format!("{key} holds characters")),
        ] {
            let ran = run(&program, provider, variables);
            assert_eq!((ran.code, ran.stderr.lines().count()), (Some(5), 1), "{ran:?}");
            assert!(ran.stderr.contains(&says), "{says}: {}", ran.stderr);
            assert!(!program.path("debates.sqlite").exists(), "{says}");
        }
    }
}

#[test]
fn a_connection_is_opened_before_the_first_call_and_limits_hold_no_call_up_for_ever() {
    let warm = Arc::new((Mutex::new(false), Condvar::new()));
    let shared = Arc::clone(&warm);
    // No call is answered before a request for headers alone has come.
    let base = server_after("401 Unauthorized", move |request| {
        let (is_warm, changed) = &*shared;
        if request.starts_with("HEAD / ") {
            *is_warm.lock().unwrap() = true;
            changed.notify_all();
        }
        let guard = is_warm.lock().unwrap();
        drop(changed.wait_timeout_while(guard, Duration::from_secs(20), |is_warm| !*is_warm).unwrap());
    });
    let program = Program::new();
    let limits = "openai:concurrency=1,requests_per_minute=500,tokens_per_minute=10000000";
    let variables = [("OPENAI_BASE_URL", base.as_str()), ("DEBATE_PROVIDER_LIMITS", limits)];
    let ran = run(&program, "openai", &variables);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("error: openai:some-model never answered"), "{}", ran.stderr);
    assert!(ran.stderr.contains("401"), "{}", ran.stderr);
    assert!(*warm.0.lock().unwrap(), "no connection was opened early");
}

/// Holds a roundtable of two models of one provider that refuses each request once another one is open too, or that does
/// not come in time; returns how many were open at one time at most.
fn open_at_once(options: &[&str], patience: Duration) -> usize {
    #[derive(Default)]
    struct Open {
        now: usize,
        most: usize,
    }
    let open = Arc::new((Mutex::new(Open::default()), Condvar::new()));
    let shared = Arc::clone(&open);
    let provider = Provider::start(move |request| {
        let (open, changed) = &*shared;
        if request.starts_with("POST ") {
            let mut guard = open.lock().unwrap();
            guard.now += 1;
            guard.most = guard.most.max(guard.now);
            changed.notify_all();
            let waited = changed.wait_timeout_while(guard, patience, |open| open.most < 2).unwrap();
            let (mut guard, _) = waited;
            guard.now -= 1;
        }
        Answer { status: "401 Unauthorized", content_type: "application/json", body: BODY.to_owned() }
    });
    let program = Program::new();
    let text = std::fs::read(example("roundtable-expert-panel.json")).unwrap();
    let mut request: serde_json::Value = serde_json::from_slice(&text).unwrap();
    request["tools"] = serde_json::json!([]);
    let first = request["agents"][0]["name"].as_str().unwrap().to_owned();
    request["options"]["models"] = serde_json::json!({ "roles": { first: ["openai:b"] } });
    let file = program.write("two-models.json", request.to_string());
    let mut command = program.command(["run", file.to_str().unwrap(), "--model", "openai:a"]);
    command.args(["--offer", "openai:b", "--store", "memory"]).args(options);
    let ran = Ran::of(command.env("OPENAI_BASE_URL", &provider.base_url).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let asked: BTreeSet<String> = provider.asked().iter().map(|body| body["model"].to_string()).collect();
    assert_eq!(asked, ["\"a\"", "\"b\""].map(str::to_owned).into(), "{ran:?}");
    open.0.lock().unwrap().most
}

#[test]
fn requests_to_a_provider_are_open_at_one_time_as_its_limits_say_over_all_its_models() {
    let limits = ["--provider-limits", "openai:concurrency=1"];
    assert_eq!(open_at_once(&limits, Duration::from_millis(200)), 1);
    assert!(open_at_once(&[], Duration::from_secs(20)) >= 2);
}

#[test]
fn limits_and_offers_that_cannot_be_used_are_one_clear_error() {
    let program = Program::new();
    let address = [("OPENAI_BASE_URL", "http://localhost:1/v1")];
    for (options, code, says) in [
        (&["--provider-limits", "openai:concurrency=0"][..], 2, "concurrency: \"0\" is not a whole number"),
        (&["--provider-limits", "openai:speed=1"], 2, "speed: there is no such limit"),
        (&["--provider-limits", "simulated:concurrency=1"], 2, "anthropic, gemini, openai"),
        (
            &["--provider-limits", "openai:concurrency=1;openai:concurrency=2"],
            2,
            "the limits of openai are given twice",
        ),
        (&["--offer", "gpt-5"], 2, "openai:NAME"),
        (&["--offer", "openai:other,anthropic:some-model"], 5, "ANTHROPIC_API_KEY is not set"),
    ] {
        let ran = run_with(&program, "openai", options, &address);
        assert_eq!(ran.code, Some(code), "{options:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{options:?}: {}", ran.stderr);
        assert!(!program.path("debates.sqlite").exists(), "{options:?}");
    }
    let simulated = program
        .command(["run", example("ice.json").to_str().unwrap(), "--json"])
        .envs([("DEBATE_OFFER", "openai:a,openai:b"), ("OPENAI_BASE_URL", "http://localhost:1/v1")])
        .output()
        .unwrap();
    assert!(simulated.status.success(), "an unused model causes no error");
}

#[test]
fn a_key_that_goes_over_the_network_unencrypted_is_warned_of_once() {
    let program = Program::new();
    let here = server("401 Unauthorized");
    // Stands where the address leads, which is on no machine.
    let (proxy, elsewhere) = (here.replace("/v1", ""), "http://models.invalid/v1");
    let key = "sk-very-secret";
    for (warnings, address, key_given) in [(2, elsewhere, key), (0, elsewhere, ""), (0, &*here, key)] {
        let ran = |args: &[&str]| {
            let mut command = program.command(args);
            command.args(["--model", "openai:a", "--offer", "openai:b", "--store", "memory"]);
            command.envs([("OPENAI_BASE_URL", address), ("DEBATE_SEARCH_ENDPOINT", address)]);
            command.envs([("OPENAI_API_KEY", key_given), ("DEBATE_SEARCH_KEY", key_given)]);
            for variable in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "REQUEST_METHOD"] {
                command.env_remove(variable);
            }
            Ran::of(command.env("http_proxy", &proxy).output().unwrap())
        };
        let held = ran(&["run", example("ice.json").to_str().unwrap()]);
        let warned = held.stderr.matches("goes over the network unencrypted: write https://").count();
        assert_eq!(warned, warnings, "{held:?}");
        let checked = ran(&["doctor"]);
        let warned = checked.stdout.matches("a key is set; it is sent unencrypted: write https://").count();
        // Of models, each has a line.
        assert_eq!(warned, warnings / 2 * 3, "{checked:?}");
        assert!([held, checked].iter().all(|ran| !format!("{ran:?}").contains(key)));
    }
}
