//! How much tools look at, and for how long, whatever lies in a folder.

use std::cell::Cell;
use std::fs;
use std::io::Read as _;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::reading::{FILE_BYTES_MAX, FILES_MAX, text};
use super::tests::{folder, run};
use super::*;
use crate::bounded::tests::Beyond;

#[tokio::test]
async fn i10_tools_refuse_files_over_2_mib_and_hide_their_text() {
    let (_folder, workspace) = folder();
    for (name, bytes) in [("most.txt", FILE_BYTES_MAX), ("more.txt", FILE_BYTES_MAX + 1)] {
        let path = workspace.root().join(name);
        fs::write(&path, "zebra\n").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
    }
    let lines = |path| json!({"path": path, "from": 1, "to": 1});
    let quote = |path| json!({"path": path, "line": 1, "quote": "zebra"});
    assert_eq!(run(&workspace, "read_file", &lines("most.txt")).await.unwrap(), "1: zebra\n");
    assert!(run(&workspace, CHECK_TOOL, &quote("most.txt")).await.unwrap().starts_with("verified"));
    let refused = Err("refused: more.txt has more than 2097152 bytes".to_owned());
    assert_eq!(run(&workspace, "read_file", &lines("more.txt")).await, refused);
    assert_eq!(run(&workspace, CHECK_TOOL, &quote("more.txt")).await, refused);
    assert_eq!(run(&workspace, "search", &json!({"text": "zebra"})).await.unwrap(), "most.txt:1: zebra\n");
}

#[test]
fn i10_of_a_file_that_grows_while_it_is_read_no_more_is_read_than_2_mib_and_one_byte() {
    let begin = vec![b' '; FILE_BYTES_MAX as usize + 1];
    let error = text(begin.as_slice().chain(Beyond), "grows.txt").unwrap_err().to_string();
    assert_eq!(error, "refused: grows.txt has more than 2097152 bytes");
}

#[cfg(unix)]
#[test]
fn i10_a_pipe_in_the_place_of_a_file_is_refused_at_once() {
    let (_folder, workspace) = folder();
    let pipe = workspace.root().join("src/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (sender, results) = mpsc::channel();
    // Opening a pipe that has no writer blocks forever, so the test does not join this thread.
    std::thread::spawn(move || {
        let tracked = ["src/pipe", "src/main.rs"].map(PathBuf::from).to_vec();
        let error = |found: anyhow::Result<String>| found.map_err(|error| error.to_string());
        let read = error(workspace.read_file("src/pipe", 1, None));
        let checked = error(workspace.check("src/pipe", 1, "x", &|| Ok(())));
        let found = [None, Some(tracked)]
            .map(|tracked| error(workspace.search("never removed", None, tracked, &|| Ok(()))));
        sender.send((read, checked, found)).unwrap();
    });
    let received = results.recv_timeout(Duration::from_secs(5));
    let (read, checked, found) = received.expect("no tool waits for a pipe");
    assert_eq!(read, Err("src/pipe is no file".to_owned()));
    assert_eq!(checked, Ok("refuted: src/pipe is no file of text".to_owned()));
    assert_eq!(found, [(); 2].map(|()| Ok("src/main.rs:3: // never removed\n".to_owned())));
}

#[test]
fn i10_one_search_looks_at_20000_files_and_says_so() {
    let (_folder, workspace) = folder();
    let root = workspace.root();
    fs::write(root.join("src/file.rs"), "").unwrap();
    for number in 0..FILES_MAX + 99 {
        fs::hard_link(root.join("src/file.rs"), root.join(format!("src/{number}"))).unwrap();
    }
    let mut tracked = vec![PathBuf::from("src/file.rs"); FILES_MAX];
    tracked.extend(vec![PathBuf::from("src/main.rs"); 100]);
    for tracked in [None, Some(tracked)] {
        let asked = Cell::new(0);
        let awaited = || {
            asked.set(asked.get() + 1);
            Ok(())
        };
        let found = workspace.search("listener", Some("src"), tracked, &awaited).unwrap();
        let cut = "nothing found\n… only the first 20000 files were searched; name a folder";
        assert_eq!(found, cut);
        assert!(asked.get() <= 2 * FILES_MAX + 2, "of what is left out one is listed");
    }
}

#[test]
fn i10_a_thousand_folders_in_one_another_are_searched() {
    let (_folder, workspace) = folder();
    let mut deep = workspace.root().join("src");
    deep.extend(["a"; 1_000]);
    fs::create_dir_all(&deep).unwrap();
    let look = || workspace.search("never removed", None, None, &|| Ok(())).unwrap();
    // A fraction of what a thread has.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let found = std::thread::scope(|scope| small.spawn_scoped(scope, look).unwrap().join().unwrap());
    assert_eq!(found, "src/main.rs:3: // never removed\n");
}

#[test]
fn i10_search_and_check_stop_when_the_caller_stops_waiting() {
    let (_folder, workspace) = folder();
    fs::write(workspace.root().join("b.txt"), "listener").unwrap();
    let names = || ["b.txt", "b.txt"].map(PathBuf::from).to_vec();
    for patience in 0..4 {
        let asked = Cell::new(0);
        let awaited = || {
            asked.set(asked.get() + 1);
            anyhow::ensure!(asked.get() <= patience, "no caller waits");
            Ok(())
        };
        let looks: [&dyn Fn() -> anyhow::Result<String>; 3] = [
            &|| workspace.search("listener", None, Some(names()), &awaited),
            &|| workspace.search("listener", None, None, &awaited),
            &|| workspace.check("src/main.rs", 1, "main", &awaited),
        ];
        for look in looks {
            asked.set(0);
            assert_eq!(look().unwrap_err().to_string(), "no caller waits");
            assert_eq!(asked.get(), patience + 1);
        }
    }
}

#[tokio::test]
async fn i10_blocking_work_learns_that_the_caller_stopped_waiting() {
    let (_folder, workspace) = folder();
    let (begin, began) = tokio::sync::oneshot::channel();
    let (sender, still_awaited) = tokio::sync::oneshot::channel();
    let looking = workspace.blocking(move |_, awaited| {
        begin.send(awaited().is_ok()).unwrap();
        let since = Instant::now();
        while awaited().is_ok() && since.elapsed() < Duration::from_secs(5) {
            std::thread::yield_now();
        }
        sender.send(awaited().is_ok()).unwrap();
        Ok(String::new())
    });
    let was_awaited = tokio::select! {
        was_awaited = began => was_awaited.unwrap(),
        _ = looking => panic!("it looks for as long as somebody waits"),
    };
    assert_eq!((was_awaited, still_awaited.await.unwrap()), (true, false));
}
