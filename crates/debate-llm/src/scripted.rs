//! A model that gives scripted replies, for tests that need one exact conversation.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ModelErrorKind, speech};

/// What a scripted model does when it is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedAnswer {
    /// Streams the reply's text and ends well.
    Reply(Box<ChatReply>),
    /// Streams the text as far as there is one, then fails.
    Fail {
        /// What is streamed before the failure.
        after: String,
        /// The failure.
        error: ModelError,
    },
    /// Says nothing until the caller gives up or the request's time is over.
    Hang,
}

impl From<&str> for ScriptedAnswer {
    fn from(text: &str) -> Self {
        Self::Reply(Box::new(ChatReply::new("scripted", text)))
    }
}

impl From<String> for ScriptedAnswer {
    fn from(text: String) -> Self {
        Self::Reply(Box::new(ChatReply::new("scripted", text)))
    }
}

impl From<ChatReply> for ScriptedAnswer {
    fn from(reply: ChatReply) -> Self {
        Self::Reply(Box::new(reply))
    }
}

impl From<ModelError> for ScriptedAnswer {
    fn from(error: ModelError) -> Self {
        Self::Fail { after: String::new(), error }
    }
}

type Script = Box<dyn Fn(&ChatRequest) -> ScriptedAnswer + Send + Sync>;

/// A model that follows a script and remembers what it was asked.
pub struct ScriptedModel {
    script: Script,
    chunk_bytes: usize,
    asked: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    /// Answers every request with what `script` makes of it.
    pub fn by<A: Into<ScriptedAnswer>>(script: impl Fn(&ChatRequest) -> A + Send + Sync + 'static) -> Self {
        Self {
            script: Box::new(move |request| script(request).into()),
            chunk_bytes: usize::MAX,
            asked: Mutex::default(),
        }
    }

    /// Gives the answers one after another, whatever is asked; after the last one every call is a `BadRequest`.
    pub fn in_order<A: Into<ScriptedAnswer>>(answers: impl IntoIterator<Item = A>) -> Self {
        let rest: Mutex<VecDeque<ScriptedAnswer>> = Mutex::new(answers.into_iter().map(Into::into).collect());
        Self::by(move |_| {
            let next = rest.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| off_script("the script is at its end"))
        })
    }

    /// Answers by [`ChatRequest::prompt_digest`]; any other request is a `BadRequest`.
    pub fn by_digest<A: Into<ScriptedAnswer>>(answers: impl IntoIterator<Item = ([u8; 32], A)>) -> Self {
        let answers: HashMap<[u8; 32], ScriptedAnswer> =
            answers.into_iter().map(|(digest, answer)| (digest, answer.into())).collect();
        Self::by(move |request| {
            let answer = answers.get(&request.prompt_digest()).cloned();
            answer.unwrap_or_else(|| off_script("the script does not know this prompt"))
        })
    }

    /// Streams texts in pieces of about `chunk_bytes` bytes instead of whole.
    #[must_use]
    pub fn in_chunks_of(self, chunk_bytes: usize) -> Self {
        Self { chunk_bytes, ..self }
    }

    /// Returns all requests so far, in the order in which they came.
    pub fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel").finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        match (self.script)(request) {
            ScriptedAnswer::Reply(reply) => {
                speech::say(&reply.text, self.chunk_bytes, chunks);
                Ok(*reply)
            }
            ScriptedAnswer::Fail { after, error } => {
                speech::say(&after, self.chunk_bytes, chunks);
                Err(error)
            }
            ScriptedAnswer::Hang => Err(hang(request.time.total.unwrap_or(request.time.first_token)).await),
        }
    }
}

/// Waits for the whole time of a request and gives the error that a real call ends with.
async fn hang(timeout: Duration) -> ModelError {
    tokio::time::sleep(timeout).await;
    ModelError::new(ModelErrorKind::Timeout(crate::TimeoutStage::Total), "no answer in time")
}

fn off_script(message: &str) -> ScriptedAnswer {
    ModelError::new(ModelErrorKind::BadRequest, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    fn request(content: &str) -> ChatRequest {
        ChatRequest::new(vec![Message::user(content)], 10, Duration::from_secs(5))
    }

    async fn ask(model: &ScriptedModel, content: &str) -> (Result<String, String>, Vec<String>) {
        let mut pieces = Vec::new();
        let mut sink = |delta: &str| pieces.push(delta.to_owned());
        let reply = model.complete(&request(content), &mut sink).await;
        (reply.map(|reply| reply.text).map_err(|error| error.to_string()), pieces)
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_is_followed_and_what_was_asked_is_kept() {
        let refused = ModelError::new(ModelErrorKind::Refused, "no");
        let fail = ScriptedAnswer::Fail { after: "wh".to_owned(), error: refused };
        let model = ScriptedModel::in_order(["one".into(), fail, ScriptedAnswer::Hang]).in_chunks_of(2);
        assert_eq!(ask(&model, "a").await, (Ok("one".to_owned()), vec!["on".to_owned(), "e".to_owned()]));
        assert_eq!(ask(&model, "b").await, (Err("refused: no".to_owned()), vec!["wh".to_owned()]));
        assert_eq!(ask(&model, "c").await.0, Err("timeout_total: no answer in time".to_owned()));
        assert_eq!(ask(&model, "d").await.0, Err("bad_request: the script is at its end".to_owned()));
        assert_eq!(model.asked(), ["a", "b", "c", "d"].map(request));
    }

    #[tokio::test]
    async fn a_script_by_digest_knows_its_prompts_alone() {
        let model = ScriptedModel::by_digest([(request("a").prompt_digest(), "A")]);
        assert_eq!(ask(&model, "a").await.0, Ok("A".to_owned()));
        assert!(ask(&model, "b").await.0.is_err());
    }
}
