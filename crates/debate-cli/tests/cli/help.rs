//! Help, completions, version.

use crate::program::Program;

#[test]
fn help_lists_commands_examples_and_exit_codes() {
    let program = Program::new();
    let help = program.run(["--help"]);
    assert_eq!(help.code, Some(0));
    for text in
        ["Examples:", "Exit codes:", "130  interrupted", "DEBATE_STORE", "DEBATE_MODEL", "OPENAI_BASE_URL"]
    {
        assert!(help.stdout.contains(text), "{text}: {}", help.stdout);
    }
    for command in [
        "run",
        "serve",
        "list",
        "show",
        "watch",
        "log",
        "replay",
        "verify",
        "report",
        "cancel",
        "golden",
        "doctor",
        "bench",
        "completions",
    ] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{command}: {}", help.stdout);
        let help = program.run([command, "--help"]);
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains("Examples:\n  debate "), "{command}: {}", help.stdout);
    }
    assert_eq!(program.run(["--version"]).stdout, concat!("debate ", env!("CARGO_PKG_VERSION"), "\n"));
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
