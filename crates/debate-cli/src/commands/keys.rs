//! `debate keys`: keys that sign checkpoints.

use std::path::PathBuf;

use clap::Subcommand;
use debate_proof::key::SigningKey;

use super::print;
use crate::exit::{End, Failure};
use crate::proof::keys;

/// Make keys that sign checkpoints
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate keys new --name debates.example.org --file audit.key > audit.pub
  debate keys public audit.key")]
pub(crate) struct Keys {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What can be done.
#[derive(Debug, Subcommand)]
enum Action {
    New(New),
    Public(Public),
}

/// Write a new private key into a file, and print the public key
///
/// Keep the private key where the store's administrators cannot reach it: it can sign anything. Give the public key to
/// everyone who verifies.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate keys new --name debates.example.org --file audit.key > audit.pub")]
struct New {
    /// Name of the log that the key signs, without white space and +; it must be unique, such as a domain
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Where to write the private key; the file must not exist
    #[arg(long, env = "DEBATE_SIGNING_KEY", value_name = "FILE")]
    file: PathBuf,
}

/// Print the public key of a private key
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate keys public audit.key > audit.pub")]
struct Public {
    /// File of the private key
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Keys {
    /// Carries out the command.
    pub(crate) fn run(&self) -> anyhow::Result<End> {
        let key = match &self.action {
            Action::New(New { name, file }) => {
                let key = SigningKey::new(name, rand::random());
                let key = key.map_err(|error| Failure::bad_input(error.to_string()))?;
                keys::write(file, &key)?;
                key
            }
            Action::Public(Public { file }) => keys::signing(file)?,
        };
        print(&format!("{}\n", key.verifier()))?;
        Ok(End::Done)
    }
}
