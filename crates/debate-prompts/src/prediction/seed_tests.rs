//! The contract's text, for tests that hold this crate's words to it.

use serde::de::DeserializeOwned;

/// Reads the contract, or says that it is not here.
pub(super) fn contract() -> Option<String> {
    let folder = format!("{}/../../../shared/seeds", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let found = files
        .map(|file| file.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("002_")));
    let text = found.and_then(|path| std::fs::read_to_string(path).ok());
    if text.is_none() {
        eprintln!("skipped: ../shared/seeds/002_* is not here");
    }
    text
}

/// Reads the first JSON block behind a heading.
pub(super) fn json_after<T: DeserializeOwned>(contract: &str, heading: &str) -> T {
    let (_, after) = contract.split_once(heading).unwrap();
    let (_, block) = after.split_once("```json").unwrap();
    let (json, _) = block.split_once("```").unwrap();
    serde_json::from_str(json).unwrap()
}
