//! Keys as they are given on the command line.

use std::io::Write as _;
use std::path::Path;

use debate_proof::key::{SigningKey, VerifierKey};

use crate::believed_file::is_for_others_to_read;
use crate::bounded;
use crate::exit::Failure;
use crate::private_file;

/// Reads a public key: the key itself, or the path of a file with it.
pub(crate) fn verifier(given: &str) -> anyhow::Result<VerifierKey> {
    let from_text = given.trim().parse();
    match from_text {
        Ok(key) => Ok(key),
        Err(error) if Path::new(given).is_file() => {
            let text = read(Path::new(given))?;
            text.trim()
                .parse()
                .map_err(|_| Failure::bad_input(format!("{given} holds no public key: {error}")))
        }
        Err(error) => Err(Failure::bad_input(format!("--key: {error}"))),
    }
}

/// Reads a private key from its file; warns of one that others may read.
pub(crate) fn signing(path: &Path) -> anyhow::Result<SigningKey> {
    let text = read(path)?;
    if path.metadata().is_ok_and(|about| is_for_others_to_read(&about)) {
        tracing::warn!(path = %path.display(), "others may read this private key, and sign with it; use chmod 600");
    }
    text.trim()
        .parse()
        .map_err(|error| Failure::bad_input(format!("{} holds no private key: {error}", path.display())))
}

/// Writes a private key into a new file that only its owner may read.
pub(crate) fn write(path: &Path, key: &SigningKey) -> anyhow::Result<()> {
    let written = private_file::new().open(path).and_then(|mut file| {
        writeln!(file, "{}", key.secret_text())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}

fn read(path: &Path) -> anyhow::Result<String> {
    bounded::text(path, bounded::TEXT_BYTES_MAX)
}
