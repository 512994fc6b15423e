//! One configuration: file, environment, flags; and `debate config check`.

use serde_json::{Value, json};

use crate::program::{Program, Ran};
use crate::server::Server;

const FILE: &str = "\
# What a platform sets.
store = \"postgres://app:s3cret@db/debates?sslmode=require\"
listen = '0.0.0.0:50051'
token = \"s3cret-token\"
offer = [\"simulated:1\", \"simulated:2\"]
hedge-share = 0.1
debates-max = 500
ascii = true
openai-base-url = \"https://me:s3cret@models.example/v1?key=s3cret\"
";

fn row<'a>(rows: &'a Value, name: &str) -> &'a Value {
    rows.as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {rows}"))
}

/// Runs the check with variables of the environment.
fn check(program: &Program, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = program.command(["config", "check"].iter().chain(args));
    let ran = Ran::of(command.envs(variables.iter().copied()).output().unwrap());
    assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
    ran
}

#[test]
fn every_value_says_where_it_comes_from_and_flags_go_before_environment_before_file() {
    let program = Program::new();
    program.write("debate.toml", FILE);
    let variables =
        [("DEBATE_HEDGE_SHARE", "0.2"), ("DEBATE_CALLS_MAX", "9"), ("DEBATE_LEASE_SECONDS", "20")];
    let ran = check(&program, &["debate.toml", "--json", "--lease-seconds", "30"], &variables);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let rows = ran.json();
    for (name, value, source, place) in [
        ("store", json!("postgres://app@db/debates"), "file", "debate.toml:2"),
        ("listen", json!("0.0.0.0:50051"), "file", "debate.toml:3"),
        ("token", json!("(set)"), "file", "debate.toml:4"),
        ("offer", json!("simulated:1, simulated:2"), "file", "debate.toml:5"),
        ("debates-max", json!("500"), "file", "debate.toml:7"),
        ("ascii", json!("true"), "file", "debate.toml:8"),
        ("openai-base-url", json!("https://models.example/v1"), "file", "debate.toml:9"),
        ("hedge-share", json!("0.2"), "environment", "DEBATE_HEDGE_SHARE"),
        ("calls-max", json!("9"), "environment", "DEBATE_CALLS_MAX"),
        ("lease-seconds", json!("30"), "flag", "--lease-seconds"),
        ("hedge", json!("p95"), "default", "default"),
        ("prices", Value::Null, "default", "default"),
    ] {
        let row = row(&rows, name);
        let found = (&row["value"], &row["source"], &row["place"]);
        assert_eq!(found, (&value, &json!(source), &json!(place)), "{name}");
    }
    assert_eq!(row(&rows, "otlp-endpoint")["variable"], "OTEL_EXPORTER_OTLP_ENDPOINT");
    let alike = check(&program, &["--json"], &[("DEBATE_TOKEN", "ab://s3cret-token-like-an-address")]);
    assert_eq!(row(&alike.json(), "token")["value"], "(set)");
    let without_scheme = [
        "me:s3cret@models.example/v1?key=s3cret",
        "me:s3cret@https://models.example/v1",
        "models.example/v1?key=s3cret&to=https://elsewhere.example",
    ];
    // Those of a collector are refused where they are none at all.
    for (name, addresses) in [
        ("openai-base-url", &without_scheme[..]),
        ("search-endpoint", &without_scheme),
        ("otlp-endpoint", &without_scheme[..1]),
    ] {
        let variable = row(&rows, name)["variable"].as_str().unwrap();
        for &address in addresses {
            let bare = check(&program, &["--json"], &[(variable, address)]);
            assert_eq!(row(&bare.json(), name)["value"], "(set)", "{name}: {address}");
        }
    }
    for (address, expected) in [
        ("https://me:s3cret@models.example:8443/v1", "https://models.example:8443/v1"),
        ("https://me%3As3cret%40models.example/v1", "https://[hidden]"),
        ("https://me%3As3cret@models.example/v1", "https://[hidden]"),
        ("https://models.example/v1;key=s3cret", "https://[hidden]"),
    ] {
        let ran = check(&program, &["--json"], &[("OPENAI_BASE_URL", address)]);
        assert_eq!(row(&ran.json(), "openai-base-url")["value"], expected, "{address}");
    }
    let shown = check(&program, &[], &[("DEBATE_CONFIG", "debate.toml")]);
    assert!(shown.stdout.contains("debate.toml:7") && shown.stdout.contains("not set"), "{}", shown.stdout);
}

#[test]
fn all_that_is_unknown_or_wrong_is_one_error_that_names_every_option_with_its_place() {
    let program = Program::new();
    program.write(
        "bad.toml",
        "lease_seconds = 5\nhedge = \"sometimes\"\ntoken = \"\"\nlisten = [\"a\", \"b\"]\nascii = 1\n\
         seed = true\nprovider-limits = [\"openai:speed=1\"]\nconfig = \"x\"\n[serve]\ncalls-max = 1\n",
    );
    let variables = [("DEBATE_DEBATES_MAX", "0"), ("DEBATE_CONFIG", "bad.toml")];
    let mut command = program.command(["serve", "--calls-max", "many"]);
    let ran = Ran::of(command.envs(variables).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 12, "{}", ran.stderr);
    for says in [
        "error: these options cannot be used:",
        "  lease_seconds (bad.toml:1): there is no such option; write lease-seconds",
        "  hedge (bad.toml:2): write one of off, p95, p75, adaptive",
        "  token (bad.toml:3): it is empty",
        "  listen (bad.toml:4): write one value, not a list",
        "  ascii (bad.toml:5): write true or false",
        "  seed (bad.toml:6): write a text or number",
        "  provider-limits (bad.toml:7): speed: there is no such limit",
        "  config (bad.toml:8): there is no such option",
        "  serve (bad.toml:9): there is no such option",
        "  debates-max (DEBATE_DEBATES_MAX): 0 is not in 1..=10000",
        "  calls-max (--calls-max): invalid digit found in string",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(says)), "{says}: {}", ran.stderr);
    }
    for (text, says) in [
        ("store = memory\n", "half.toml:1 is no TOML: "),
        ("store = \"memory\"\nstore = \"memory\"\n", "half.toml:2 is no TOML: duplicate key"),
        ("tls-key = \"key.pem\"\n", "tls-key needs tls-certificate"),
        ("tls-client-authorities = \"ca.pem\"\n", "tls-client-authorities needs"),
        ("debates-max = 10001\n", "error: debates-max (half.toml:1): 10001 is not in 1..=10000"),
    ] {
        program.write("half.toml", text);
        let ran = check(&program, &["half.toml"], &[]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let ran = check(&program, &["gone.toml"], &[]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
    assert!(ran.stderr.contains("cannot read the configuration gone.toml"), "{}", ran.stderr);
}

#[test]
fn a_server_and_other_commands_run_with_the_values_of_a_file() {
    let program = Program::new();
    program.write(
        "debate.toml",
        "store = \"sqlite://of-file.sqlite\"\nmodel = \"simulated:7\"\ndebates-max = 3\n",
    );
    let mut server = Server::start(&program, &["--config", "debate.toml"]);
    let line = server.says();
    assert!(line.starts_with("model simulated:7, store of-file.sqlite, "), "{line}");
    drop(server);
    let ran = program.run(["list", "--config", "debate.toml", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let elsewhere = program.run(["list", "--config", "debate.toml", "--store", "sqlite://gone.sqlite"]);
    assert!(elsewhere.stderr.contains("gone.sqlite"), "{elsewhere:?}");
}

#[cfg(unix)]
#[test]
fn a_file_that_everybody_may_write_configures_nothing() {
    use std::os::unix::fs::PermissionsExt as _;

    let program = Program::new();
    let file = program.write("debate.toml", "debates-max = 3\n");
    for (mode, code) in [(0o602, 2), (0o666, 2), (0o664, 0), (0o600, 0)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let ran = check(&program, &["debate.toml"], &[]);
        assert_eq!(ran.code, Some(code), "{mode:o}: {ran:?}");
        assert_eq!(ran.stderr.contains("may be written by everybody"), code == 2, "{mode:o}: {ran:?}");
        let used = program.run(["list", "--config", "debate.toml", "--store", "sqlite://it.sqlite"]);
        assert_eq!(used.stderr.contains("may be written by everybody"), code == 2, "{mode:o}: {used:?}");
    }
}
