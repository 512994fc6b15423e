//! Bundles as files: lines, compressed with gzip; read uncompressed too.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use debate_proof::bundle::{LINE_BYTES_MAX, Line};
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::exit::Failure;
use crate::private_file;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A bundle being written, which holds whole debates and so is its owner's alone. It appears under its name when it is whole.
#[derive(Debug)]
pub(crate) struct BundleWriter {
    path: PathBuf,
    draft: PathBuf,
    file: GzEncoder<BufWriter<File>>,
}

impl BundleWriter {
    /// Begins a bundle.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        // One that was left behind, or that a link stands for, is nothing to write into.
        let gone = fs::remove_file(&draft).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        let file = gone
            .and_then(|()| begin(&draft))
            .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", draft.display())))?;
        let file = GzEncoder::new(BufWriter::new(file), Compression::default());
        Ok(Self { path: path.to_owned(), draft, file })
    }

    /// Removes what a bundle that was not finished left behind.
    pub(crate) fn discard(self) {
        let Self { draft, file, .. } = self;
        drop(file);
        // No command takes the draft for a bundle, so one that cannot be removed does no harm.
        fs::remove_file(draft).ok();
    }

    /// Writes a line.
    pub(crate) fn write(&mut self, line: &Line) -> io::Result<()> {
        self.file.write_all(line.text().as_bytes())?;
        self.file.write_all(b"\n")
    }

    /// Ends the bundle.
    pub(crate) fn finish(self) -> io::Result<()> {
        let file = self.file.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(self.draft, &self.path)?;
        // The new name is safe once the folder is; only Unix lets a folder be synced.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if cfg!(unix) {
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    }
}

/// Makes the file that a bundle is written into. What somebody puts there meanwhile is not written into, nor over.
fn begin(draft: &Path) -> io::Result<File> {
    private_file::new().open(draft)
}

/// The lines of a bundle.
pub(crate) struct BundleLines {
    path: PathBuf,
    read: Box<dyn io::BufRead + Send>,
    buffer: Vec<u8>,
}

impl BundleLines {
    /// Opens a bundle, compressed or not.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let cannot =
            |error: io::Error| Failure::bad_input(format!("cannot read {}: {error}", path.display()));
        let mut file = BufReader::new(File::open(path).map_err(cannot)?);
        let is_gzip = file.fill_buf().map_err(cannot)?.starts_with(&GZIP);
        let read: Box<dyn io::BufRead + Send> =
            if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
        Ok(Self { path: path.to_owned(), read, buffer: Vec::new() })
    }

    /// Returns the next line without its line feed; none at the end. A file that is damaged is a fault.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<&str>> {
        self.buffer.clear();
        let path = self.path.display();
        let damaged = |why: String| Failure::fault(format!("{path} is damaged: {why}"));
        // Two bytes more than is allowed, so that too long a line is refused as such and not cut.
        let most = LINE_BYTES_MAX as u64 + 2;
        let read = self.read.by_ref().take(most).read_until(b'\n', &mut self.buffer);
        if read.map_err(|error| damaged(error.to_string()))? == 0 {
            return Ok(None);
        }
        if self.buffer.pop() != Some(b'\n') {
            return Err(damaged("a line is cut off or too long".to_owned()));
        }
        let line = std::str::from_utf8(&self.buffer);
        Ok(Some(line.map_err(|error| damaged(error.to_string()))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_written_into_nothing_that_was_put_in_its_place_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let draft = folder.path().join("it.bundle.new");
        let is_refused = || begin(&draft).unwrap_err().kind() == io::ErrorKind::AlreadyExists;
        fs::write(&draft, "words").unwrap();
        assert!(is_refused());
        assert_eq!(fs::read_to_string(&draft).unwrap(), "words");
        #[cfg(unix)]
        {
            let elsewhere = folder.path().join("elsewhere");
            fs::remove_file(&draft).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &draft).unwrap();
            assert!(is_refused() && !elsewhere.exists());
        }
    }
}
