//! The command-line arguments of a peer, the same for all peers in all languages.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::plan::Schedule;

/// `--url URL --tape FILE --debates N --in-flight C --schedule S --work FOLDER [--stream] [--log]`.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// The base address of the model server, ending in `/v1`.
    pub url: String,
    /// The recorded requests.
    pub tape: PathBuf,
    /// How many debates are measured.
    pub debates: u32,
    /// How many of them run at once.
    pub in_flight: u32,
    /// When a call may begin.
    pub schedule: Schedule,
    /// An empty folder for what the peer stores.
    pub work: PathBuf,
    /// Whether replies are asked for as streams.
    pub stream: bool,
    /// Whether a floor writes the log that the engine writes.
    pub log: bool,
}

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// When an argument is missing, unknown or has no meaning.
    pub fn read() -> Result<Self> {
        let mut read = Self {
            url: String::new(),
            tape: PathBuf::new(),
            debates: 1,
            in_flight: 1,
            schedule: Schedule::Pipelined,
            work: PathBuf::new(),
            stream: false,
            log: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            let mut value = || words.next().with_context(|| format!("{name} needs a value"));
            match name.as_str() {
                "--url" => read.url = value()?,
                "--tape" => read.tape = value()?.into(),
                "--debates" => read.debates = value()?.parse().context("--debates is a number")?,
                "--in-flight" => read.in_flight = value()?.parse().context("--in-flight is a number")?,
                "--schedule" => read.schedule = value()?.parse().map_err(anyhow::Error::msg)?,
                "--work" => read.work = value()?.into(),
                "--stream" => read.stream = true,
                "--log" => read.log = true,
                _ => bail!("{name} means nothing"),
            }
        }
        if read.url.is_empty() {
            bail!("--url is missing");
        }
        Ok(read)
    }
}
