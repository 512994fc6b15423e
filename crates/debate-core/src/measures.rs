//! Plain arithmetic over numbers and texts; no events.
