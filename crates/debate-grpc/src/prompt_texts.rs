//! The texts of prompts as gRPC and REST return them (rule P24).

use debate_core::id::Digest;
use debate_engine::prompt_catalog::{self, Text};
use debate_proto::v1;

use crate::refusal::Refusal;

/// Returns the texts that this process uses, ordered by name.
pub(crate) fn list() -> v1::ListPromptsResponse {
    v1::ListPromptsResponse { prompts: prompt_catalog::all().iter().map(described).collect() }
}

/// Returns a text by its name, with or without the version.
pub(crate) fn get(name: &str) -> Result<v1::GetPromptResponse, Refusal> {
    let text = prompt_catalog::find(name).ok_or_else(|| Refusal::NoPrompt(name.to_owned()))?;
    Ok(v1::GetPromptResponse { prompt: Some(described(&text)), text: text.text.to_owned() })
}

fn described(text: &Text) -> v1::Prompt {
    v1::Prompt {
        name: text.name.to_owned(),
        digest: Digest::of_text(text.text).to_string(),
        replaced: text.is_replaced,
    }
}
