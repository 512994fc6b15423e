//! `debate token`, and a server that rejects clients without one.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Stdio;

use debate_core::id::Timestamp;
use serde_json::{Value, json};

use crate::program::{Program, Ran, example};
use crate::server::Server;

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

#[test]
fn a_token_is_made_listed_used_and_revoked_while_the_server_runs() {
    let program = Program::new();
    let file = ["--file", "tokens.json"];
    let made = program.run(
        ["token", "create", "app", "--scope", "read,write", "--tenant", "b", "--json"].iter().chain(&file),
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let path = program.path("tokens.json");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let listed = program.run(["token", "list"].iter().chain(&file));
    assert!(listed.stdout.starts_with(&format!("{id}  app  read,write  tenant b  since 2")), "{listed:?}");
    assert!(
        !listed.stdout.contains(token)
            && !std::fs::read_to_string(program.path("tokens.json")).unwrap().contains(token)
    );
    let servers = Server::start_both_ways(&program, ("--tokens", "DEBATE_TOKENS"), "tokens.json");
    let watch = |server: &Server, token: &str| {
        let url = format!("http://{}", server.address);
        program.run(["watch", UNKNOWN_ID, "--server", &url, "--token", token]).code
    };
    for server in &servers {
        assert_eq!((watch(server, token), watch(server, "wrong")), (Some(3), Some(5)));
    }
    let without_server =
        program.command(["watch", UNKNOWN_ID]).env("DEBATE_TOKENS", "tokens.json").output().unwrap();
    let stderr = String::from_utf8(without_server.stderr).unwrap();
    assert!(stderr.contains("there is no store"), "the server's variable means something to watch: {stderr}");
    let before = std::fs::File::open(&path).unwrap();
    let revoked = program.run(["token", "revoke", "app"].iter().chain(&file));
    assert_ne!(before.metadata().unwrap().ino(), std::fs::metadata(&path).unwrap().ino(), "it is replaced");
    assert_eq!((revoked.code, revoked.stdout.starts_with(id)), (Some(0), true), "{revoked:?}");
    for server in &servers {
        assert_eq!(watch(server, token), Some(5));
    }
    let again = program.run(["token", "revoke", "app"].iter().chain(&file));
    assert_eq!(again.code, Some(2), "{again:?}");
}

#[test]
fn a_token_is_made_with_every_limit_and_the_end_that_was_wished_for() {
    let program = Program::new();
    let limits = [
        ("requests_per_minute", 11),
        ("requests_at_once", 12),
        ("debates_at_once", 13),
        ("request_bytes_max", 14_000),
        ("debate_cost_micros_max", 15),
        ("day_cost_micros_max", 16),
    ];
    let flags = limits.iter().map(|(name, limit)| format!("--{}={limit}", name.replace('_', "-")));
    let create =
        ["token", "create", "app", "--file=tokens.json", "--scope=write", "--format=review", "--json"];
    let args = create.map(str::to_owned).into_iter().chain(flags).chain(["--expires-days=30".to_owned()]);
    let made = program.run(args.collect::<Vec<_>>());
    assert_eq!(made.code, Some(0), "{made:?}");
    let listed = program.run(["token", "list", "--file=tokens.json", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let entry = &listed["tokens"][0];
    assert_eq!(
        (&entry["formats"], &entry["limits"]),
        (&json!(["review"]), &Value::from_iter(limits)),
        "{listed}"
    );
    let at = |name: &str| entry[name].as_str().unwrap().parse::<Timestamp>().unwrap().0;
    assert_eq!(at("expires_at") - at("created_at"), 30 * 24 * 60 * 60 * 1000, "{listed}");
}

/// Runs the program to its end, or until it says something: a server that starts, though it should not, says where it is.
fn run_until_said(program: &Program, args: &[&str]) -> Ran {
    let mut command = program.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut stdout).unwrap();
    if !stdout.is_empty() {
        child.kill().unwrap();
    }
    Ran { stdout, ..Ran::of(child.wait_with_output().unwrap()) }
}

#[test]
fn bad_input_is_one_clear_error() {
    let program = Program::new();
    program.write("broken.json", "{");
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    program.write("chain.pem", certificate.self_signed(&key).unwrap().pem());
    program.write("key.pem", key.serialize_pem());
    for args in [
        &["token", "create", "a b", "--file", "tokens.json", "--scope", "read"][..],
        &["token", "create", "engine", "--file", "tokens.json", "--scope", "read"],
        &["token", "create", "app", "--file", "tokens.json", "--scope", "everything"],
        &["token", "create", "app", "--file", "tokens.json", "--scope", "read", "--format", "quarrel"],
        &["token", "list", "--file", "absent.json"],
        &["token", "list", "--file", "broken.json"],
        &["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--tokens", "absent.json"],
        &["serve", "--listen", "0.0.0.0:0", "--store", "memory"],
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            "memory",
            "--tls-certificate",
            "a",
            "--tls-key",
            "b",
        ],
        &["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--tls-certificate", "a"],
        &[
            "serve",
            "--listen=127.0.0.1:0",
            "--store=memory",
            "--tls-certificate=chain.pem",
            "--tls-key=key.pem",
            "--tls-client-authorities=gone.pem",
        ],
    ] {
        let ran = run_until_said(&program, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stdout.is_empty(), "{args:?}: {ran:?}");
    }
    assert!(!program.path("tokens.json").exists() && !program.path("tokens.json.new").exists());
}

/// Every variable that holds a secret.
const SECRETS: [&str; 7] = [
    "DEBATE_TOKEN",
    "PGPASSWORD",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DEBATE_SEARCH_KEY",
];

/// Checks that a program prints other text, but not the password in the value of one of its environment variables.
fn check_hidden(program: &Program, variable: &str, value: &str, asked: &[(&[&str], &str)]) {
    for (args, says) in asked {
        let output = program.command(*args).env(variable, value).output().unwrap();
        let output = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.contains(says) && !output.contains("sesame"), "{args:?}, {value}: {output}");
    }
}

#[test]
fn a_refused_store_url_never_shows_its_password() {
    let program = Program::new();
    for store in [
        "postgress://app:open-sesame@db/debates",
        "postgress://app:open-sesame?x@db/debates",
        "postgress://app:open-sesame/debates",
        "postgress://app:open-sesame%40db/debates",
        "app:open-sesame@postgres://db/debates",
        "db/debates?password=open-sesame&to=postgres://db",
        "app:open-sesame@db/debates",
        "host=db user=app password=open-sesame dbname=debates",
        "host=db,password=open-sesame",
        "app%3Aopen-sesame%40db/debates",
        "mssql://db;user=app;password=open-sesame",
        "postgres:app:open-sesame",
    ] {
        let asked: [(&[&str], &str); 8] = [
            (&["show", UNKNOWN_ID], "store (DEBATE_STORE): "),
            (&["show"], "<ID>"),
            (&["show", "--everything"], "--everything"),
            (&["--store", store, "show"], "<ID>"),
            (&["--store", store, "show", UNKNOWN_ID], "store (--store): "),
            (&["--store", store, "show", "--help"], "Usage: debate show"),
            (&["config", "check"], "store (DEBATE_STORE): "),
            (&["config", "check", "--store", store], "store (--store): "),
        ];
        check_hidden(&program, "DEBATE_STORE", store, &asked);
    }
}

#[test]
fn otlp_over_https_is_encrypted_and_bad_address_hides_login() {
    const OVER: u8 = 0;
    let program = Program::new();
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    // What every connection begins with, those for spans and those for measurements, until the test says that it is over.
    let heard = std::thread::spawn(move || {
        let firsts = collector.incoming().map(|stream| {
            let mut first = [0; 1];
            std::io::Read::read_exact(&mut stream.unwrap(), &mut first).unwrap();
            first[0]
        });
        firsts.take_while(|first| *first != OVER).collect::<Vec<_>>()
    });
    let request = example("ice.json");
    let run = |endpoint: &str| {
        program.command(["run", request.to_str().unwrap(), "--store", "memory", "--otlp-endpoint", endpoint])
    };
    let ran = Ran::of(run(&format!("https://{address}")).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    std::io::Write::write_all(&mut std::net::TcpStream::connect(address).unwrap(), &[OVER]).unwrap();
    let heard = heard.join().unwrap();
    assert!(heard.len() > 1 && heard.iter().all(|first| *first == 0x16), "greetings of TLS alone: {heard:?}");
    let refused = Ran::of(run("http://me:open-sesame@[bad").output().unwrap());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("otlp-endpoint") && !refused.stderr.contains("sesame"), "{refused:?}");
}

#[test]
fn what_is_odd_in_a_file_of_passwords_or_an_address_of_a_database_is_not_logged() {
    let program = Program::new();
    let passwords = program.write("pgpass", "open-sesame-1\n127.0.0.1:1:nothing:open-sesame-2\n");
    std::fs::set_permissions(passwords, std::fs::Permissions::from_mode(0o600)).unwrap();
    let store = "postgres://app@127.0.0.1:1/nothing?sslpassword=open-sesame-3&passwd=open-sesame-4";
    let asked_for = ["", "::parse", "::pgpass"].map(|part| format!("sqlx_postgres::options{part}=trace"));
    for levels in ["trace", &asked_for.join(",")] {
        let mut command = program.command(["list", "--store", store, "--log-level", levels]);
        let ran = Ran::of(command.env("PGPASSFILE", "pgpass").output().unwrap());
        assert_eq!(ran.code, Some(5), "{ran:?}");
        let stderr = &ran.stderr;
        assert!(stderr.contains("127.0.0.1:1") && !stderr.contains("open-sesame"), "{levels}: {stderr}");
    }
}

#[test]
fn a_refused_origin_never_shows_its_password() {
    let program = Program::new();
    for origin in [
        "https://app:open-sesame@app.example",
        "app:open-sesame@app.example",
        "https:app:open-sesame@app.example",
        "https://app:open,sesame@app.example",
    ] {
        let refused = "it is no origin";
        let asked: [(&[&str], &str); 5] = [
            (&["serve"], refused),
            (&["serve", "--cors-origins", origin], refused),
            (&["serve", "--help"], "Usage: debate serve"),
            (&["config", "check"], refused),
            (&["doctor"], refused),
        ];
        check_hidden(&program, "DEBATE_CORS_ORIGINS", origin, &asked);
    }
}

#[test]
fn secrets_are_in_no_output_whatever_is_asked() {
    let program = Program::new();
    let secret = "open-sesame-4711";
    let url = format!("http://127.0.0.1:1/v1?key={secret}");
    let urls = [
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "GEMINI_BASE_URL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "DEBATE_SEARCH_ENDPOINT",
        "DEBATE_SERVER",
    ];
    let store = format!("postgres://app:{secret}@127.0.0.1:1/nothing");
    let hidden = || {
        let urls = urls.map(|name| (name, url.as_str()));
        SECRETS.map(|name| (name, secret)).into_iter().chain(urls).chain([("DEBATE_STORE", store.as_str())])
    };
    // Their addresses are checked and printed; no server answers there.
    let models = ["--model", "openai:a", "--offer", "anthropic:b,gemini:c"];
    for args in [
        &["--help"][..],
        &["serve", "--help"],
        &["serve", "--listen", "0.0.0.0:x"],
        &["watch", "--help"],
        &["run", "--help"],
        &["config", "show"],
        &["config", "check"],
        &["doctor", "--log-level", "trace"],
        &["doctor", "--store", "postgres://app@127.0.0.1:1/nothing", "--log-level", "trace"],
        &[&["doctor", "--store", "memory", "--log-level", "trace"][..], &models].concat(),
    ] {
        let mut command = program.command(args);
        let output = command.envs(hidden()).output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&printed).contains(secret), "{args:?}");
    }
    let request = example("roundtable-socratic.json");
    for args in [&["doctor"][..], &["run", request.to_str().unwrap()], &["serve", "--listen", "127.0.0.1:0"]]
    {
        let service = format!("http://me:{secret}@search.example/?key={secret}");
        let mut command = program.command(args);
        let refused = Ran::of(
            command
                .envs(hidden())
                .envs([("DEBATE_STORE", "memory"), ("DEBATE_SEARCH_ENDPOINT", &service)])
                .output()
                .unwrap(),
        );
        let printed = [refused.stdout.as_str(), &refused.stderr].concat();
        assert!(
            printed.contains("--search-endpoint cannot be used: ") && !printed.contains(secret),
            "{args:?}: {printed}"
        );
    }
    let log = std::fs::File::create(program.path("log.txt")).unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--log-level", "trace"];
    let mut command = program.command(args.into_iter().chain(models));
    let mut child = command.envs(hidden()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let url = format!("http://{}", line.trim().strip_prefix("listening on ").unwrap());
    for token in [secret, "open-sesame-4712"] {
        let watched = program.run(["watch", UNKNOWN_ID, "--server", &url, "--token", token]);
        assert!(!watched.stderr.contains("open-sesame"), "{watched:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let log = std::fs::read_to_string(program.path("log.txt")).unwrap();
    assert!(!log.is_empty() && !log.contains("open-sesame"), "{log}");
}
