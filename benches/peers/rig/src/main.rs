//! rig: its OpenAI client with one request for each call, scheduled as soon as it may begin.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use peer_harness::{Arguments, Plan, Tape, fly, numbered, report, with_number};
use rig_core::completion::CompletionRequest;
use rig_core::driver::Model;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire::Chat;
use serde_json::{Value, json};

struct Rig {
    model: Model<Chat>,
    tape: Tape,
    plan: Plan,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let client = OpenAIConfig::new("none").with_base_url(&arguments.url).client();
    let rig = Arc::new(Rig {
        model: client.chat("loopback"),
        tape: Tape::read(&arguments.tape)?,
        plan: Plan::new(arguments.schedule),
    });
    let debate = move |number| {
        let rig = Arc::clone(&rig);
        async move { rig.debate(number).await }
    };
    report(fly(&arguments, debate).await?, json!({ "versions": { "rig-core": "0.44.0" } }));
    Ok(())
}

impl Rig {
    async fn debate(&self, number: u32) -> Result<()> {
        let number = numbered(number);
        let replies = self.plan.run(|place| self.ask(place, &number)).await?;
        drop(replies);
        Ok(())
    }

    async fn ask(&self, place: usize, number: &str) -> Result<Value> {
        let recorded = self.tape.at(place);
        let request = CompletionRequest::new(with_number(&recorded.user, number))
            .preamble(recorded.system.as_str())
            .max_tokens(u64::from(recorded.max_tokens));
        let response = self.model.call(request).await?;
        serde_json::from_str(&response.text()).context("the reply is not JSON")
    }
}
