//! What the server measures and logs, heard on the thread of a test.

#![allow(dead_code, reason = "the library's own tests use another part of it than those of the served")]

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;

/// Longer than anything here takes; reached only if what a test waits for never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was recorded so far, each as its fields with a space between: measurements as `NAME=VALUE …`, times without their
/// values; lines of the log as `LEVEL message=… NAME=VALUE …`, errors with all their causes.
#[derive(Clone, Default)]
pub(crate) struct Hearing {
    heard: Arc<Mutex<Vec<String>>>,
    more: Arc<Notify>,
}

impl Hearing {
    pub(crate) fn begin() -> (Self, DefaultGuard) {
        let hearing = Self::default();
        (hearing.clone(), tracing::subscriber::set_default(hearing))
    }

    /// Waits until a measurement was recorded so many times.
    pub(crate) async fn wait(&self, measurement: &str, times: usize) {
        let enough = async {
            loop {
                let more = self.more.notified();
                if self.heard.lock().unwrap().iter().filter(|heard| *heard == measurement).count() >= times {
                    return;
                }
                more.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, enough).await;
        assert!(waited.is_ok(), "{measurement} is not among {:?}", self.heard.lock().unwrap());
    }

    /// Returns the lines of the log so far that begin with a level and a message.
    pub(crate) fn logged(&self, level: &str, message: &str) -> Vec<String> {
        let begin = format!("{level} message={message}");
        self.heard.lock().unwrap().iter().filter(|heard| heard.starts_with(&begin)).cloned().collect()
    }
}

#[derive(Default)]
struct Fields(Vec<String>);

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, _: f64) {
        self.0.push(field.name().to_owned());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push(format!("{}={value}", field.name()));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let causes = std::iter::successors(Some(value), |error| (*error).source()).map(ToString::to_string);
        self.0.push(format!("{}={}", field.name(), causes.collect::<Vec<_>>().join(": ")));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push(format!("{}={value:?}", field.name()));
    }
}

impl tracing::Subscriber for Hearing {
    fn enabled(&self, about: &tracing::Metadata<'_>) -> bool {
        !about.is_span() && about.target().starts_with("debate_grpc::")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let about = event.metadata();
        let mut fields = Fields::default();
        if about.target() != "debate_grpc::metrics" {
            fields.0.push(about.level().to_string());
        }
        event.record(&mut fields);
        self.heard.lock().unwrap().push(fields.0.join(" "));
        self.more.notify_waiters();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
