//! Help, completions, version.

use crate::program::Program;

#[test]
fn help_groups_the_commands_and_fits_on_a_screen() {
    let program = Program::new();
    let help = program.run(["-h"]);
    assert_eq!(help.code, Some(0));
    for text in ["\nAsk:\n  run ", "\nRead:\n  list ", "Examples:", "DEBATE_STORE", "DEBATE_MODEL"] {
        assert!(help.stdout.contains(text), "{text}: {}", help.stdout);
    }
    assert!(!help.stdout.contains("--otlp-endpoint"), "{}", help.stdout);
    assert!(help.stdout.lines().all(|line| line.chars().count() <= 110), "{}", help.stdout);
    for command in ["run", "serve", "show", "verify", "golden", "bench", "completions"] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{command}: {}", help.stdout);
        let short = program.run([command, "-h"]);
        assert!(!short.stdout.contains("--otlp-endpoint"), "{command}: {}", short.stdout);
        let long = program.run([command, "--help"]);
        assert_eq!(long.code, Some(0));
        assert!(long.stdout.contains("Examples:\n  debate "), "{command}: {}", long.stdout);
        assert!(long.stdout.contains("--otlp-endpoint"), "{command}: {}", long.stdout);
    }
    assert_eq!(program.run(["--version"]).stdout, concat!("debate ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn help_explains_commands_and_topics() {
    let program = Program::new();
    for (asked, text) in [
        (&["request"][..], "prediction_context"),
        (&["formats"], "investigation  investigators"),
        (&["models"], "openai:NAME"),
        (&["options"], "--otlp-endpoint <URL>"),
        (&["environment"], "DEBATE_LISTEN"),
        (&["exit-codes"], "130  interrupted"),
        (&["token", "create"], "Usage: debate token create"),
        (&["list"], "Usage: debate list"),
        (&[], "\nAsk:\n  run "),
    ] {
        let help = program.run(["help"].iter().chain(asked));
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{asked:?}");
        assert!(help.stdout.contains(text), "{asked:?}: {}", help.stdout);
    }
    let example = program.run(["help", "request"]).stdout;
    let request = &example[example.find('{').unwrap()..=example.rfind('}').unwrap()];
    let ran = program.run_with_stdin(&["run", "-", "--store", "memory", "--quiet"], request.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let unknown = program.run(["help", "nothing"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("topics are request, formats, models"), "{unknown:?}");
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let program = Program::new();
    for args in [&[][..], &["debate"], &["run"], &["verify"], &["list", "--limit", "0"], &["list", "--wrong"]]
    {
        let ran = program.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(!ran.stderr.is_empty());
    }
}

#[test]
fn completions_are_printed_for_every_shell() {
    let program = Program::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = program.run(["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(
            ran.stdout.contains("verify") && ran.stdout.contains("durability"),
            "{shell}: {}",
            ran.stdout
        );
    }
}

#[test]
fn output_may_be_cut_off_by_its_reader() {
    let program = Program::new();
    let mut command = program.command(["completions", "bash"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
