//! The port for tools that models may ask for (rules D9, T4, I10), and the bounds within which they run. The builder
//! of an engine decides which tools exist and what they can reach.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use debate_core::id::Timestamp;
use serde_json::Value;

/// The longest result of a tool, in bytes; a longer one is cut.
pub const RESULT_BYTES_MAX: usize = 16 * 1024;

/// A tool that models may ask for.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the name by which it is asked for.
    fn name(&self) -> &str;

    /// Returns the JSON schema of its arguments, which is an object's.
    fn arguments(&self) -> &Value;

    /// Does what it is asked; `arguments` is JSON that has what the schema requires, and `as_of` the moment of the
    /// debate's question (rule K19).
    ///
    /// Dropping the future ends the run.
    ///
    /// # Errors
    /// Why it cannot, in words that may be shown to a model: never with a key in them.
    async fn run(&self, arguments: &str, as_of: Timestamp) -> Result<String, String>;
}

/// The tools of one process, each for one format: what serves investigators does not serve a roundtable.
#[derive(Clone, Default)]
pub(crate) struct Tools(BTreeMap<(&'static str, String), Arc<dyn Tool>>);

impl Tools {
    /// Adds a tool, in the place of one of the same name where there is one.
    pub(crate) fn add(&mut self, format: &'static str, tool: Arc<dyn Tool>) {
        self.0.insert((format, tool.name().to_owned()), tool);
    }

    /// Runs a tool; says whether it did what it was asked, and what it found or why it did not.
    pub(crate) async fn run(
        &self,
        format: &'static str,
        name: &str,
        (arguments, as_of): (&str, Timestamp),
        timeout: Duration,
    ) -> (bool, String) {
        let Some(tool) = self.0.get(&(format, name.to_owned())) else {
            let served = self.0.keys().filter(|(served, _)| *served == format).map(|(_, name)| &**name);
            let served = served.collect::<Vec<_>>().join(", ");
            return (false, cut(format!("tool {name} is not served here; what is: {served}")));
        };
        if let Some(why) = misfit(tool.arguments(), arguments) {
            return (false, cut(why));
        }
        match tokio::time::timeout(timeout, tool.run(arguments, as_of)).await {
            Ok(Ok(found)) => (true, cut(found)),
            Ok(Err(why)) => (false, cut(why)),
            Err(_) => (false, format!("no answer within {} s", timeout.as_secs_f64())),
        }
    }
}

/// Says what arguments lack of what a schema requires.
fn misfit(schema: &Value, arguments: &str) -> Option<String> {
    let given: Option<Value> = serde_json::from_str(arguments).ok().filter(Value::is_object);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = match &given {
        Some(given) => required.filter(|name| given.get(name).is_none_or(Value::is_null)).collect(),
        None => return Some(format!("its arguments are no JSON object; it takes {schema}")),
    };
    (!missing.is_empty()).then(|| format!("its arguments lack {}; it takes {schema}", missing.join(", ")))
}

fn cut(mut text: String) -> String {
    if text.len() > RESULT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        text.push_str(&format!("\n… cut at {RESULT_BYTES_MAX} bytes"));
    }
    text
}
