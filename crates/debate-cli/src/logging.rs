//! The program's own log: to stderr, apart from what commands print. An entry is one line, whatever text is in it.

mod causes;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::thread;

use console::{Color, Style};
use debate_core::steering::steers;
use indicatif::MultiProgress;
use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use self::causes::WithCauses;
use crate::args::{LogFormat, Options};
use crate::exit::Failure;
use crate::telemetry::Telemetry;

/// Targets under which libraries log text that may hold a secret unchanged: odd parts of a password file or of the
/// address of a database, HTTP/2 frames, and how connections ended, with the text of a server that received a key.
const SECRET_TARGETS: [&str; 3] = ["sqlx_postgres::options", "h2::", "hyper_util::client::legacy"];

/// The live view that is drawn on stderr, if one is.
static VIEW: OnceLock<MultiProgress> = OnceLock::new();

/// Characters of a level in a line.
const LEVEL_CHARS: usize = 5;

/// Begins to log.
pub(crate) fn begin(options: &Options, telemetry: &Telemetry) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(&options.log_level).map_err(|error| {
        Failure::bad_input(format!("invalid value {:?} for --log-level: {error}", options.log_level))
    })?;
    // What is asked for by --log-level does not go before this.
    let filter =
        filter.and(filter_fn(|about| !SECRET_TARGETS.iter().any(|it| about.target().starts_with(it))));
    let has_colours = options.log_format == LogFormat::Text && console::colors_enabled_stderr();
    let lines = lines(options.log_format, has_colours, || Aside);
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(telemetry.layers()).init();
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Logs a panic as one line of text, whatever its message contains.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let entry = format!("thread {:?} {panic}", thread.name().unwrap_or("without a name"));
    // Straight to stderr: what panics may hold the log, or the live view.
    let _unheard = Lines { to: io::stderr(), has_colours: false }.write_all(entry.as_bytes());
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        let _unheard = write!(io::stderr(), "{trace}");
    }
}

/// Writes entries to what `to` opens, each as one line.
fn lines<S, W>(
    format: LogFormat,
    has_colours: bool,
    to: impl Fn() -> W + Send + Sync + 'static,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Write + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(move || Lines { to: to(), has_colours });
    match format {
        LogFormat::Text => lines.with_ansi(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).map_event_format(WithCauses).boxed(),
    }
}

/// Sets the live view that is drawn, so that log lines do not run through it.
pub(crate) fn set_live_view(view: &MultiProgress) {
    VIEW.get_or_init(|| view.clone());
}

/// Writes entries, which come whole: what would break a line or steer the terminal is spelled out, as JSON spells it.
struct Lines<W> {
    to: W,
    has_colours: bool,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let entry = String::from_utf8_lossy(bytes);
        let mut line = String::with_capacity(entry.len());
        for c in entry.trim_end_matches('\n').chars() {
            if steers(c) {
                line.push_str(&format!("\\u{:04x}", u32::from(c)));
            } else {
                line.push(c);
            }
        }
        let line = if self.has_colours { coloured(&line) } else { line };
        self.to.write_all(format!("{line}\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Colors the time and the level at the beginning of a line. Neither holds text from outside the program.
fn coloured(line: &str) -> String {
    let begun =
        line.split_once(' ').and_then(|(time, rest)| Some((time, rest.split_at_checked(LEVEL_CHARS)?)));
    let Some((time, (level, rest))) = begun else { return line.to_owned() };
    let colour = match level.trim() {
        "ERROR" => Color::Red,
        "WARN" => Color::Yellow,
        "INFO" => Color::Green,
        "DEBUG" => Color::Blue,
        _ => Color::Magenta,
    };
    let paint = |style: Style, text| style.force_styling(true).apply_to(text);
    format!("{} {}{rest}", paint(Style::new().dim(), time), paint(Style::new().fg(colour), level))
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
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    /// What was written so far.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns what is written of what `work` logs.
    fn logged(format: LogFormat, has_colours: bool, work: impl FnOnce()) -> String {
        let written = Written::default();
        let to = written.clone();
        let log = tracing_subscriber::registry().with(lines(format, has_colours, move || to.clone()));
        tracing::subscriber::with_default(log, work);
        String::from_utf8(written.0.lock().unwrap().clone()).unwrap()
    }

    /// Runs a test again in a child process that logs as the program does with `options` and does `work`. Returns its
    /// stderr.
    fn logged_by_child(test: &str, options: &str, work: impl FnOnce()) -> String {
        const CHILD: &str = "DEBATE_LOGS_IN_A_TEST";
        if let Ok(options) = std::env::var(CHILD) {
            let argv = ["debate", "list"].into_iter().chain(options.split(' ')).map(Into::into);
            let args = crate::config::parse(&argv.collect::<Vec<_>>()).unwrap();
            begin(&args.options, &Telemetry::open(&args).unwrap()).unwrap();
            work();
            std::process::exit(0);
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", &format!("logging::tests::{test}"), "--nocapture"]);
        let ran = child.env(CHILD, options).env("RUST_BACKTRACE", "0").output().unwrap();
        String::from_utf8(ran.stderr).unwrap()
    }

    #[test]
    fn what_libraries_log_as_it_stands_is_left_out_whatever_level_is_asked_for() {
        let test = "what_libraries_log_as_it_stands_is_left_out_whatever_level_is_asked_for";
        let knock = || {
            tracing::debug!(target: "h2::codec::framed_read", "sk-secret");
            tracing::trace!(target: "h2::proto::connection", "sk-secret");
            tracing::warn!(target: "sqlx_postgres::options::pgpass", "sk-secret");
            tracing::debug!(target: "hyper_util::client::legacy::client", "sk-secret");
            tracing::debug!(target: "h2o", "water");
        };
        for levels in ["trace", "h2=trace,h2::codec::framed_read=trace,h2o=debug,sqlx_postgres=trace"] {
            let written = logged_by_child(test, &format!("--log-level={levels}"), knock);
            assert!(written.contains("water") && !written.contains("sk-secret"), "{written}");
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the door stays shut")]
    struct Shut(#[source] io::Error);

    #[test]
    fn every_format_of_the_log_has_errors_with_their_causes() {
        let test = "every_format_of_the_log_has_errors_with_their_causes";
        let knock = || {
            let shut = Shut(io::Error::other("no \"key\""));
            tracing::error!(error = &shut as &dyn std::error::Error, "knocked");
            tracing::info!("waited");
        };
        let json = logged_by_child(test, "--log-level=info --log-format=json", knock);
        let [knocked, waited] = &json.lines().collect::<Vec<_>>()[..] else { panic!("{json}") };
        let knocked: Value = serde_json::from_str(knocked).unwrap();
        assert_eq!(
            (&knocked["message"], &knocked["error"]),
            (&json!("knocked"), &json!("the door stays shut"))
        );
        assert_eq!(knocked["error.sources"], json!(["no \"key\""]));
        let waited: Value = serde_json::from_str(waited).unwrap();
        assert_eq!((&waited["level"], &waited["message"]), (&json!("INFO"), &json!("waited")));
        let text = logged_by_child(test, "--log-format=text", knock);
        assert!(text.contains("the door stays shut") && text.contains("no \"key\""), "{text}");
    }

    #[test]
    fn k13_a_panic_is_one_line_whatever_its_message_says() {
        let odd = "a\n2026-01-01 ERROR b\x1b[2J\u{9b}31m\u{202e}c";
        let test = "k13_a_panic_is_one_line_whatever_its_message_says";
        let stderr = logged_by_child(test, "--log-format=text", || panic!("{odd}"));
        assert_eq!(stderr.matches("panicked at").count(), 1, "{stderr:?}");
        assert!(stderr.contains(r"a\u000a2026-01-01 ERROR b\u001b[2J\u009b31m\u202ec"), "{stderr:?}");
        assert!(stderr.lines().all(|line| !line.contains(steers)), "{stderr:?}");
    }

    #[test]
    fn k13_words_in_the_log_begin_no_line_and_steer_no_terminal() {
        let odd = "a\n2026-01-01 ERROR b\r\n\tc\x1b[2J\x1b]0;d\x07e\u{9b}31m\u{202e}f\x08\x7fg\u{85}h";
        for (format, has_colours) in
            [(LogFormat::Text, false), (LogFormat::Text, true), (LogFormat::Json, false)]
        {
            let mut shown = logged(format, has_colours, || {
                let error = anyhow::anyhow!(odd).context(odd);
                let error: &(dyn std::error::Error + 'static) = error.as_ref();
                tracing::warn!("{odd}");
                tracing::warn!(path = %odd, agent = odd, tenant = ?odd, "asked");
                tracing::warn!(error, "failed");
                tracing::warn_span!("request", id = %odd).in_scope(|| tracing::warn!(odd));
            });
            if has_colours {
                let warning = "Z\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m";
                assert_eq!(shown.matches(warning).count(), 4, "{shown:?}");
                shown = shown.replace(warning, "Z  WARN").replace("\u{1b}[2m2", "2");
            }
            assert_eq!(shown.lines().count(), 4, "{shown}");
            assert!(shown.lines().all(|line| !line.contains(steers)), "{shown:?}");
            if format == LogFormat::Json {
                let entry: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
                assert_eq!(entry["message"], odd, "programs read what was said");
            }
        }
    }
}
