//! The chat model port and what stands behind it: models over HTTP, governed by the limits of their providers, a
//! scripted model, a simulated one.
//!
//! A [`ChatModel`] takes one [`ChatRequest`] and gives one [`ChatReply`] or a typed [`ModelError`]. Retries of the
//! wire end here (K5); retries of the question are the caller's. The crate knows no debates: it never reads what a
//! message says, except in [`simulated`], where a [`simulated::Mind`] makes up the answer.

#[cfg(feature = "http")]
mod anthropic;
mod breaker;
mod call_time;
pub mod chat;
mod effort;
mod ending;
pub mod fair_semaphore;
#[cfg(feature = "testing")]
pub mod fake;
#[cfg(feature = "http")]
mod gemini;
#[cfg(feature = "http")]
pub mod governed;
#[cfg(feature = "http")]
pub mod http;
pub mod model_error;
mod models;
#[cfg(feature = "http")]
mod openai;
mod place;
#[cfg(feature = "http")]
mod provider;
mod reply_schema;
pub mod scripted;
pub mod simulated;
mod speech;
#[cfg(feature = "http")]
mod telemetry;
mod thinks;
mod web_source;
mod window;

pub use call_time::CallTime;
pub use chat::{ChatModel, ChatReply, ChatRequest, ChunkSink, Message, Role, ToolCall, ToolSpec, Usage};
pub use effort::Effort;
pub use ending::Ending;
#[cfg(feature = "http")]
pub use governed::{BreakerPolicy, Gate, Governed, ProviderLimits, ProviderLimitsError};
#[cfg(feature = "http")]
pub use http::{ApiKey, ConfigError, HttpConfig, HttpModel};
pub use model_error::{ModelError, ModelErrorKind, TimeoutStage};
pub use models::Models;
pub use place::Place;
#[cfg(feature = "http")]
pub use provider::Provider;
pub use reply_schema::ReplySchema;
pub use scripted::{ScriptedAnswer, ScriptedModel};
pub use simulated::{Debater, SimulatedConfig, SimulatedModel, debater};
pub use thinks::Thinks;
pub use web_source::WebSource;
pub use window::Window;
