//! Debates kept in PostgreSQL: every command that takes a store takes this one.

use debate_postgres_fixture::{Server, fresh_database};

use crate::program::{Program, example};
use crate::proving::audited;

#[test]
fn a_debate_is_held_read_and_verified_on_postgres() {
    let program = Program::new();
    let url = fresh_database().unwrap();
    let run = |args: &[&str]| {
        let ran = program.run(args.iter().copied().chain(["--store", &url]));
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran
    };
    let file = example("deliberation.json");
    let printed = run(&["run", file.to_str().unwrap(), "--json"]);
    let id = printed.json()["debate_id"].as_str().unwrap().to_owned();
    assert!(run(&["list"]).stdout.contains(&id[..8]));
    assert!(!run(&["show", &id]).stdout.is_empty());
    let log = run(&["log", &id, "--json"]).stdout;
    assert!(log.lines().count() > 10, "{log}");
    assert!(!run(&["watch", &id]).stdout.is_empty());
    for args in [&["verify", &id][..], &["verify", "--all"]] {
        let verified = run(args).stdout;
        assert!(verified.contains("ok") && verified.contains(&id), "{verified}");
    }
    assert!(!program.path("debates.sqlite").exists());
}

#[test]
fn a_database_that_cannot_be_used_is_one_clear_error_without_the_password() {
    let program = Program::new();
    let server = Server::start(&[]).unwrap();
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 's3cret'").unwrap();
    let file = example("deliberation.json");
    let run = ["run", file.to_str().unwrap()];
    for (database, args, says) in [
        ("postgres", &["list"][..], "there is no log"),
        ("postgres", &["verify", "--all"], "there is no log"),
        ("nothing", &run, "there is no database"),
        ("postgres", &run, "as the owner of the database"),
    ] {
        let url = server.url_for("app:s3cret", database);
        let ran = program.run(args.iter().copied().chain(["--store", &url]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""), "{args:?}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {}", ran.stderr);
        let is_reported = ran.stderr.contains(says) && !ran.stderr.contains("s3cret");
        assert!(is_reported, "{args:?}: {}", ran.stderr);
    }
    let help = program.command(["--help"]).env("DEBATE_STORE", "postgres://a:s3cret@b/c").output().unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains("s3cret"));
}

#[test]
fn the_doctor_looks_at_the_database() {
    let program = Program::new();
    let url = fresh_database().unwrap();
    let ran = program.run(["doctor", "--store", &url]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("answers and has the schema of this program, 6"), "{}", ran.stdout);
    assert!(ran.stdout.contains("ok    clock   "), "{}", ran.stdout);
}

#[test]
fn k15_what_is_put_in_the_place_of_an_archived_debate_is_found() {
    let program = Program::new();
    let server = Server::start(&[]).unwrap();
    let url = server.url("postgres");
    let run = |args: &[&str]| program.run(args.iter().copied().chain(["--store", &url]));
    let done = |args: &[&str]| assert_eq!(run(args).code, Some(0), "{args:?}");
    let file = example("ice.json");
    let id = run(&["run", file.to_str().unwrap(), "--json"]).json()["debate_id"].as_str().unwrap().to_owned();
    server.sql("postgres", "CREATE ROLE app LOGIN IN ROLE debate_writer").unwrap();
    server
        .sql("postgres", "CREATE TABLE early AS SELECT * FROM events; GRANT SELECT ON early TO app")
        .unwrap();
    done(&["resolve", &id, "yes"]);
    done(&["archive", &id, "--to", "archive"]);
    done(&["verify", "--all", "--archive", "archive"]);

    // Soundly chained, by a login that may only write: first a shorter history, then one of the same length.
    server.sql("postgres", "SET ROLE app; INSERT INTO events SELECT * FROM early").unwrap();
    let archived = ["--archive", "archive"];
    for resolve in [None, Some(["resolve", &id, "no"])] {
        if let Some(resolve) = resolve {
            done(&resolve);
        }
        for args in [&["verify", &id][..], &["verify", "--all"]] {
            for ran in [run(args), run(&[args, &archived].concat())] {
                assert_eq!(ran.code, Some(4), "{args:?}: {ran:?}");
                assert!(
                    ran.stdout.contains(&format!("FAULT  {id}  at event 1: it is archived in ")),
                    "{ran:?}"
                );
                assert!(ran.stdout.contains(", and the store has other events of it\n"), "{ran:?}");
            }
        }
    }
}

#[test]
fn k15_no_checkpoint_signs_what_was_put_before_the_first_place_by_hand() {
    // An event before the first of its stream, which is not signed yet; and the next one, before the first of all.
    for (place, seq) in [("max(position) + 1", "0"), ("0", "max(seq) + 1"), ("-1", "max(seq) + 1")] {
        let program = audited();
        let server = Server::start(&[]).unwrap();
        let url = server.url("postgres");
        let file = example("ice.json");
        let run = program.run(["run", file.to_str().unwrap(), "--store", &url]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let sql = format!(
            "INSERT INTO events (position, stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body) \
             SELECT {place}, stream_kind, stream_id, {seq}, 'noted', 1, 1, '', 'x', decode(repeat('00', 32), 'hex'), '{{}}' \
             FROM events GROUP BY stream_kind, stream_id"
        );
        server.sql("postgres", &sql).unwrap();
        let refused = program.run(["checkpoint", "--folder", "proof", "--key", "audit.key", "--store", &url]);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains("before the first place"), "{refused:?}");
        let folder = std::fs::read_dir(program.path("proof")).into_iter().flatten();
        let is_note = |name: &str| name.starts_with("checkpoint-");
        let is_signed = folder.map(|file| file.unwrap().file_name()).any(|it| is_note(&it.to_string_lossy()));
        assert!(!is_signed, "{refused:?}");
    }
}
