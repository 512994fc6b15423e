#![cfg(unix)]

use std::cell::Cell;
use std::os::unix::fs::symlink;
use std::process;
use std::time::Duration;

use debate_core::formats::investigation::evidence::CHECK_TOOL;
use serde_json::json;

use super::super::tests::run;
use super::*;

/// Runs git as the creator of the folder could have.
pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = process::Command::new("git");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"]);
    let done = git.args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Makes a repository with two commits; returns it opened, and the name of the second commit.
pub(super) fn repository(folder: &Path) -> (Arc<Workspace>, String) {
    fs::create_dir(folder).unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    for text in ["listener = on(x)\n", "listener = on(x)\nlistener.remove()\n"] {
        fs::write(folder.join("a.txt"), text).unwrap();
        git(folder, &["add", "."]);
        git(folder, &["commit", "--quiet", "--message", "bus: remove what listens"]);
    }
    let head = git(folder, &["rev-parse", "HEAD"]);
    (Arc::new(Workspace::open(folder).unwrap()), head.trim().to_owned())
}

/// Looks in every way; returns what was found.
async fn look(workspace: &Arc<Workspace>, commit: &str) -> [anyhow::Result<String>; 4] {
    [
        log(workspace, None, None).await,
        blame(workspace, "a.txt", 1, None).await,
        check(workspace, commit, "listener.remove()").await,
        tracked(workspace).await.map(|files| format!("{files:?}")),
    ]
}

pub(super) async fn assert_sound(workspace: &Arc<Workspace>, commit: &str) {
    let found = look(workspace, commit).await.map(Result::unwrap);
    assert_eq!(found[0].lines().count(), 2, "{found:?}");
    assert!(found[1].contains("listener.remove()") && found[1].lines().count() == 2, "{found:?}");
    assert_eq!(found[2], format!("verified: it stands in commit {commit}"));
    assert_eq!(found[3], r#"["a.txt"]"#);
}

#[tokio::test]
async fn i10_log_blame_commits_and_files_are_those_of_the_head() {
    let place = TempDir::new().unwrap();
    let (workspace, commit) = repository(&place.path().join("loose"));
    assert_sound(&workspace, &commit).await;
    git(workspace.root(), &["gc", "--quiet"]);
    git(workspace.root(), &["pack-refs", "--all"]);
    assert_sound(&workspace, &commit).await;
    git(workspace.root(), &["checkout", "--quiet", "--detach"]);
    assert_sound(&workspace, &commit).await;
}

#[tokio::test]
async fn i10_nothing_that_a_repository_configures_is_run_or_written() {
    let place = TempDir::new().unwrap();
    let (workspace, commit) = repository(&place.path().join("evil"));
    let (root, mark) = (workspace.root(), place.path().join("mark"));
    let touch = format!("touch {}", mark.display());
    fs::write(root.join(".gitattributes"), "*.txt diff=evil filter=evil\n").unwrap();
    for (name, value) in [
        ("diff.evil.textconv", touch.as_str()),
        ("diff.evil.command", &touch),
        ("diff.external", &touch),
        ("filter.evil.clean", &touch),
        ("filter.evil.smudge", &touch),
        ("core.fsmonitor", &touch),
        ("core.pager", &touch),
        ("core.sshCommand", &touch),
        ("log.showSignature", "true"),
        ("gpg.program", &touch),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "ssh://example.org/x"),
    ] {
        git(root, &["config", name, value]);
    }
    let before = files(root);
    assert_sound(&workspace, &commit).await;
    // Attributes that hide what changed are not seen, wherever they stand.
    fs::write(root.join(".gitattributes"), "*.txt -diff\n").unwrap();
    assert_sound(&workspace, &commit).await;
    // An object that is missing is not fetched.
    let blob = git(root, &["rev-parse", "HEAD:a.txt"]);
    fs::remove_file(root.join(format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()))).unwrap();
    assert!(check(&workspace, &commit, "listener").await.is_err());
    assert!(!mark.exists(), "a command of the repository ran");
    assert_eq!(before.len(), files(root).len() + 1, "nothing but that object changed");

    let (workspace, commit) = repository(&place.path().join("hiding"));
    fs::write(workspace.root().join(".gitattributes"), "*.txt -diff\n").unwrap();
    git(workspace.root(), &["add", ".gitattributes"]);
    git(workspace.root(), &["commit", "--quiet", "--message", "hide what changed"]);
    let checked = check(&workspace, &commit, "listener.remove()").await.unwrap();
    assert!(checked.starts_with("verified"), "{checked}");
    // Not every version of git would have looked at them.
    let tree = Shadow::of(&workspace).await.unwrap().run(&["config", "attr.tree"], 100).await.unwrap();
    assert_eq!(tree.trim(), EMPTY_TREE);
}

/// Copies a folder with all that is in it.
fn copied(from: &Path, to: &Path) {
    for file in files(from) {
        let copy = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(file, copy).unwrap();
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn i10_no_other_folder_is_read_through_a_repository() {
    let place = TempDir::new().unwrap();
    let (other, secret) = repository(&place.path().join("other"));
    fs::write(other.root().join("a.txt"), "TOP SECRET\n").unwrap();
    // A working tree that lies elsewhere is not looked at.
    let (workspace, commit) = repository(&place.path().join("tree"));
    git(workspace.root(), &["config", "core.worktree", other.root().to_str().unwrap()]);
    assert_sound(&workspace, &commit).await;

    let others = other.root().join(".git");
    let refused = [
        (
            "file",
            Box::new(|git: &Path| fs::write(git, format!("gitdir: {}\n", others.display())).unwrap())
                as Trap<'_>,
        ),
        ("link", Box::new(|git: &Path| symlink(&others, git).unwrap())),
        (
            "objects",
            Box::new(|git: &Path| {
                fs::create_dir(git).unwrap();
                fs::write(git.join("HEAD"), &secret).unwrap();
                symlink(others.join("objects"), git.join("objects")).unwrap();
            }),
        ),
        (
            "inner",
            Box::new(|git: &Path| {
                fs::create_dir_all(git.join("objects")).unwrap();
                fs::write(git.join("HEAD"), &secret).unwrap();
                for entry in fs::read_dir(others.join("objects")).unwrap() {
                    let entry = entry.unwrap();
                    symlink(entry.path(), git.join("objects").join(entry.file_name())).unwrap();
                }
            }),
        ),
        (
            "alternates",
            Box::new(|git: &Path| {
                fs::create_dir_all(git.join("objects/info")).unwrap();
                fs::write(git.join("HEAD"), &secret).unwrap();
                let objects = format!("{}\n", others.join("objects").display());
                fs::write(git.join("objects/info/alternates"), objects).unwrap();
            }),
        ),
    ];
    for (name, trap) in refused {
        let folder = place.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a.txt"), "own\n").unwrap();
        trap(&folder.join(".git"));
        let found = look(&Arc::new(Workspace::open(&folder).unwrap()), secret.trim()).await;
        assert!(found.iter().all(Result::is_err), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn i10_no_repository_that_is_whole_names_what_lies_in_another_one() {
    let place = TempDir::new().unwrap();
    let (other, commit) = repository(&place.path().join("other"));
    let others = other.root().join(".git");
    for (name, file, text) in [
        ("whole", "HEAD", "ref: refs/heads/main\n"),
        ("common", "commondir", "../../other/.git\n"),
        ("alternates", "objects/info/alternates", "../../../other/.git/objects\n"),
        ("http", "objects/info/http-alternates", "https://example.org/x\n"),
        ("head", "HEAD", "ref: refs/../../../other/.git/refs/heads/main\n"),
        ("absolute", "HEAD", &format!("ref: {}/refs/heads/main\n", others.display())),
    ] {
        // All objects are here, so that nothing else is missing.
        let folder = place.path().join(name);
        copied(&others, &folder.join(".git"));
        fs::write(folder.join("a.txt"), "own\n").unwrap();
        fs::create_dir_all(folder.join(".git/objects/info")).unwrap();
        fs::write(folder.join(".git").join(file), text).unwrap();
        let found = look(&Arc::new(Workspace::open(&folder).unwrap()), &commit).await;
        assert!(found.iter().all(|found| found.is_ok() == (name == "whole")), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn i10_no_pack_outside_of_the_workspace_is_read_though_an_index_of_all_packs_names_it() {
    let place = TempDir::new().unwrap();
    let (workspace, commit) = repository(&place.path().join("packed"));
    let packs = workspace.root().join(".git/objects/pack");
    git(workspace.root(), &["repack", "-a", "-d", "--quiet"]);
    // A name as long as that of the pack will be, seen from this folder.
    let (inside, outside) = ("pack-00000000000000", "../../../../outside");
    for entry in fs::read_dir(&packs).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().unwrap();
        fs::rename(&path, packs.join(inside).with_extension(extension)).unwrap();
    }
    git(workspace.root(), &["multi-pack-index", "write"]);
    for extension in ["pack", "idx"] {
        let file = packs.join(inside).with_extension(extension);
        fs::rename(file, place.path().join("outside").with_extension(extension)).unwrap();
    }
    let index = packs.join("multi-pack-index");
    let mut bytes = fs::read(&index).unwrap();
    let at = bytes.windows(inside.len()).position(|window| window == inside.as_bytes()).unwrap();
    bytes[at..at + outside.len()].copy_from_slice(outside.as_bytes());
    fs::remove_file(&index).unwrap();
    fs::write(&index, bytes).unwrap();
    assert!(git(workspace.root(), &["show", &commit]).contains("listener"), "git itself reads the pack");
    let found = look(&workspace, &commit).await.map(Result::unwrap_or_default);
    assert_eq!(found, ["", "", &format!("refuted: there is no commit {commit}"), ""]);
}

#[tokio::test]
async fn i10_files_of_a_repository_that_are_links_to_elsewhere_are_not_read() {
    let place = TempDir::new().unwrap();
    for name in ["HEAD", "packed-refs", "refs", "shallow"] {
        let (workspace, commit) = repository(&place.path().join(format!("with-{name}")));
        if name != "refs" {
            git(workspace.root(), &["pack-refs", "--all"]);
        }
        let (inside, outside) = (workspace.root().join(".git").join(name), place.path().join(name));
        if name == "shallow" {
            fs::write(&inside, &commit).unwrap();
        }
        fs::rename(&inside, &outside).unwrap();
        symlink(&outside, &inside).unwrap();
        if name == "shallow" {
            // It would hide the first commit.
            assert_sound(&workspace, &commit).await;
        } else {
            let found = look(&workspace, &commit).await;
            assert!(found.iter().all(Result::is_err), "{name}: {found:?}");
        }
    }
}

#[tokio::test]
async fn i10_pipes_and_floods_in_the_place_of_files_of_a_repository_are_not_read() {
    let place = TempDir::new().unwrap();
    let kinds = ["pipe", "flood"].into_iter();
    for (kind, name) in kinds.flat_map(|kind| ["HEAD", "packed-refs", "shallow"].map(|name| (kind, name))) {
        let (workspace, commit) = repository(&place.path().join(format!("{kind}-{name}")));
        git(workspace.root(), &["pack-refs", "--all"]);
        let file = workspace.root().join(".git").join(name);
        let text = fs::read(&file).unwrap_or_default();
        if kind == "pipe" {
            fs::remove_file(&file).ok();
            assert!(process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        } else {
            fs::write(&file, [text, vec![b'\n'; OWN_BYTES_MAX as usize + 1]].concat()).unwrap();
        }
        if name == "shallow" {
            assert_sound(&workspace, &commit).await;
        } else {
            let found = look(&workspace, &commit).await;
            assert!(found.iter().all(Result::is_err), "{kind} {name}: {found:?}");
        }
    }
}

#[tokio::test]
async fn i10_a_little_of_a_repository_that_unpacks_to_much_is_not_read_whole() {
    let place = TempDir::new().unwrap();
    let (workspace, small) = repository(&place.path().join("much"));
    let root = workspace.root();
    let much = "on(x)\n".repeat(SAID_BYTES_MAX as usize / 6 + 1);
    fs::write(root.join("much.txt"), &much).unwrap();
    git(root, &["add", "."]);
    // A subject is one line.
    let (subject, message) = (much.replace('\n', " "), place.path().join("message"));
    fs::write(&message, subject).unwrap();
    git(root, &["commit", "--quiet", "--file", message.to_str().unwrap()]);
    let large = git(root, &["rev-parse", "HEAD"]).trim().to_owned();
    let why = format!("git has more than {} bytes to say of it, which is more than is read", 4 << 20);
    let read = |found: anyhow::Result<String>| found.map_err(|error| error.to_string());
    // The error is the same whether or not the commit contains the quotation, because no search took place.
    for quote in ["on(x)", "nowhere"] {
        assert_eq!(read(check(&workspace, &large, quote).await), Err(why.clone()));
    }
    assert_eq!(read(log(&workspace, None, None).await), Err(why));
    assert_eq!(
        read(check(&workspace, &large, "").await).unwrap(),
        format!("verified: there is a commit {large}")
    );
    let stands = format!("verified: it stands in commit {small}");
    assert_eq!(read(check(&workspace, &small, "listener.remove()").await), Ok(stands));

    // Folders in folders, each many times: three of them, and more names than are read.
    let name = |number| format!("{number:0>80}");
    let mut entry = format!("100644 blob {}", git(root, &["rev-parse", "HEAD:a.txt"]).trim());
    for _ in 0..3 {
        let listing: String = (0..50).map(|number| format!("{entry}\t{}\n", name(number))).collect();
        fs::write(&message, listing).unwrap();
        let mut mktree = process::Command::new("git");
        mktree.arg("mktree").current_dir(root).stdin(fs::File::open(&message).unwrap());
        let tree = String::from_utf8(mktree.output().unwrap().stdout).unwrap();
        entry = format!("040000 tree {}", tree.trim());
    }
    let tree = entry.rsplit(' ').next().unwrap();
    let bomb = git(root, &["commit-tree", tree, "-m", "names"]);
    git(root, &["update-ref", "refs/heads/main", bomb.trim()]);
    let error = tracked(&workspace).await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!("git has more than {} bytes to say of it, which is more than is read", 16 << 20)
    );
}

#[tokio::test]
async fn i10_of_what_git_says_no_more_is_read_than_one_byte_too_many() {
    let mut left = &[b'x'; 100][..];
    assert!(all(&mut left, 10).await.is_err());
    assert_eq!(left.len(), 89, "git is ended, whatever else it has to say");
}

#[tokio::test]
async fn i10_of_what_git_says_is_wrong_the_beginning_is_kept_and_the_rest_is_read() {
    let bytes = vec![b'x'; 2 * ERRORS_BYTES_MAX as usize];
    let mut left = &bytes[..];
    assert_eq!(beginning(&mut left).await.unwrap().len() as u64, ERRORS_BYTES_MAX);
    assert!(left.is_empty(), "git blocks if the rest of its output is not read");

    let place = TempDir::new().unwrap();
    let (workspace, _) = repository(&place.path().join("much"));
    let mut asked = vec!["ls-files", "--error-unmatch"];
    asked.extend(["nowhere"; 300]);
    let error = Shadow::of(&workspace).await.unwrap().run(&asked, 100).await.unwrap_err().to_string();
    assert!(error.starts_with("git: error: ") && error.contains("nowhere"), "{error}");
    assert!(error.len() <= "git: ".len() + ERRORS_BYTES_MAX as usize, "{}", error.len());
}

/// Makes a repository in which git waits for somebody who writes the last commit, and has said nothing before.
fn waiting(folder: &Path) -> Arc<Workspace> {
    let (workspace, commit) = repository(folder);
    let object = workspace.root().join(".git/objects").join(&commit[..2]).join(&commit[2..]);
    fs::remove_file(&object).unwrap();
    assert!(process::Command::new("mkfifo").arg(&object).status().unwrap().success());
    workspace
}

#[tokio::test(start_paused = true)]
async fn i10_git_that_waits_for_ever_is_waited_for_so_long() {
    let place = TempDir::new().unwrap();
    let workspace = waiting(&place.path().join("slow"));
    let found = timeout(Duration::from_secs(21), log(&workspace, None, None)).await.expect("it has an end");
    assert_eq!(found.unwrap_err().to_string(), "git took too long");
}

/// Whether a program runs in a folder.
#[cfg(target_os = "linux")]
fn is_anybody_in(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok()).any(|cwd| cwd == folder)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn i10_git_ends_when_the_caller_stops_waiting() {
    let place = TempDir::new().unwrap();
    let workspace = waiting(&place.path().join("slow"));
    let asked = workspace.clone();
    let asking = tokio::spawn(async move { log(&asked, None, None).await });
    while !is_anybody_in(workspace.root()) {
        assert!(!asking.is_finished(), "git waits");
        tokio::task::yield_now().await;
    }
    // The system ends a process that writes to a closed pipe. This git writes nothing and would wait forever.
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    let since = std::time::Instant::now();
    while is_anybody_in(workspace.root()) {
        assert!(since.elapsed() < Duration::from_secs(5), "git is still there");
        tokio::task::yield_now().await;
    }
}

#[test]
fn i10_a_thousand_folders_of_a_repository_in_one_another_are_looked_through() {
    let place = TempDir::new().unwrap();
    let mut deep = place.path().to_owned();
    deep.extend(["a"; 1_000]);
    fs::create_dir_all(&deep).unwrap();
    let look = || has_links(place.path(), &|| Ok(())).unwrap();
    // A fraction of what a thread has.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    assert!(!std::thread::scope(|scope| small.spawn_scoped(scope, look).unwrap().join().unwrap()));
    symlink("elsewhere", deep.join("b")).unwrap();
    assert!(look());
}

#[test]
fn i10_link_search_stops_when_the_caller_stops_waiting() {
    let place = TempDir::new().unwrap();
    fs::create_dir_all(place.path().join("a/b/c")).unwrap();
    for patience in 0..3 {
        let asked = Cell::new(0);
        let awaited = || {
            asked.set(asked.get() + 1);
            ensure!(asked.get() <= patience, "no caller waits");
            Ok(())
        };
        assert_eq!(has_links(place.path(), &awaited).unwrap_err().to_string(), "no caller waits");
        assert_eq!(asked.get(), patience + 1);
    }
}

#[tokio::test]
async fn i10_every_slow_tool_stops_at_its_time_limit() {
    let place = TempDir::new().unwrap();
    let (patient, commit) = repository(&place.path().join("long"));
    assert_eq!([patient.patience, PATIENCE], [Duration::from_secs(20); 2]);
    let hurried = Arc::new(Workspace { patience: Duration::ZERO, ..Workspace::clone(&patient) });
    for (tool, arguments) in [
        ("search", json!({"text": "listener"})),
        (CHECK_TOOL, json!({"path": "a.txt", "line": 1, "quote": "listener"})),
        (CHECK_TOOL, json!({"commit": commit, "quote": "listener"})),
        ("git_log", json!({})),
        ("git_blame", json!({"path": "a.txt"})),
    ] {
        assert!(run(&patient, tool, &arguments).await.is_ok(), "{tool}");
        assert_eq!(run(&hurried, tool, &arguments).await, Err("it took too long".to_owned()), "{tool}");
    }
}

type Trap<'a> = Box<dyn Fn(&Path) + 'a>;
