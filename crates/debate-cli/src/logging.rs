//! The program's own log: to stderr, apart from what commands print.

use std::io::{self, Write};
use std::sync::OnceLock;

use indicatif::MultiProgress;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::args::{LogFormat, Options};
use crate::exit::Failure;
use crate::telemetry::Telemetry;

/// The live view that is drawn on stderr, if one is.
static VIEW: OnceLock<MultiProgress> = OnceLock::new();

/// Begins to log.
pub(crate) fn begin(options: &Options, telemetry: &Telemetry) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(&options.log_level).map_err(|error| {
        Failure::bad_input(format!("invalid value {:?} for --log-level: {error}", options.log_level))
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Aside);
    let lines = match options.log_format {
        LogFormat::Text => lines.with_ansi(console::colors_enabled_stderr()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(telemetry.layers()).init();
    Ok(())
}

/// Tells the log that a live view is drawn, so that lines do not run through it.
pub(crate) fn beside(view: &MultiProgress) {
    VIEW.get_or_init(|| view.clone());
}

/// Writes to stderr, above the live view where there is one.
struct Aside;

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match VIEW.get() {
            Some(view) => view.suspend(|| io::stderr().write(bytes)),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
