//! The kernel driven through its public interface: scenarios as tables, for both formats.

mod deliberation;
mod envelopes;
mod golden;
mod kernel;
mod playing;
mod scenario;
