//! What the server measures, heard on the thread of a test.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;

use crate::house::PATIENCE;

/// Measurements so far, each as its fields with a space between: `NAME=VALUE …`, times without their values.
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

    /// Waits until a measurement was told so many times.
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

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push(format!("{}={value:?}", field.name()));
    }
}

impl tracing::Subscriber for Hearing {
    fn enabled(&self, about: &tracing::Metadata<'_>) -> bool {
        about.target() == "debate_grpc::metrics"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.heard.lock().unwrap().push(fields.0.join(" "));
        self.more.notify_waiters();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
