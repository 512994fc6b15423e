//! Investigations from the command line (rules I1–I10).

use std::path::Path;

use serde_json::json;

use crate::program::{Program, Ran, example};

#[test]
fn i7_both_examples_are_held_shown_verified_replayed_and_forked() {
    let program = Program::new();
    let ran = program.run(["run".as_ref(), example("leap_second.json").as_os_str()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ["round 1 is over: H1 ", "mara: reports on H1", "devils_advocate: C1.", "verdict: H"] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    for line in ["Conclusion\n", "Verdict\n", "Hypothesis H3\n", "H1.E1 for [command_output, unverified]"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let ran = program.run(["run".as_ref(), example("five_hundred_miles.json").as_os_str()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ["最终判定\n", "假设 H1\n", "[命令输出, 未核实]", "  判定者 "] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    for english in [" for [", "unverified", "named by", "open: ", "closed: "] {
        assert!(!ran.stdout.contains(english), "{english}: {}", ran.stdout);
    }
    let listed = program.run(["list", "--json", "--format", "investigation"]).lines();
    let id = listed[1]["debate_id"].as_str().unwrap_or_else(|| panic!("{listed:?}")).to_owned();
    assert_eq!(program.run(["verify", &id]).code, Some(0));
    let replayed = program.run(["replay", &id, "--at", "6"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let forked = program.run(["fork", &id, "--without", "ilya", "--at", "12", "--json"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    let left: Vec<_> =
        forked.json()["hypotheses"].as_array().unwrap().iter().map(|one| one["hypothesis"].clone()).collect();
    assert_eq!(left, [1, 3]);
    assert_eq!(program.run(["verify", "--all"]).code, Some(0));
}

#[test]
fn i10_with_a_workspace_what_is_quoted_is_compared_with_the_files_and_without_it_is_unverified() {
    let program = Program::new();
    std::fs::create_dir_all(program.path("code/src")).unwrap();
    std::fs::write(program.path("code/src/bus.rs"), "\nlet leaks = listener.memory();\n").unwrap();
    let request = r#"{"format": "investigation", "problem": "The listener leaks memory", "investigators": ["ann", "bo"]}"#;
    program.write("request.json", request);
    let checks = |arguments: &[&str]| {
        let ran = program.run(["run", "request.json", "--json"].iter().chain(arguments));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let result = ran.json();
        let hypotheses = result["hypotheses"].as_array().unwrap().clone();
        let evidence = hypotheses.iter().flat_map(|one| one["evidence"].as_array().unwrap().clone());
        let checks: Vec<_> = evidence
            .map(|one| {
                (one["pointer"].as_str().unwrap().to_owned(), one["check"].as_str().unwrap().to_owned())
            })
            .collect();
        (result["debate_id"].as_str().unwrap().to_owned(), checks)
    };
    let (id, found) = checks(&["--workspace", "code"]);
    let verified = ("src/bus.rs:2".to_owned(), "verified".to_owned());
    assert!(found.contains(&verified), "{found:?}");
    let log = program.run(["log", &id, "--json"]).stdout;
    for recorded in ["check_quote", "verified: it stands in src/bus.rs at line 2", r#""check":"verified""#] {
        assert!(log.contains(recorded), "{recorded}: {log}");
    }
    assert_eq!(program.run(["verify", &id]).code, Some(0), "no file is looked at again");
    let (_, found) = checks(&[]);
    assert!(found.iter().all(|(_, check)| check == "unverified"), "{found:?}");
    let gone = program.run(["run", "request.json", "--workspace", "gone"]);
    assert_eq!(gone.code, Some(2), "{gone:?}");
    assert!(gone.stderr.contains("cannot open the workspace gone"), "{}", gone.stderr);
}

#[cfg(unix)]
#[test]
fn i10_no_git_is_run_that_lies_in_the_workspace_wherever_programs_are_looked_for() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let program = Program::new();
    let code = program.path("code");
    let ours = |arguments: &[&str]| {
        let ran = std::process::Command::new("git").args(arguments).current_dir(&code).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    for folder in ["code/bin", "code/leads_out", "leads_in"] {
        std::fs::create_dir_all(program.path(folder)).unwrap();
    }
    for git in ["code/git", "code/bin/git", "elsewhere"] {
        program.write(git, format!("#!/bin/sh\ntouch '{}'\n", program.path("run").display()));
        std::fs::set_permissions(program.path(git), PermissionsExt::from_mode(0o755)).unwrap();
    }
    symlink(code.join("bin"), program.path("link")).unwrap();
    symlink(code.join("bin/git"), program.path("leads_in/git")).unwrap();
    symlink(program.path("elsewhere"), code.join("leads_out/git")).unwrap();
    program.write("code/bus.rs", "\nlet leaks = listener.memory();\n");
    ours(&["init", "--quiet"]);
    ours(&["add", "."]);
    ours(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "one"]);
    let request = r#"{"format": "investigation", "problem": "The listener leaks memory", "investigators": ["ann", "bo"]}"#;
    program.write("request.json", request);
    let folders = ["code/bin", "link", "leads_in", "code/leads_out"].map(|folder| program.path(folder));
    let theirs = [".", "bin", ""].into_iter().chain(folders.iter().map(|folder| folder.to_str().unwrap()));
    let theirs = theirs.collect::<Vec<_>>().join(":");
    let system = std::env::var("PATH").unwrap();
    for (path, is_found) in [(format!("{theirs}:{system}"), true), (theirs, false)] {
        let mut run = program.command(["run", "request.json", "--json", "--workspace", "code"]);
        let ran = Ran::of(run.env("PATH", path).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let log = program.run(["log", ran.json()["debate_id"].as_str().unwrap(), "--json"]).stdout;
        assert!(is_found != log.contains("there is no git outside of the workspace"), "{log}");
    }
    assert!(!program.path("run").exists());
}

#[test]
fn i10_what_is_quoted_of_this_repository_stands_there_and_is_marked_so() {
    let program = Program::new();
    // A checkout whose .git is a file has no list of its files; a search must skip what was built next to them.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let root = if root.join(".git").is_dir() { root } else { root.join("crates") };
    let problem =
        "A line of check_quote is reported as refuted while investigating, although it stands in its file";
    program.write(
        "request.json",
        json!({ "format": "investigation", "problem": problem, "investigators": ["ann", "bo"] }).to_string(),
    );
    let run = ["run", "request.json", "--json", "--quiet", "--workspace", root.to_str().unwrap()];
    let ran = program.run(run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = ran.json();
    let hypotheses = result["hypotheses"].as_array().unwrap().iter();
    let (mut verified, mut unverified) = (0, 0);
    for evidence in hypotheses.flat_map(|one| one["evidence"].as_array().unwrap()) {
        let text = |field: &str| evidence[field].as_str().unwrap();
        match (text("kind"), text("check")) {
            ("file_line", "verified") => {
                let (path, line) = text("pointer").split_once(':').unwrap();
                let file = std::fs::read_to_string(root.join(path)).unwrap();
                let line = file.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
                assert!(line.contains(text("quote")), "{evidence}");
                verified += 1;
            }
            ("command_output" | "data", "unverified") => unverified += 1,
            _ => panic!("{evidence}"),
        }
        assert_eq!(evidence["ignored"], false, "{evidence}");
    }
    assert!(verified > 0 && unverified > 0, "{verified} and {unverified} of {result}");
    let id = result["debate_id"].as_str().unwrap();
    let shown = program.run(["show", id]).stdout;
    assert!(shown.contains("[file_line, verified]") && shown.contains("unverified]"), "{shown}");
}
