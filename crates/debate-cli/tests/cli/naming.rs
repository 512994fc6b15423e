//! How commands name debates, and what a list shows of them.

use crate::program::{Program, Ran};

#[test]
fn a_prefix_or_the_newest_names_a_debate() {
    let program = Program::new();
    let older = program.debate("deliberation.json");
    let newer = program.debate("ice.json");
    let shown = |name: &str| program.run(["show", name, "--json"]);
    assert_eq!(shown(&older[..8]).json()["debate_id"], older.as_str());
    assert_eq!(shown(&newer[..13].to_uppercase()).json()["debate_id"], newer.as_str());
    assert_eq!(shown("@").json()["debate_id"], newer.as_str());
    assert_eq!(
        shown(&format!("http://localhost:50051/viewer/debates/{older}?at=3")).json()["debate_id"],
        older.as_str()
    );
    let differing = program.run(["diff", &older[..8], "@", "--json"]).json();
    assert_eq!((&differing["a"], &differing["b"]), (&older.as_str().into(), &newer.as_str().into()));
    let missing = shown(if older.starts_with("0000") || newer.starts_with("0000") { "ffff" } else { "0000" });
    assert_eq!(missing.code, Some(3), "{missing:?}");
    assert!(missing.stderr.contains("see `debate list`"), "{missing:?}");
    let wrong = shown("the-last");
    assert!(wrong.code == Some(2) && wrong.stderr.contains("@ for the newest"), "{wrong:?}");
}

#[test]
fn list_fits_80_columns_with_answer_age_and_title() {
    let program = Program::new();
    let id = program.debate("ice.json");
    program.debate("roundtable-delphi.json");
    let listed = Ran::of(program.command(["list"]).env("COLUMNS", "80").output().unwrap()).stdout;
    let line = listed.lines().find(|line| line.starts_with(&id[..8])).unwrap();
    assert!(line.chars().count() <= 80, "{listed}");
    let title = line.find("Will").map(|at| line[at..].chars().count());
    assert!(title.is_some_and(|chars| chars >= 40), "{listed}");
    assert!(line.contains(" s  concluded  ") && line.contains(" %"), "{listed}");
    assert!(!listed.contains("cost"), "without prices there is no column for costs: {listed}");
}
