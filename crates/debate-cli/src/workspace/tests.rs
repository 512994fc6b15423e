use std::collections::BTreeSet;
use std::fs;

use debate_core::formats::investigation::evidence::TOOLS;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const SOURCE: &str =
    "fn main() {\n    let listener = bus.on(\"x\");\n    // never removed\n    run(listener)\n}\n";

pub(super) fn folder() -> (TempDir, Arc<Workspace>) {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("inside/src")).unwrap();
    fs::write(folder.path().join("inside/src/main.rs"), SOURCE).unwrap();
    for git in ["inside/.git", "inside/src/.git"] {
        fs::create_dir_all(folder.path().join(git)).unwrap();
        fs::write(folder.path().join(git).join("config"), "listener secret").unwrap();
    }
    fs::write(folder.path().join("secret.txt"), "listener secret").unwrap();
    let workspace = Workspace::open(&folder.path().join("inside")).unwrap();
    (folder, Arc::new(workspace))
}

pub(super) async fn run(workspace: &Arc<Workspace>, tool: &str, arguments: &Value) -> Result<String, String> {
    workspace.run(tool, &arguments.to_string()).await.map_err(|error| format!("{error:#}"))
}

#[test]
fn i10_every_tool_that_is_served_has_a_name_that_investigators_may_ask_for() {
    let (_folder, workspace) = folder();
    let served = Arc::into_inner(workspace).unwrap().tools();
    let served: BTreeSet<_> = served.iter().map(|tool| tool.name()).collect();
    assert_eq!(served, BTreeSet::from(TOOLS));
}

#[tokio::test]
async fn i10_files_inside_are_read_and_searched() {
    let (_folder, workspace) = folder();
    let read = run(&workspace, "read_file", &json!({"path": "./src/main.rs", "from": 2, "to": 3})).await;
    assert_eq!(read.unwrap(), "2:     let listener = bus.on(\"x\");\n3:     // never removed\n");
    let found = run(&workspace, "search", &json!({"text": "Listener"})).await.unwrap();
    assert_eq!(found, "src/main.rs:2: let listener = bus.on(\"x\");\nsrc/main.rs:4: run(listener)\n");
    let nothing = run(&workspace, "search", &json!({"text": "zebra", "path": "src"})).await;
    assert_eq!(nothing.unwrap(), "nothing found");
}

#[tokio::test]
async fn i10_nothing_outside_of_the_workspace_is_read() {
    let (folder, workspace) = folder();
    let outside = folder.path().join("secret.txt");
    let mut paths = vec![
        "../secret.txt".to_owned(),
        "src/../../secret.txt".to_owned(),
        "src/../src/main.rs".to_owned(),
        outside.display().to_string(),
        "/etc/passwd".to_owned(),
        ".git/config".to_owned(),
        ".GIT/config".to_owned(),
        "src/.git/config".to_owned(),
        "src/main.rs\0".to_owned(),
        "a".repeat(5_000),
        "‥/secret.txt".to_owned(),
        "．．/secret.txt".to_owned(),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, workspace.root().join("link.txt")).unwrap();
        std::os::unix::fs::symlink(folder.path(), workspace.root().join("way")).unwrap();
        std::os::unix::fs::symlink("src", workspace.root().join("own")).unwrap();
        paths.extend(["link.txt", "way/secret.txt", "own/main.rs"].map(str::to_owned));
    }
    for path in paths {
        let lines = json!({"path": path, "from": 1});
        let quote = json!({"path": path, "line": 1, "quote": "listener secret"});
        let search = json!({"path": path, "text": "secret"});
        for (tool, arguments) in
            [("read_file", &lines), ("git_blame", &lines), ("git_log", &lines), ("search", &search)]
        {
            let refused = run(&workspace, tool, arguments).await.unwrap_err();
            // Whatever else is wrong there, it is the path that is refused.
            let is_path = refused == "refused: that is no path" || refused.contains(&path);
            let is_git = path.to_ascii_lowercase().ends_with(".git/config");
            assert!(is_path && is_git == refused.ends_with("git's own"), "{tool} {path:?}: {refused}");
        }
        match run(&workspace, CHECK_TOOL, &quote).await {
            Ok(found) => assert!(found.starts_with("refuted: there is no file"), "{path:?}: {found}"),
            Err(refused) => assert!(refused.starts_with("refused"), "{path:?}: {refused}"),
        }
    }
    let found = run(&workspace, "search", &json!({"text": "secret"})).await.unwrap();
    assert_eq!(found, "nothing found");
    // Nor is any of it among the files of a repository, whatever its commits say.
    let tracked =
        [".git/config", ".GIT/config", "src/.git/config", "link.txt", "way/secret.txt", "../secret.txt"];
    let tracked = tracked.map(PathBuf::from).to_vec();
    assert_eq!(workspace.search("secret", None, Some(tracked), &|| Ok(())).unwrap(), "nothing found");
    assert!(run(&workspace, "write_file", &json!({"path": "src/main.rs"})).await.is_err());
    assert!(run(&workspace, "read_file", &json!({"from": 1})).await.is_err());
}

#[cfg(unix)]
#[test]
fn i10_a_link_that_takes_a_names_place_after_the_look_is_not_followed() {
    use std::os::unix::fs::symlink;
    let (folder, workspace) = folder();
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("main.rs"), "secret").unwrap();
    let looked_at = workspace.inside("src/main.rs").unwrap();
    assert_eq!(workspace.text_of(&looked_at).unwrap(), SOURCE);
    let src = workspace.root().join("src");
    fs::rename(&src, workspace.root().join("moved")).unwrap();
    symlink(&elsewhere, &src).unwrap();
    assert_eq!(fs::read_to_string(&looked_at).unwrap(), "secret", "by its name another file is read");
    assert!(workspace.text_of(&looked_at).is_err(), "a folder became a link");
    fs::remove_file(&src).unwrap();
    fs::create_dir(&src).unwrap();
    symlink(elsewhere.join("main.rs"), &looked_at).unwrap();
    assert!(workspace.text_of(&looked_at).is_err(), "the file became a link");
    assert!(workspace.text_of(&elsewhere.join("main.rs")).is_err(), "a file of elsewhere");
    assert!(workspace.text_of(&workspace.root().join("moved/../../secret.txt")).is_err(), "a way out");
    fs::rename(workspace.root(), folder.path().join("gone")).unwrap();
    fs::create_dir(elsewhere.join("src")).unwrap();
    fs::write(elsewhere.join("src/main.rs"), "secret").unwrap();
    symlink(&elsewhere, workspace.root()).unwrap();
    assert_eq!(fs::read_to_string(&looked_at).unwrap(), "secret", "by its name another file is read");
    assert!(workspace.text_of(&looked_at).is_err(), "the workspace became a link");
}

#[tokio::test]
async fn i10_a_quotation_is_compared_with_what_stands_there() {
    let (_folder, workspace) = folder();
    let table = [
        ("src/main.rs", 2, "let  listener =\tbus.on(\"x\");", "verified: it stands in src/main.rs at line 2"),
        ("src/main.rs", 4, "let listener", "verified: it stands in src/main.rs at line 2"),
        ("src/main.rs", 3, "never removed run(listener)", "verified: it stands in src/main.rs at line 3"),
        ("src/main.rs", 40, "never removed", "refuted: it stands in src/main.rs at line 3, not at 40"),
        ("src/main.rs", 2, "bus.off", "refuted: these words do not stand in src/main.rs"),
        ("src/gone.rs", 2, "bus.on", "refuted: there is no file src/gone.rs"),
        ("src", 2, "bus.on", "refuted: src is no file of text"),
    ];
    for (path, line, quote, expected) in table {
        let asked = json!({"path": path, "line": line, "quote": quote});
        assert_eq!(run(&workspace, CHECK_TOOL, &asked).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn i10_log_blame_and_commits_are_those_of_this_repository_itself() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    if !Path::new(root).join(".git").is_dir() {
        eprintln!("skipped: the sources lie in no repository of their own");
        return;
    }
    let workspace = Arc::new(Workspace::open(Path::new(root)).unwrap());
    let log = run(&workspace, "git_log", &json!({"path": "./Cargo.toml", "count": 2})).await.unwrap();
    assert!((1..=2).contains(&log.lines().count()), "{log}");
    let lines = json!({"path": "Cargo.toml", "from": 1, "to": 2});
    let blame = run(&workspace, "git_blame", &lines).await.unwrap();
    assert!(blame.contains("[workspace]") && blame.lines().count() == 2, "{blame}");
    let found =
        run(&workspace, "search", &json!({"text": "Hold one debate and show its result"})).await.unwrap();
    let is_source = |line: &str| line.starts_with("crates/debate-cli/src/") || line.starts_with("… more");
    assert!(
        found.contains("/commands/run.rs:") && found.lines().all(is_source),
        "nothing that is built: {found}"
    );
    let head = log.split_whitespace().next().unwrap().to_owned();
    let subject = log.lines().next().unwrap().split_once(": ").unwrap().1.to_owned();
    let quoted = format!("it stands in commit {head}");
    // Words that stand nowhere, not even here.
    let nowhere = head.repeat(8);
    let table = [
        (&*head, "", format!("verified: there is a commit {head}")),
        (&head, &*subject, format!("verified: {quoted}")),
        (&head, "Cargo.toml", format!("verified: {quoted}")),
        (&head, &nowhere, format!("refuted: these words do not stand in commit {head}")),
        ("0000000000", "x", "refuted: there is no commit 0000000000".to_owned()),
    ];
    for (commit, quote, expected) in table {
        let asked = json!({"commit": commit, "quote": quote});
        assert_eq!(run(&workspace, CHECK_TOOL, &asked).await.unwrap(), expected);
    }
    for commit in ["--output=x", "HEAD", "", "a b"] {
        let asked = json!({"commit": commit, "quote": "x"});
        assert!(run(&workspace, CHECK_TOOL, &asked).await.is_err(), "{commit:?}");
    }
    let inner = Arc::new(Workspace::open(&Path::new(root).join("crates")).unwrap());
    assert!(run(&inner, "git_log", &json!({})).await.is_err(), "that repository lies above it");
    let above = run(&inner, CHECK_TOOL, &json!({"commit": head, "quote": ""})).await;
    assert!(above.is_err(), "{above:?}");
}
