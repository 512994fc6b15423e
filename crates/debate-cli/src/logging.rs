//! The program's own log: to stderr, apart from what commands print.

mod causes;

use std::io::{self, Write};
use std::sync::OnceLock;

use indicatif::MultiProgress;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use self::causes::WithCauses;
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
    let lines = lines(options.log_format, || Aside);
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(telemetry.layers()).init();
    Ok(())
}

/// Returns what writes lines of a format.
fn lines<S>(
    format: LogFormat,
    writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Text => lines.with_ansi(console::colors_enabled_stderr()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).map_event_format(WithCauses).boxed(),
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the door stays shut")]
    struct Shut(#[source] io::Error);

    #[test]
    fn every_format_of_the_log_has_errors_with_their_causes() {
        let logged = |format: LogFormat| {
            let file = tempfile::NamedTempFile::new().unwrap();
            let lines = lines(format, file.reopen().unwrap());
            tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
                let shut = Shut(io::Error::other("no \"key\""));
                tracing::error!(error = &shut as &dyn std::error::Error, "knocked");
                tracing::info!("waited");
            });
            fs::read_to_string(file.path()).unwrap()
        };
        let json = logged(LogFormat::Json);
        let [knocked, waited] = &json.lines().collect::<Vec<_>>()[..] else { panic!("{json}") };
        let knocked: Value = serde_json::from_str(knocked).unwrap();
        assert_eq!(
            (&knocked["message"], &knocked["error"]),
            (&json!("knocked"), &json!("the door stays shut"))
        );
        assert_eq!(knocked["error.sources"], json!(["no \"key\""]));
        let waited: Value = serde_json::from_str(waited).unwrap();
        assert_eq!((&waited["level"], &waited["message"]), (&json!("INFO"), &json!("waited")));
        let text = logged(LogFormat::Text);
        assert!(text.contains("the door stays shut") && text.contains("no \"key\""), "{text}");
    }
}
