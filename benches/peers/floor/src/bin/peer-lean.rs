//! The lean floor: bare hyper connections, bodies built once, every byte of a reply read once, one thread.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use peer_harness::{Arguments, CALLS, NUMBER, Plan, Tape, fly, numbered, report};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpStream;

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Content<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// A request's body, and where the number of the debate stands in it.
struct Body {
    text: String,
    number: usize,
}

struct Lean {
    host: String,
    path: String,
    bodies: Vec<Body>,
    plan: Plan,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let address = arguments.url.strip_prefix("http://").context("the address begins with http://")?;
    let (host, path) = address.split_once('/').context("the address has a path")?;
    let tape = Tape::read(&arguments.tape)?;
    let lean = Arc::new(Lean {
        host: host.to_owned(),
        path: format!("/{path}/chat/completions"),
        bodies: (0..CALLS).map(|place| body(&tape, place)).collect::<Result<_>>()?,
        plan: Plan::new(arguments.schedule),
        idle: Mutex::default(),
    });
    let debate = move |number| {
        let lean = Arc::clone(&lean);
        async move { lean.debate(number).await }
    };
    report(fly(&arguments, debate).await?, json!({}));
    Ok(())
}

fn body(tape: &Tape, place: usize) -> Result<Body> {
    let recorded = tape.at(place);
    let text = json!({
        "model": "loopback",
        "messages": [
            { "role": "system", "content": recorded.system },
            { "role": "user", "content": recorded.user },
        ],
        "stream": false,
        "max_tokens": recorded.max_tokens,
        "response_format": recorded.response_format,
    })
    .to_string();
    let number = text.find(NUMBER).context("the prompt has no number")?;
    Ok(Body { text, number })
}

impl Lean {
    async fn debate(&self, number: u32) -> Result<()> {
        let number = numbered(number);
        let replies = self.plan.run(|place| self.ask(place, &number)).await?;
        drop(replies);
        Ok(())
    }

    async fn ask(&self, place: usize, number: &str) -> Result<String> {
        let body = &self.bodies[place];
        let mut text = body.text.clone().into_bytes();
        text[body.number..body.number + number.len()].copy_from_slice(number.as_bytes());
        let request = Request::post(&self.path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, "Bearer none")
            .body(Full::new(Bytes::from(text)))?;
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let response = connection.send_request(request).await?;
        ensure!(response.status().is_success(), "the server said {}", response.status());
        let bytes = response.into_body().collect().await?.to_bytes();
        self.idle().push(connection);
        let reply: Reply<'_> = serde_json::from_slice(&bytes).context("the reply is not JSON")?;
        let choice = reply.choices.into_iter().next().context("there is no choice")?;
        Ok(choice.message.content.into_owned())
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SendRequest<Full<Bytes>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(&self.host).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        sender.ready().await?;
        Ok(sender)
    }
}
