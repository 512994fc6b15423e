//! Stores as the schemas before this one left them, dumped as SQL: opened, brought up to date, checked, gone on with.
//!
//! Each dump holds the checksums of its schema's steps, and opening compares them: so a step that is edited once it was
//! committed fails here.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Sqlite};

use crate::program::Program;

/// The newest schemas, of files and of databases.
const NEWEST: [u32; 2] = [3, 3];

/// Reads a dump.
fn dump(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores").join(format!("{name}.sql.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut sql = String::new();
    GzDecoder::new(file).read_to_string(&mut sql).unwrap();
    sql
}

/// Checks a store with a resolved prediction, a fork of it and a deliberation with a redaction, and goes on with each.
/// One more prediction is in the archive where there was one.
fn goes_on(program: &Program, store: &[&str], has_archive: bool) {
    let run = |args: &[&str]| {
        let ran = program.run(args.iter().chain(store).copied());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran
    };
    let listed = run(&["list", "--json"]).lines();
    let id_of = |is_it: &dyn Fn(&serde_json::Value) -> bool| {
        let found = listed.iter().find(|debate| is_it(debate)).unwrap();
        found["debate_id"].as_str().unwrap().to_owned()
    };
    let fork = id_of(&|debate| debate.get("forked_from").is_some());
    let topic = id_of(&|debate| debate["format"] == "deliberation");
    let parent = listed.iter().find_map(|debate| debate["forked_from"]["debate_id"].as_str()).unwrap();
    if has_archive {
        let archive = id_of(&|debate| debate["status"] == "archived");
        let bundles = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/archive");
        run(&["restore", &archive, "--from", bundles.to_str().unwrap()]);
    }
    assert_eq!(listed.len(), 3 + usize::from(has_archive));
    let checked = run(&["verify", "--all"]).stdout;
    assert!(checked.contains(&format!("{} debates checked, 0 with a fault\n", listed.len())), "{checked}");
    assert!(checked.contains("behind 106 of parents") && checked.contains(", 1 redacted"), "{checked}");
    assert_eq!(run(&["calibration", "--json"]).json()["resolved"], 1);

    run(&["resolve", &fork, "yes"]);
    run(&["redact", &topic, "--event", "1"]);
    run(&["fork", parent, "--pooling", "log_odds", "--json"]);
    run(&["archive", &topic, &fork, "--to", "archive"]);
    run(&["restore", &topic, "--from", "archive"]);
    let checked = run(&["verify", "--all", "--archive", "archive"]).stdout;
    assert!(
        checked.contains(&format!("{} debates checked, 0 with a fault\n", listed.len() + 1)),
        "{checked}"
    );

    // Elsewhere they are the same, and a repeated request still opens nothing new (rule K11).
    run(&["export", "--all", "--archive", "archive", "--output", "all.bundle"]);
    let elsewhere = ["--store", "sqlite://elsewhere.sqlite"];
    for _ in 0..2 {
        assert_eq!(program.run(elsewhere.into_iter().chain(["import", "all.bundle"])).code, Some(0));
    }
    let request = "SELECT request_id || ' of ' || lower(hex(stream_id)) FROM requests";
    let requests: Vec<String> = ask(&program.path("elsewhere.sqlite"), "", request);
    assert_eq!(requests, [format!("first-of-release of {}", parent.replace('-', ""))]);
    assert_eq!(program.run(elsewhere.into_iter().chain(["verify", "--all"])).code, Some(0));
}

/// Runs statements on a file and returns what a query then finds.
fn ask<T>(path: &Path, sql: &str, query: &'static str) -> Vec<T>
where
    T: for<'r> sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite> + Send + Unpin,
{
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
        let found = sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        found
    })
}

#[test]
fn files_of_every_schema_are_brought_up_to_date_and_gone_on_with() {
    for schema in 1..=NEWEST[0] {
        let program = Program::new();
        let sql = dump(&format!("sqlite-{schema}"));
        let versions = "SELECT version FROM _sqlx_migrations ORDER BY version";
        let versions: Vec<i64> = ask(&program.path("debates.sqlite"), &sql, versions);
        assert_eq!(versions, (1..=i64::from(schema)).collect::<Vec<_>>(), "the dump is of its schema");
        goes_on(&program, &[], schema == NEWEST[0]);
    }
}

#[cfg(unix)]
#[test]
fn databases_of_every_schema_are_brought_up_to_date_and_gone_on_with() {
    let server = debate_postgres_fixture::Server::start(&[]).unwrap();
    server.sql("postgres", "CREATE ROLE debate_writer NOLOGIN; CREATE ROLE debate_archiver NOLOGIN").unwrap();
    for schema in 1..=NEWEST[1] {
        let program = Program::new();
        let database = format!("schema_{schema}");
        server.create_database(&database).unwrap();
        let file = server.folder().join(format!("{database}.sql"));
        std::fs::write(&file, dump(&format!("postgres-{schema}"))).unwrap();
        server.sql(&database, &format!("\\i {}", file.display())).unwrap();
        let versions =
            server.sql(&database, "SELECT version FROM _sqlx_migrations ORDER BY version").unwrap();
        let wanted: Vec<String> = (1..=schema).map(|version| version.to_string()).collect();
        assert_eq!(versions.lines().collect::<Vec<_>>(), wanted, "the dump is of its schema");

        // It was filled by a server with more transactions than this one has had.
        let url = server.url(&database);
        let refused = program.run(["list", "--store", &url]);
        assert!(
            refused.code == Some(5) && refused.stderr.contains("SELECT rebase_positions()"),
            "{refused:?}"
        );
        server.sql(&database, "SELECT rebase_positions()").unwrap();
        goes_on(&program, &["--store", &url], schema == NEWEST[1]);
    }
}
