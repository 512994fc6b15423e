//! Rules on what is written inside a file.

use super::Violation;
use super::sources::Source;

/// What must not be left behind in Rust code. Written in two halves, lest this file break its own rule.
const LEFT_BEHIND: [&str; 4] =
    [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!("), concat!("#[", "ignore")];

/// Folders of one machine, which no other machine has.
const MACHINES: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Crates that do no IO and wait for nothing.
const PURE: [&str; 3] = ["crates/debate-core/src/", "crates/debate-prompts/src/", "crates/debate-proof/src/"];

/// Words of IO and waiting.
const IMPURE: [&str; 9] = [
    "async fn",
    "async move",
    "async {",
    ".await",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
];

/// Words that only SQL puts in this order.
const SQL: [&[&str]; 8] = [
    &["SELECT ", " FROM "],
    &["INSERT ", "INTO "],
    &["UPDATE ", " SET "],
    &["DELETE ", "FROM "],
    &["CREATE ", "TABLE "],
    &["CREATE ", "TRIGGER "],
    &["ALTER ", "TABLE "],
    &["PRAGMA "],
];

/// The crate SQL does not leave, the benches that compare it with the same insert in raw SQL, and the words above.
const SQL_HOMES: [&str; 3] = ["crates/debate-store/", "benches/", "xtask/src/tidy/"];

/// What lets SQL through that is no constant, and the one file that needs it: it repeats a constant for each row.
const SQL_PUT_TOGETHER: [&str; 3] =
    [concat!("Assert", "SqlSafe"), concat!("Query", "Builder"), concat!("le", "ak(")];
const SQL_REPEATED: &str = "crates/debate-store/src/sqlite/commit.rs";

/// Words that pages and Rust sources avoid (CONTRIBUTING.md, glossary), one in each line.
const AVOIDED: &str = include_str!("../../avoided_words.txt");

/// Pages that programs write, or that keep measurements as they were noted.
const PAGES_AS_NOTED: [&str; 3] = ["docs/benchmarks.md", "docs/real-models.md", "CHANGELOG.md"];

/// Rust sources that may use these words, each by the start of its path.
const SOURCES_AS_SAID: [&str; 3] = [
    // This check and its tests.
    "xtask/src/tidy/",
    // Templates of prompts: models read them.
    "crates/debate-prompts/templates/",
    // Replies of the simulated model.
    "crates/debate-llm/src/simulated/debater",
];

/// Texts in Rust sources that keep such a word, each with the start of the path of its sources.
const TEXTS_AS_SAID: [(&str, &str); 10] = [
    // The task of a new poll and of the first response, which models read.
    ("crates/debate-prompts/src/roundtable.rs", "nobody's answer and nobody sees yours before all"),
    ("crates/debate-prompts/src/roundtable.rs", "Nobody has spoken yet: take your own position."),
    // Rules of a roundtable, which models read.
    ("crates/debate-prompts/src/roundtable/", "that nobody has said yet"),
    // The stand-in for texts of a prompt that are not written yet, by which the size of a prompt is estimated.
    ("crates/debate-prompts/src/prediction/fits.rs", "nobody has written yet"),
    // The first line of simulated search results, which models read.
    ("crates/debate-cli/", "(simulated) Nobody searched"),
    // A field of an event and the reason for a void result, which stored logs contain.
    ("crates/debate-core/src/formats/investigation/", "violations_told"),
    ("crates/debate-core/src/formats/investigation/", "nobody reported on any of"),
    // A JSON field of a prompt, which clients read.
    ("crates/debate-viewer/", "\"told\""),
    // A user of Unix systems.
    ("crates/debate-postgres-fixture/src/", "\"nobody\""),
    ("crates/debate-postgres-fixture/src/", "`nobody`"),
];

/// Returns the words of a line of a page or a Rust source that readers stumble over. In pages, code and tables of
/// words are left out.
fn avoided(source: &Source, line: &str) -> Vec<&'static str> {
    let path = source.path.as_str();
    if source.is_rust() {
        if SOURCES_AS_SAID.iter().any(|start| path.starts_with(start)) {
            return Vec::new();
        }
        let of_path = TEXTS_AS_SAID.iter().filter(|(start, _)| path.starts_with(start));
        let text = of_path.fold(line.to_owned(), |line, (_, text)| line.replace(text, " "));
        return avoided_in(&[text.as_str()]);
    }
    let is_page = path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'));
    if !is_page || PAGES_AS_NOTED.contains(&path) || (path == "CONTRIBUTING.md" && line.starts_with('|')) {
        return Vec::new();
    }
    avoided_in(&line.split('`').step_by(2).collect::<Vec<_>>())
}

/// Returns the avoided words in texts. A word ends at every character that is not alphanumeric.
fn avoided_in(texts: &[&str]) -> Vec<&'static str> {
    let has = |word: &&str| {
        let mut words = texts.iter().flat_map(|text| text.split(|char: char| !char.is_alphanumeric()));
        words.any(|found| found.eq_ignore_ascii_case(word))
    };
    AVOIDED.lines().filter(has).collect()
}

/// Returns what is wrong with the text of a file.
pub(crate) fn violations(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    let is_pure = source.is_rust() && PURE.iter().any(|home| source.path.starts_with(home));
    let may_hold_sql = !source.is_rust()
        || source.is_under("tests")
        || SQL_HOMES.iter().any(|home| source.path.starts_with(home));
    let may_repeat_sql = source.is_under("tests") || source.path == SQL_REPEATED;
    let mut in_tests = source.stem() == "tests" || source.stem().ends_with("_tests");
    for (index, line) in source.text.lines().enumerate() {
        let mut found = |text: String| {
            violations.push(Violation { path: source.path.clone(), line: Some(index + 1), text });
        };
        if let Some(folder) = machine_path(line) {
            found(format!("`{folder}` is a folder of one machine"));
        }
        for word in avoided(source, line) {
            let is = if source.is_rust() { "is a word to avoid" } else { "is a word that pages avoid" };
            found(format!("`{word}` {is}: say it as the field does"));
        }
        let code = line.trim_start();
        if !source.is_rust() || code.starts_with("//") {
            continue;
        }
        in_tests |= code.starts_with("#[cfg(test)]");
        for word in LEFT_BEHIND.into_iter().filter(|word| code.contains(word)) {
            found(format!("`{word}` was left behind"));
        }
        if is_pure && !in_tests {
            for word in IMPURE.into_iter().filter(|word| code.contains(word)) {
                found(format!("`{word}` in a crate that does no IO and waits for nothing"));
            }
        }
        if !may_hold_sql && !in_tests && SQL.into_iter().any(|words| stand_in_order(code, words)) {
            found("SQL does not leave debate-store".to_owned());
        }
        if !may_repeat_sql && !in_tests && SQL_PUT_TOGETHER.into_iter().any(|word| code.contains(word)) {
            found("SQL is constant; what comes from elsewhere is bound to it".to_owned());
        }
    }
    violations
}

/// Returns the folder of a machine that an absolute path in this line starts with, addresses on the web aside.
fn machine_path(line: &str) -> Option<&'static str> {
    MACHINES.into_iter().find(|folder| {
        line.match_indices(folder).any(|(at, _)| {
            let token = line[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
            let is_web = token.contains("http://") || token.contains("https://");
            let goes_on = token.ends_with(|last: char| last.is_alphanumeric() || "-_.}>".contains(last));
            !is_web && !goes_on
        })
    })
}

fn stand_in_order(line: &str, words: &[&str]) -> bool {
    let mut rest = line;
    words.iter().all(|word| match rest.find(word) {
        Some(at) => {
            rest = &rest[at + word.trim_end().len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        violations(&source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_is_left_behind_in_code() {
        for word in LEFT_BEHIND {
            let found = check("crates/debate-llm/src/chat.rs", &format!("fn chat() {{\n    {word}\n}}\n"));
            assert_eq!(found, [format!("crates/debate-llm/src/chat.rs:2: `{word}` was left behind")]);
            assert!(check("CONTRIBUTING.md", word).is_empty());
        }
    }

    #[test]
    fn pages_avoid_the_words_of_the_list() {
        assert_eq!(check("docs/audit.md", "Whoever has `told` it").len(), 1);
        assert_eq!(check("SECURITY.md", "It is told, beside others").len(), 2);
        for path in ["docs/benchmarks.md", "crates/debate-client/README.md", "docs/verify_bundle.py"] {
            assert!(check(path, "told").is_empty(), "{path}");
        }
    }

    #[test]
    fn sources_avoid_the_words_of_the_list() {
        let path = "crates/debate-core/src/plan.rs";
        let found = check(path, "fn a() {}\n\n/// It is told.\n");
        assert_eq!(found, [format!("{path}:3: `told` is a word to avoid: say it as the field does")]);
        let lines = ["// Whoever", "//! `keyring`", "a(\"no tenure\");", "let told_once = 1;", "mod beside;"];
        for line in lines {
            for path in [path, "crates/debate-cli/tests/cli/main.rs", "benches/benches/log.rs"] {
                assert_eq!(check(path, line).len(), 1, "{path} {line}");
            }
        }
        assert_eq!(check(path, "/// Nobody is `told`.").len(), 2);
        assert!(check(path, "/// Untold besides; ToldOnce, retold").is_empty());
        for start in SOURCES_AS_SAID {
            assert!(check(&format!("{start}/a.rs"), "// told").is_empty(), "{start}");
        }
        for (start, text) in TEXTS_AS_SAID {
            let path = if start.ends_with(".rs") { start.to_owned() } else { format!("{start}a.rs") };
            assert!(check(&path, &format!("a({text});")).is_empty(), "{path} {text}");
            assert_eq!(check(&path, &format!("a({text}); // told")).len(), 1, "{path} {text}");
            assert!(!check("benches/benches/log.rs", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn no_file_names_a_folder_of_one_machine() {
        for folder in MACHINES {
            for path in ["README.md", "crates/debate-cli/src/main.rs", ".ci/run"] {
                assert_eq!(check(path, &format!("see {folder}main")).len(), 1, "{path} {folder}");
            }
            assert!(check("README.md", &format!("https://example.org{folder}a")).is_empty());
            assert!(check("README.md", &format!("crates{folder}a")).is_empty());
        }
    }

    #[test]
    fn the_core_and_the_prompts_do_no_io_and_wait_for_nothing() {
        for word in IMPURE {
            for path in ["crates/debate-core/src/plan.rs", "crates/debate-prompts/src/score.rs"] {
                assert_eq!(check(path, &format!("let a = {word};")).len(), 1, "{path} {word}");
            }
            assert!(check("crates/debate-engine/src/run.rs", word).is_empty());
            assert!(check("crates/debate-core/src/plan.rs", &format!("// no {word}")).is_empty());
            assert!(
                check("crates/debate-core/src/plan.rs", &format!("#[cfg(test)]\nmod a {{ {word} }}"))
                    .is_empty()
            );
        }
    }

    #[test]
    fn sql_does_not_leave_the_store() {
        let statements = [
            "SELECT seq FROM events",
            "INSERT OR IGNORE INTO events VALUES (1)",
            "UPDATE events SET body = ''",
            "DELETE FROM events",
            "CREATE TABLE IF NOT EXISTS events (seq)",
            "PRAGMA journal_mode = wal",
        ];
        for statement in statements {
            let line = format!("let sql = \"{statement}\";");
            assert_eq!(check("crates/debate-cli/src/list.rs", &line).len(), 1, "{statement}");
            assert!(check("crates/debate-store/src/sqlite.rs", &line).is_empty(), "{statement}");
            assert!(check("benches/benches/log.rs", &line).is_empty(), "{statement}");
            assert!(check("crates/debate-cli/tests/verify.rs", &line).is_empty(), "{statement}");
        }
        assert!(
            check("crates/debate-cli/src/list.rs", "let text = \"select one from the list\";").is_empty()
        );
    }

    #[test]
    fn no_statement_is_put_together_from_what_comes_from_elsewhere() {
        for word in [concat!("AssertSql", "Safe"), concat!("QueryBuil", "der"), concat!("String::le", "ak")] {
            let line = format!("let sql = {word}(text);");
            assert_eq!(check("crates/debate-store/src/postgres/read.rs", &line).len(), 1, "{word}");
            assert_eq!(check("crates/debate-store/src/sqlite/read.rs", &line).len(), 1, "{word}");
            assert!(check(SQL_REPEATED, &line).is_empty(), "{word}");
            assert!(check("crates/debate-store/tests/store/main.rs", &line).is_empty(), "{word}");
        }
    }
}
