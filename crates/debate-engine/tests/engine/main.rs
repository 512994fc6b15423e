//! What the engine promises, on whole debates with a simulated model and real stores.

mod bench_of_one;
mod life;
mod watching;
