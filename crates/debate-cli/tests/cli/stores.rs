//! Stores that cannot be used: one clear line, and exit code 5.

use std::fs;
use std::thread;

use crate::program::{Program, example};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

/// Runs every command that needs the store, all at once, and checks that each says the same one thing.
fn refused(program: &Program, store: &str, says: &str) {
    let file = example("deliberation.json");
    let commands: [&[&str]; 10] = [
        &["list"],
        &["show", UNKNOWN_ID],
        &["log", UNKNOWN_ID],
        &["replay", UNKNOWN_ID, "--at", "1"],
        &["watch", UNKNOWN_ID],
        &["cancel", UNKNOWN_ID],
        &["verify", UNKNOWN_ID],
        &["verify", "--all"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["run", file.to_str().unwrap()],
    ];
    thread::scope(|scope| {
        for args in commands {
            scope.spawn(move || {
                let ran = program.run(args.iter().copied().chain(["--store", store]));
                assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""), "{store} {args:?}: {ran:?}");
                assert_eq!(ran.stderr.lines().count(), 1, "{store} {args:?}: {}", ran.stderr);
                let is_said = ran.stderr.starts_with("error: ") && ran.stderr.contains(says);
                assert!(is_said, "{store} {args:?}: {}", ran.stderr);
            });
        }
    });
}

#[test]
fn a_store_that_cannot_be_used_is_one_clear_error() {
    let program = Program::new();
    program.write("text.txt", "this is no database, whatever its name says, and it is long enough to be one");
    refused(&program, "sqlite://text.txt", "is not a SQLite database");
    fs::create_dir(program.path("folder")).unwrap();
    refused(&program, "sqlite://folder", "folder");
}

#[test]
fn f7_a_read_only_database_is_read_and_takes_no_debate() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    let path = program.path("debates.sqlite");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    for args in [&["list"][..], &["show", &id], &["log", &id], &["verify", &id]] {
        let read = program.run(args);
        assert!(read.code == Some(0) && !read.stdout.is_empty(), "{args:?}: {read:?}");
    }
    let file = example("deliberation.json");
    for args in [["run", file.to_str().unwrap()], ["cancel", &id]] {
        let refused = program.run(args);
        assert!(refused.code == Some(5) && refused.stderr.contains("is read-only"), "{refused:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_store_that_everybody_may_write_is_refused_and_one_of_another_user_is_warned_of() {
    use std::os::unix::fs::{PermissionsExt as _, chown};

    let program = Program::new();
    program.debate("deliberation.json");
    let path = program.path("debates.sqlite");
    let let_write = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    for (mode, code) in [(0o600, 0), (0o644, 0), (0o664, 0), (0o602, 5), (0o646, 5), (0o666, 5)] {
        let_write(mode);
        let listed = program.run(["list"]);
        assert_eq!((listed.code, listed.stderr.is_empty()), (Some(code), code == 0), "{mode:o}: {listed:?}");
    }
    refused(&program, "sqlite://debates.sqlite", "may be written by everybody");
    let_write(0o600);
    // Only root can give a file away.
    if chown(&path, Some(12_345), None).is_err() {
        return println!("skipped: a file can be given to another user by root alone");
    }
    let listed = program.run(["list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stderr.contains("the store is another user's file"), "{listed:?}");
}

#[test]
fn a_folder_that_does_not_exist_is_one_clear_error() {
    let program = Program::new();
    let ran =
        program.run(["run", example("deliberation.json").to_str().unwrap(), "--store", "sqlite://gone/a.db"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(5), 1), "{ran:?}");
    assert!(ran.stderr.contains("check that its folder exists"), "{}", ran.stderr);
}

#[test]
fn reading_creates_no_store() {
    let program = Program::new();
    for command in ["list", "verify"] {
        let args = if command == "verify" { vec!["verify", "--all"] } else { vec!["list"] };
        let ran = program.run(args);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(ran.stderr.contains("there is no store at debates.sqlite"), "{}", ran.stderr);
    }
    assert!(!program.path("debates.sqlite").exists());
}

#[test]
fn a_locked_database_is_one_clear_error() {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions as _, Connection as _};

    let program = Program::new();
    program.debate("deliberation.json");
    let options =
        SqliteConnectOptions::new().filename(program.path("debates.sqlite")).disable_statement_logging();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = options.connect().await.unwrap();
        sqlx::query("PRAGMA locking_mode = EXCLUSIVE").execute(&mut connection).await.unwrap();
        sqlx::query("BEGIN EXCLUSIVE").execute(&mut connection).await.unwrap();
        refused(&program, "sqlite://debates.sqlite", "is locked by another program");
        connection.close().await.unwrap();
    });
}
