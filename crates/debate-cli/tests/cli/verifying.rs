//! `debate verify` on sound and on altered stores (rule K15).

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::program::Program;
use crate::proving::{audited, checkpoint};

/// Changes the store's file behind its back.
pub(crate) fn alter(program: &Program, statements: &[&str]) {
    let options =
        SqliteConnectOptions::new().filename(program.path("debates.sqlite")).disable_statement_logging();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = options.connect().await.unwrap();
        for trigger in ["events_insert", "events_update", "events_delete"] {
            sqlx::query(AssertSqlSafe(format!("DROP TRIGGER IF EXISTS {trigger}")))
                .execute(&mut connection)
                .await
                .unwrap();
        }
        for statement in statements {
            sqlx::query(AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
    });
}

#[test]
fn k15_verify_passes_and_fails_naming_the_event_after_one_byte_is_changed() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let sound = program.run(["verify", &id]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    assert!(sound.stdout.starts_with(&format!("ok     {id}  ")), "{}", sound.stdout);
    assert!(sound.stdout.contains("1 outcome recomputed"), "{}", sound.stdout);

    // One digit of one probability.
    alter(
        &program,
        &["UPDATE events SET body = replace(body, '\"confidence\":0.', '\"confidence\":1.')
           WHERE seq = (SELECT min(seq) FROM events WHERE kind = 'argument_made')"],
    );
    let seq = program
        .run(["log", &id, "--json"])
        .lines()
        .iter()
        .find(|event| event["kind"] == "argument_made")
        .and_then(|event| event["seq"].as_u64())
        .unwrap();
    for args in [["verify", id.as_str()], ["verify", "--all"]] {
        let found = program.run(args);
        assert_eq!(found.code, Some(4), "{found:?}");
        assert!(found.stdout.contains(&format!("FAULT  {id}  at event {seq}: ")), "{}", found.stdout);
    }
    let found = program.run(["verify", &id, "--json"]).json();
    assert_eq!((&found["ok"], &found["fault_seq"]), (&false.into(), &seq.into()));
}

#[test]
fn k15_every_way_of_altering_a_log_is_found_at_its_first_bad_event() {
    for (what, statement, seq) in [
        ("removed", "DELETE FROM events WHERE seq = 20", 20),
        ("the first removed", "DELETE FROM events WHERE seq = 1", 1),
        ("words changed", "UPDATE events SET prose = replace(prose, 'e', 'a') WHERE seq = 1", 1),
        ("time changed", "UPDATE events SET at = at + 1 WHERE seq = 9", 9),
        ("actor changed", "UPDATE events SET actor = 'x' WHERE seq = 3", 3),
        ("hash changed", "UPDATE events SET hash = zeroblob(32) WHERE seq = 5", 5),
        ("kind changed", "UPDATE events SET kind = 'phase_opened' WHERE seq = 12", 12),
        ("no JSON", "UPDATE events SET body = 'x' WHERE seq = 1", 1),
        ("no text", "UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE seq = 8", 8),
        (
            "time changed, and no text",
            "UPDATE events SET at = at + (seq = 3), kind = iif(seq = 8, CAST(x'ff' AS TEXT), kind)",
            3,
        ),
        (
            "words gone, and time changed",
            "UPDATE events SET at = at + (seq = 20), prose = iif(seq = 1, NULL, prose), salt = iif(seq = 1, NULL, salt)",
            1,
        ),
    ] {
        let program = Program::new();
        let id = program.debate("deliberation.json");
        alter(&program, &[statement]);
        for args in [["verify", id.as_str()], ["verify", "--all"]] {
            let found = program.run(args);
            assert_eq!(found.code, Some(4), "{what}: {found:?}");
            assert!(
                found.stdout.contains(&format!("FAULT  {id}  at event {seq}: ")),
                "{what}: {}",
                found.stdout
            );
        }
    }
}

#[test]
fn k15_of_words_that_were_deleted_with_a_record_an_event_that_was_changed_before_it_is_named() {
    for change in ["at = at + 1", "kind = CAST(x'ff' AS TEXT)"] {
        let program = Program::new();
        let id = program.debate("deliberation.json");
        assert_eq!(program.run(["redact", &id, "--event", "1"]).code, Some(0));
        alter(&program, &[&format!("UPDATE events SET {change} WHERE seq = 9")]);
        let found = program.run(["verify", &id]);
        assert!(found.stdout.contains(&format!("FAULT  {id}  at event 9: ")), "{change}: {found:?}");
    }
}

#[test]
fn k14_what_cannot_be_read_of_a_parent_is_a_fault_of_its_fork() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    let fork = program.run(["fork", &id, "--json", "--at", "9"]).json();
    let fork = fork["debate_id"].as_str().unwrap();
    let expected = format!("FAULT  {fork}  at event 1: what it was forked from does not hold: ");
    // Of the parent's events the last is not shared with it.
    for (seq, is_shared) in [("max(seq)", false), ("8", true), ("1", true)] {
        let hex = id.replace('-', "");
        let statement = format!(
            "UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE stream_id = x'{hex}'
             AND seq = (SELECT {seq} FROM events WHERE stream_id = x'{hex}')"
        );
        alter(&program, &[&statement]);
        let found = program.run(["verify", fork]);
        assert_eq!(found.stdout.starts_with(&expected), is_shared, "{seq}: {found:?}");
        assert_eq!(found.code, Some(if is_shared { 4 } else { 0 }), "{seq}: {found:?}");
    }
}

#[test]
fn k15_words_taken_from_a_parent_are_missed_in_its_fork_whatever_is_put_behind_what_they_share() {
    for behind in [
        // A record of it that does not follow from what is before it.
        "INSERT INTO events (stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body)
         SELECT stream_kind, stream_id, seq + 1, 'redacted', 1, at, tenant, actor, hash, '{\"seq\":1}'
         FROM parent ORDER BY seq DESC LIMIT 1",
        "UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE position = (SELECT max(position) FROM parent)",
    ] {
        let program = Program::new();
        let id = program.debate("deliberation.json");
        let fork = program.run(["fork", &id, "--json", "--at", "9"]).json();
        let fork = fork["debate_id"].as_str().unwrap();
        let hex = id.replace('-', "");
        let parent = format!("CREATE TEMP VIEW parent AS SELECT * FROM events WHERE stream_id = x'{hex}'");
        let take = "UPDATE events SET prose = NULL, salt = NULL
                    WHERE position = (SELECT position FROM parent WHERE seq = 1)";
        alter(&program, &[&parent, take, behind]);
        let expected = format!(
            "FAULT  {fork}  at event 1: what it was forked from does not hold: event 1 of {id}: \
             its words were deleted and no redaction is on record\n"
        );
        let found = program.run(["verify", fork]);
        assert!(found.code == Some(4) && found.stdout.starts_with(&expected), "{behind}: {found:?}");
    }
}

#[test]
fn k15_a_changed_order_of_the_store_is_found() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    alter(&program, &["UPDATE events SET position = position + 1048576 WHERE seq = 9"]);
    let found = program.run(["verify", "--all"]);
    assert_eq!(found.code, Some(4), "{found:?}");
    let fault = format!("event 9 of debate/{id}, at position 1048585, stands after event ");
    assert!(found.stdout.contains(&fault), "{}", found.stdout);
}

#[test]
fn verify_all_checks_every_debate_and_names_the_bad_one_alone() {
    let program = Program::new();
    let ids =
        ["deliberation.json", "deliberation.json", "deliberation.json"].map(|name| program.debate(name));
    let sound = program.run(["verify", "--all"]);
    assert_eq!(sound.code, Some(0));
    assert!(sound.stdout.ends_with("3 debates checked, 0 with a fault\n"), "{}", sound.stdout);
    let hex = ids[1].replace('-', "");
    alter(&program, &[&format!("UPDATE events SET tenant = 'x' WHERE seq = 4 AND stream_id = x'{hex}'")]);
    let found = program.run(["verify", "--all", "--json"]);
    assert_eq!(found.code, Some(4));
    let bad: Vec<_> = found.lines().into_iter().filter(|entry| entry["ok"] == false).collect();
    assert_eq!(bad.len(), 1);
    assert_eq!(
        (bad[0]["debate_id"].as_str(), bad[0]["fault_seq"].as_u64()),
        (Some(ids[1].as_str()), Some(4))
    );
}

#[test]
fn k15_a_checkpoint_signs_nothing_that_does_not_chain_behind_the_one_before() {
    let program = audited();
    let id = program.debate("deliberation.json");
    assert_eq!(checkpoint(&program).code, Some(0));
    let signed = || std::fs::read_dir(program.path("proof")).unwrap().count();
    let before = signed();
    // One that was never signed, and what came to one that was.
    let other = program.debate("deliberation.json");
    alter(&program, &["UPDATE events SET actor = 'x' WHERE position = (SELECT max(position) FROM events)"]);
    let refused = checkpoint(&program);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stdout.contains(&format!("FAULT  debate/{other}  ")), "{refused:?}");

    assert_eq!(program.run(["redact", &id, "--event", "1"]).code, Some(0));
    alter(&program, &["UPDATE events SET actor = 'x' WHERE position = (SELECT max(position) FROM events)"]);
    let refused = checkpoint(&program);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    for id in [id, other] {
        assert!(refused.stdout.contains(&format!("FAULT  debate/{id}  ")), "{refused:?}");
    }
    assert!(refused.stdout.ends_with("nothing was signed: the store contradicts the last checkpoint\n"));
    assert_eq!(signed(), before);
}
