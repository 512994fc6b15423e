//! The text files of the workspace.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders that hold nothing written by hand.
const SKIPPED: [&str; 4] = [".git", ".venv", "node_modules", "__pycache__"];

/// One text file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Relative to the root, with `/` on every machine.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Tells whether one of the folders above the file has this name.
    pub(crate) fn is_under(&self, folder: &str) -> bool {
        self.folders().any(|name| name == folder)
    }

    /// Returns the names of the folders above the file, the outermost first.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        let folders = self.path.rsplit_once('/').map_or("", |(folders, _)| folders);
        folders.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the name without folders and without what follows its last dot.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// Returns every UTF-8 file under the root, without build output and tools.
///
/// # Errors
///
/// When a folder or a file cannot be read.
pub(crate) fn under(root: &Path, target: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
                if !skipped && path != target && !path.join("CACHEDIR.TAG").exists() {
                    folders.push(path);
                }
            } else if kind.is_file() {
                sources.extend(read(root, &path)?);
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn read(root: &Path, path: &Path) -> Result<Option<Source>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(None);
    };
    let relative = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<_> = relative.iter().map(|name| name.to_string_lossy()).collect();
    Ok(Some(Source { path: names.join("/"), text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_tools_and_binary_files_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["src", "target", "node_modules", ".ci"] {
            fs::create_dir(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("a.rs"), "text").unwrap();
        }
        fs::write(root.path().join("debate.sqlite"), [0xff, 0xfe]).unwrap();
        let sources = under(root.path(), &root.path().join("target")).unwrap();
        let paths: Vec<_> = sources.iter().map(|source| source.path.as_str()).collect();
        assert_eq!(paths, [".ci/a.rs", "src/a.rs"]);
    }

    #[test]
    fn a_path_gives_its_folders_and_its_stem() {
        let source = Source { path: "crates/debate-core/src/plan.rs".to_owned(), text: String::new() };
        assert_eq!(source.folders().collect::<Vec<_>>(), ["crates", "debate-core", "src"]);
        assert_eq!(source.stem(), "plan");
        assert!(source.is_under("src") && !source.is_under("plan.rs"));
    }
}
