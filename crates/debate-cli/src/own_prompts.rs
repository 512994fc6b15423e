//! A folder of texts that stand in the place of the program's own (P24).

use std::fs;
use std::path::Path;

use debate_prompts::catalog;

use crate::exit::Failure;
use crate::plain::one_line;

/// Takes the texts of a folder: `prediction/argue.txt` stands for the text `prediction/argue`.
///
/// # Errors
/// The folder cannot be read, or a text of it cannot be used; every fault is named.
pub(crate) fn take(folder: &Path) -> anyhow::Result<()> {
    let name = folder.display();
    let unread = |error| Failure::bad_input(format!("--prompts {name} cannot be read: {error}"));
    let texts = read(folder).map_err(unread)?;
    if texts.is_empty() {
        return Err(Failure::bad_input(format!(
            "--prompts {name} holds no text such as prediction/argue.txt"
        )));
    }
    replace(texts, &format!("--prompts {name}"))
}

/// Takes one text, given as `NAME=FILE`.
///
/// # Errors
/// The file cannot be read, or its text cannot be used.
pub(crate) fn take_one(given: &str) -> anyhow::Result<()> {
    let option = format!("--set prompt.{given}");
    let Some((name, file)) = given.split_once('=').filter(|(_, file)| !file.is_empty()) else {
        return Err(Failure::bad_input(format!("{option}: write prompt.NAME=FILE")));
    };
    let unread = |error| Failure::bad_input(format!("{option}: {file} cannot be read: {error}"));
    let text = fs::read_to_string(file).map_err(unread)?;
    replace(vec![(name.to_owned(), text)], &option)
}

fn replace(texts: Vec<(String, String)>, option: &str) -> anyhow::Result<()> {
    catalog::replace(texts).map_err(|faults| {
        let lines: String = faults.iter().map(|fault| format!("\n  {}", one_line(fault))).collect();
        Failure::bad_input(format!("{option} cannot be used:{lines}"))
    })
}

fn read(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for format in fs::read_dir(folder)? {
        let format = format?;
        if !format.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(format.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let name = stem.rsplit_once('@').map_or(&*stem, |(name, _)| name);
                texts.push((
                    format!("{}/{name}", format.file_name().to_string_lossy()),
                    fs::read_to_string(&path)?,
                ));
            }
        }
    }
    texts.sort_unstable();
    Ok(texts)
}
