//! The floor: tokio and reqwest, no rules, no prompts of its own, and no log unless it is asked for.
//!
//! For each call it puts the debate's number into the recorded prompt, sends it, reads the reply as JSON and keeps it
//! until the debate is over. With a log it goes on when the rows of the reply are on the disk.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use peer_floor::Log;
use peer_harness::{Arguments, CALLS, Plan, Tape, fly, numbered, report, with_number};
use reqwest::Client;
use reqwest::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Body<'a> {
    model: &'static str,
    messages: [Message<'a>; 2],
    stream: bool,
    max_tokens: u32,
    response_format: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Deserialize)]
struct Reply {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "delta")]
    message: Content,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    content: String,
}

struct Floor {
    client: Client,
    endpoint: String,
    tape: Tape,
    plan: Plan,
    stream: bool,
    log: Option<Log>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let floor = Arc::new(Floor {
        client: Client::builder().no_proxy().build()?,
        endpoint: format!("{}/chat/completions", arguments.url),
        tape: Tape::read(&arguments.tape)?,
        plan: Plan::new(arguments.schedule),
        stream: arguments.stream,
        log: arguments
            .log
            .then(|| Log::open(&arguments.tape.with_file_name("log.sqlite"), &arguments.work))
            .transpose()?,
    });
    let debate = move |number| {
        let floor = Arc::clone(&floor);
        async move { floor.debate(number).await }
    };
    report(fly(&arguments, debate).await?, json!({}));
    Ok(())
}

impl Floor {
    async fn debate(&self, number: u32) -> Result<()> {
        let words = numbered(number);
        self.record(number, 0).await?;
        let ask = async |place: usize| {
            let reply = self.ask(place, &words).await?;
            self.record(number, place + 1).await?;
            anyhow::Ok(reply)
        };
        let replies = self.plan.run(ask).await?;
        drop(replies);
        Ok(())
    }

    /// Writes the rows of a step: the start, or a call's reply.
    async fn record(&self, debate: u32, step: usize) -> Result<()> {
        match &self.log {
            Some(log) => log.write(debate, step, CALLS + 1).await,
            None => Ok(()),
        }
    }

    async fn ask(&self, place: usize, number: &str) -> Result<Value> {
        let recorded = self.tape.at(place);
        let user = with_number(&recorded.user, number);
        let body = Body {
            model: "loopback",
            messages: [
                Message { role: "system", content: &recorded.system },
                Message { role: "user", content: &user },
            ],
            stream: self.stream,
            max_tokens: recorded.max_tokens,
            response_format: &recorded.response_format,
        };
        let request = self.client.post(&self.endpoint).header(AUTHORIZATION, "Bearer none").json(&body);
        let response = request.send().await?.error_for_status()?;
        let text = if self.stream { streamed(response).await? } else { whole(response).await? };
        serde_json::from_str(&text).context("the reply is not JSON")
    }
}

async fn whole(response: reqwest::Response) -> Result<String> {
    let reply: Reply = response.json().await?;
    Ok(reply.choices.into_iter().next().context("there is no choice")?.message.content)
}

/// Reads events as they come, whole lines at a time.
async fn streamed(mut response: reqwest::Response) -> Result<String> {
    let (mut text, mut rest) = (String::new(), Vec::new());
    while let Some(chunk) = response.chunk().await? {
        rest.extend_from_slice(&chunk);
        let end = memchr::memrchr(b'\n', &rest).map_or(0, |place| place + 1);
        for line in rest[..end].split(|byte| *byte == b'\n') {
            let Some(data) = line.strip_prefix(b"data: ") else { continue };
            if data == b"[DONE]" {
                return Ok(text);
            }
            let event: Reply = serde_json::from_slice(data).context("the event is not JSON")?;
            text.extend(event.choices.into_iter().map(|choice| choice.message.content));
        }
        rest.drain(..end);
    }
    anyhow::bail!("the stream was cut")
}
