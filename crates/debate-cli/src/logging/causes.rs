//! The causes of errors in lines of JSON, which have errors without them otherwise.

use std::error::Error;
use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes lines of flat JSON, with the causes of `error` in `error.sources`.
pub(super) struct WithCauses<F>(pub(super) F);

impl<S, N, F> FormatEvent<S, N> for WithCauses<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let mut causes = Causes::default();
        event.record(&mut causes);
        match line.trim_end().strip_suffix('}') {
            Some(begun) if !causes.0.is_empty() => {
                let causes = Value::Object(causes.0).to_string();
                writeln!(writer, "{begun},{}", &causes[1..])
            }
            _ => writer.write_str(&line),
        }
    }
}

/// The causes of each error among the fields of an event.
#[derive(Default)]
struct Causes(Map<String, Value>);

impl Visit for Causes {
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let causes: Vec<Value> = causes.map(|cause| cause.to_string().into()).collect();
        if !causes.is_empty() {
            self.0.insert(format!("{}.sources", field.name()), causes.into());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
