//! What past review debates say about the prompts of reviewers, and proposals to change them (rules V7, V8). A proposal
//! is a text for a person: this module does not write it anywhere, and no prompt changes because of it.

pub mod event;
pub mod insights;
pub mod proposal_log;
pub mod system_prompt;
