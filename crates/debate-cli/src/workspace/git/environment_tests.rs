#![cfg(unix)]

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::process;

use super::tests::{assert_sound, git, repository};
use super::*;

/// Names, for another run of a test, the last commit of the folder it is in, and one of another folder.
const COMMITS: &str = "DEBATE_LOOKS_FOR_IN_A_TEST";

/// In another run of a test: looks into the folder it is in. Returns whether this is one.
async fn is_look() -> bool {
    let Ok(commits) = std::env::var(COMMITS) else { return false };
    let (own, other) = commits.split_once(' ').unwrap();
    let workspace = Arc::new(Workspace::open(Path::new(".")).unwrap());
    assert_sound(&workspace, own).await;
    let found = check(&workspace, other, "").await.unwrap();
    assert_eq!(found, format!("refuted: there is no commit {other}"));
    true
}

/// Writes a script that may be run.
fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Looks into a folder in another run of a test, with more in the environment: all is found that is there, and nothing else.
fn look_with(test: &str, folder: &Path, commits: [&str; 2], environment: &[(&str, &OsStr)]) {
    let mut again = process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("workspace::git::environment_tests::{test}"), "--nocapture"]);
    again.env_remove("XDG_CONFIG_HOME").env("RUST_BACKTRACE", "0").envs(environment.iter().copied());
    let looked = again.env(COMMITS, commits.join(" ")).current_dir(folder).output().unwrap();
    assert!(looked.status.success(), "{environment:?}: {}", String::from_utf8_lossy(&looked.stderr));
}

#[tokio::test]
async fn i10_a_folder_that_is_a_users_home_configures_nothing() {
    if is_look().await {
        return;
    }
    let place = TempDir::new().unwrap();
    let (workspace, _) = repository(&place.path().join("home"));
    let (home, mark, gpg) = (workspace.root(), place.path().join("mark"), place.path().join("gpg"));
    let signs = "echo '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'";
    script(&gpg, &format!("touch '{}'\n{signs}", mark.display()));
    let program = format!("gpg.program={}", gpg.display());
    git(home, &["-c", &program, "commit", "--quiet", "--amend", "--no-edit", "--gpg-sign"]);
    let commit = git(home, &["rev-parse", "HEAD"]);
    fs::remove_file(&mark).unwrap();

    let configured = home.join(".config/git");
    fs::create_dir_all(&configured).unwrap();
    let config = format!("[log]\nshowSignature = true\n[gpg]\nprogram = {}\n", gpg.display());
    let hidden = "*.txt -diff\n";
    for environment in [("HOME", home.to_owned()), ("XDG_CONFIG_HOME", home.join(".config"))] {
        for (file, text) in [("attributes", hidden), ("config", &*config)] {
            fs::write(configured.join(file), text).unwrap();
        }
        fs::write(home.join(".gitconfig"), &config).unwrap();
        let environment = [(environment.0, environment.1.as_os_str())];
        let test = "i10_a_folder_that_is_a_users_home_configures_nothing";
        look_with(test, home, [commit.trim(), &"0".repeat(40)], &environment);
        assert!(!mark.exists(), "a command of the folder ran: {environment:?}");
    }
}

#[tokio::test]
async fn i10_no_other_folder_is_read_though_the_environment_names_it() {
    if is_look().await {
        return;
    }
    let place = TempDir::new().unwrap();
    let (workspace, commit) = repository(&place.path().join("own"));
    let (other, _) = repository(&place.path().join("other"));
    git(other.root(), &["commit", "--quiet", "--allow-empty", "--message", "elsewhere"]);
    let secret = git(other.root(), &["rev-parse", "HEAD"]);
    let inside = |name: &str| other.root().join(".git").join(name);
    // As git itself sets them for its hooks.
    for (variable, path) in [
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", inside("objects")),
        ("GIT_DIR", inside("")),
        ("GIT_WORK_TREE", other.root().to_owned()),
    ] {
        let test = "i10_no_other_folder_is_read_though_the_environment_names_it";
        let environment = [(variable, path.as_os_str())];
        look_with(test, workspace.root(), [&commit, secret.trim()], &environment);
    }
}

#[tokio::test]
async fn i10_git_is_given_nothing_of_the_environment() {
    if is_look().await {
        return;
    }
    let place = TempDir::new().unwrap();
    let (workspace, commit) = repository(&place.path().join("own"));
    let real = program(&std::env::var_os("PATH").unwrap(), workspace.root()).unwrap();
    let (given, bin) = (place.path().join("given"), place.path().join("bin"));
    fs::create_dir(&bin).unwrap();
    let telling = format!("export -p >> '{}'\nexec '{}' \"$@\"", given.display(), real.display());
    script(&bin.join("git"), &telling);
    let environment = [("PATH", bin.as_os_str()), ("OPENAI_API_KEY", OsStr::new("open-sesame"))];
    let test = "i10_git_is_given_nothing_of_the_environment";
    look_with(test, workspace.root(), [&commit, &"0".repeat(40)], &environment);
    let given = fs::read_to_string(given).unwrap();
    assert!(given.contains("GIT_DIR") && !given.contains("OPENAI") && !given.contains("sesame"), "{given}");
}
