//! Exports spans and metrics: to a collector over OTLP, and to clients that scrape `/metrics`.
//!
//! Off by default: nothing is measured and no span is opened. docs/telemetry.md lists all spans and metrics.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Aggregation, Instrument, SdkMeterProvider, Stream};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prometheus::{Registry, TextEncoder};
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::{MetricsLayer, OpenTelemetryLayer};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::args::Args;
use crate::commands::Command;
use crate::exit::Failure;

/// The longest that the last spans and measurements may take to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Seconds at which the buckets of durations end, those of the conventions: 0.01 · 2^k.
const DURATION_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// What is scraped, where it is.
static SCRAPED: OnceLock<Registry> = OnceLock::new();

/// Exports spans and metrics while the program runs.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    spans: Option<SdkTracerProvider>,
    measurements: Option<SdkMeterProvider>,
}

impl Telemetry {
    /// Opens what the command line asks for; to be called within a runtime. Connects to nothing yet.
    ///
    /// # Errors
    /// The collector's address cannot be used.
    pub(crate) fn open(args: &Args) -> anyhow::Result<Self> {
        let collector = args.options.otlp_endpoint.as_deref();
        let is_scraped = matches!(&args.command, Command::Serve(serve) if serve.metrics_listen.is_some());
        let spans = collector.map(spans_to).transpose()?;
        if spans.is_some() {
            opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
        }
        let measurements =
            (collector.is_some() || is_scraped).then(|| measurements_to(collector, is_scraped));
        Ok(Self { spans, measurements: measurements.transpose()? })
    }

    /// Returns the layers that export spans and measurements, each only from its own targets; `None` if both are off.
    pub(crate) fn layers<S>(&self) -> Option<Vec<Box<dyn Layer<S> + Send + Sync>>>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let only = |targets: &[&'static str]| {
            Targets::new().with_targets(targets.iter().map(|target| (*target, LevelFilter::DEBUG)))
        };
        let spans = self.spans.as_ref().map(|provider| {
            let tracer = provider.tracer("debate");
            OpenTelemetryLayer::new(tracer)
                .with_threads(false)
                .with_location(false)
                .with_tracked_inactivity(false)
                .with_target(false)
                .with_level(false)
                .with_filter(only(&["debate_engine::spans", "debate_llm::spans"]))
                .boxed()
        });
        let measurements = self.measurements.as_ref().map(|provider| {
            let targets = only(&["debate_engine::metrics", "debate_grpc::metrics", "debate_llm::metrics"]);
            MetricsLayer::new(provider.clone()).with_filter(targets).boxed()
        });
        let layers: Vec<_> = spans.into_iter().chain(measurements).collect();
        // An empty list of layers would not be heard of, and would keep all others from hearing.
        (!layers.is_empty()).then_some(layers)
    }

    /// Sends what is left; a collector that does not answer costs no more than a few seconds.
    pub(crate) fn close(self) {
        // It is too late to report that the last export failed.
        let _unsent = self.spans.map(|provider| provider.shutdown_with_timeout(FLUSH_TIMEOUT));
        let _unsent = self.measurements.map(|provider| provider.shutdown_with_timeout(FLUSH_TIMEOUT));
    }
}

/// Where measurements are scraped.
#[derive(Debug)]
pub(crate) struct Scrape(Option<TcpListener>);

impl Scrape {
    /// Listens, where an address is given.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) async fn bind(address: Option<SocketAddr>) -> anyhow::Result<Self> {
        let Some(address) = address else { return Ok(Self(None)) };
        let listener = TcpListener::bind(address).await;
        Ok(Self(Some(listener.with_context(|| format!("cannot listen on {address} for measurements"))?)))
    }

    /// Returns the address where measurements are served.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.0.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Serves measurements at `/metrics`; never ends.
    pub(crate) async fn serve(self) -> Infallible {
        match self.0 {
            Some(listener) => debate_grpc::serve_metrics(listener, scraped).await,
            None => std::future::pending().await,
        }
    }
}

/// Returns all measurements so far in Prometheus's text format.
fn scraped() -> String {
    let families = SCRAPED.get().map(Registry::gather).unwrap_or_default();
    TextEncoder::new().encode_to_string(&families).unwrap_or_default()
}

fn spans_to(collector: &str) -> anyhow::Result<SdkTracerProvider> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(collector).with_tls_config(trusting());
    let exporter = exporter.build().map_err(no_collector)?;
    Ok(SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter).build())
}

/// Returns whom a collector behind `https://` is believed: whom the system believes.
fn trusting() -> ClientTlsConfig {
    ClientTlsConfig::new().with_enabled_roots()
}

/// Refuses a collector's address. The cause would tell it whole, and it may hold a login.
fn no_collector(_cause: ExporterBuildError) -> anyhow::Error {
    Failure::bad_input(
        "otlp-endpoint is no address of a collector, such as http://127.0.0.1:4317 or https://HOST:4317",
    )
}

fn measurements_to(collector: Option<&str>, is_scraped: bool) -> anyhow::Result<SdkMeterProvider> {
    let mut provider = SdkMeterProvider::builder().with_resource(resource()).with_view(buckets);
    if let Some(collector) = collector {
        let exporter =
            MetricExporter::builder().with_tonic().with_endpoint(collector).with_tls_config(trusting());
        let exporter = exporter.build().map_err(no_collector)?;
        provider = provider.with_periodic_exporter(exporter);
    }
    if is_scraped {
        let registry = SCRAPED.get_or_init(Registry::new).clone();
        let reader = opentelemetry_prometheus::exporter().with_registry(registry).build();
        provider = provider.with_reader(reader.context("measurements cannot be scraped")?);
    }
    Ok(provider.build())
}

/// Returns the buckets of a histogram of seconds.
fn buckets(instrument: &Instrument) -> Option<Stream> {
    let is_time =
        instrument.name().ends_with(".duration") || instrument.name().ends_with(".time_to_first_chunk");
    let buckets =
        Aggregation::ExplicitBucketHistogram { boundaries: DURATION_BUCKETS.to_vec(), record_min_max: true };
    is_time.then(|| Stream::builder().with_aggregation(buckets).build().ok()).flatten()
}

/// Returns the resource that exports spans and metrics. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take
/// precedence.
fn resource() -> Resource {
    let detected = Resource::builder().build();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let named = std::env::var_os("OTEL_SERVICE_NAME").is_some()
        || detected
            .get(&"service.name".into())
            .is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder().with_attribute(version);
    if named { builder.build() } else { builder.with_service_name("debate").build() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const SOURCES: [&str; 3] = [
        include_str!("../../debate-engine/src/telemetry.rs"),
        include_str!("../../debate-grpc/src/telemetry.rs"),
        include_str!("../../debate-llm/src/telemetry.rs"),
    ];
    const PAGE: &str = include_str!("../../../docs/telemetry.md");
    const SHOWN: [&str; 2] = [
        include_str!("../../../deploy/observability/alerts.yaml"),
        include_str!("../../../deploy/observability/dashboard.json"),
    ];

    /// Returns the words that are made of letters, underscores and dots.
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c: char| !(c.is_ascii_lowercase() || matches!(c, '_' | '.')))
    }

    /// Returns the measurements of the page's table by name, with what Prometheus adds to the name of each.
    fn documented() -> BTreeSet<(&'static str, &'static [&'static str])> {
        let rows = PAGE.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let name = cells.next()?.strip_suffix('`')?;
            match cells.next()? {
                "histogram" => Some((name, &["_bucket", "_count"][..])),
                "counter" => Some((name, &["_total"][..])),
                "up and down" => Some((name, &[""][..])),
                _ => None,
            }
        });
        rows.collect()
    }

    #[test]
    fn all_that_is_measured_is_documented_and_nothing_else() {
        let prefixes = ["histogram.", "monotonic_counter.", "counter."];
        let found = SOURCES.into_iter().flat_map(words);
        let measured = found.filter_map(|word| prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)));
        // The counters of tokens share one line of source.
        let usage = "gen_ai.client.inference.usage.";
        let kinds = [
            "input_tokens",
            "output_tokens",
            "cache_read.input_tokens",
            "cache_write.input_tokens",
            "reasoning.output_tokens",
        ];
        let tokens = kinds.map(|kind| format!("{usage}{kind}"));
        let measured: BTreeSet<&str> = measured
            .filter(|name| name.contains('.') && *name != usage)
            .chain(tokens.iter().map(String::as_str))
            .collect();
        assert_eq!(measured, documented().iter().map(|(name, _)| *name).collect());
    }

    /// A sentence in an event would be an attribute `message` of its measurement.
    #[test]
    fn measurements_have_no_attributes_but_those_named() {
        let mut calls = 0;
        for source in SOURCES {
            for call in source.split("measured!(").skip(1) {
                let call = call.split_once(");").map_or(call, |(call, _)| call);
                let call = call.split_once("),\n").map_or(call, |(call, _)| call);
                let is_sentence = |part: &str| part.trim().starts_with('"');
                assert!(!call.split(',').any(is_sentence), "{call}");
                calls += 1;
            }
        }
        assert!(calls > 10, "{calls} measurements were looked at");
    }

    #[test]
    fn dashboards_and_alerts_use_what_is_measured() {
        let exposed: BTreeSet<String> = documented()
            .iter()
            .flat_map(|(name, endings)| endings.iter().map(move |end| name.replace('.', "_") + end))
            .collect();
        let is_measurement = |word: &&str| {
            let known = ["_bucket", "_count", "_total"];
            known.iter().any(|end| word.ends_with(end)) || ["debate_driven", "debate_ready"].contains(word)
        };
        for shown in SHOWN {
            let used: BTreeSet<&str> = words(shown).filter(is_measurement).collect();
            assert!(used.len() >= 6, "{used:?}");
            for name in used {
                assert!(exposed.contains(name), "{name} is not measured");
            }
        }
    }
}
