//! How events are stored: every kind both ways, versions, the hash chain (rules K1, K15).
