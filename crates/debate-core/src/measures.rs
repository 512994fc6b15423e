//! Plain arithmetic over numbers and texts: what the formats measure, each measure in its own file.
//!
//! Nothing here knows an event, reads a clock, draws a number or iterates over a hash. Sums run in the order in which
//! they are given, and logarithms, exponentials and roots come from `libm` alone, so the same log gives the same bytes
//! on every machine (K4).
//!
//! | file | measure | rule |
//! |---|---|---|
//! | [`summary`] | mean, median, range, population standard deviation | |
//! | [`distribution`] | probabilities over outcomes, and their repair | P7, K16 |
//! | [`panel`] | the distributions of several roles over the same outcomes | P7 |
//! | [`scoring`] | composite of an argument's scores, quality thresholds | P5, P6 |
//! | [`consensus`] | agreement of the roles, its direction, disputed outcomes | P8, P9, P13 |
//! | [`pooling`] | one distribution out of many, and the judge's blend | P7, P18 |
//! | [`proper_scores`] | Brier and log score against what happened, uplift | K16 |
//! | [`calibration`] | whether what is given a probability happens as often, and what losses are made of | K16 |
//! | [`bootstrap`] | how far a mean could have come out otherwise | K16 |
//! | [`log_odds`] | moves of opinion, conformity | P17 |
//! | [`similarity`] | overlap of words, or of runs of characters | P11, T5, T6 |
//! | [`negation`] | whether one text denies what another says | T5 |
//! | [`agreement`] | camps among positions, level of agreement, steadiness | T5 |
//! | [`groupthink`] | signs of agreeing too easily | T6 |
//! | [`cross_reference`] | who refers to whom, questions and who takes them up | T11 |
//! | [`shuffle`] | permutations drawn from a seed | P19 |
//! | [`position_change`] | whether a speaker says to have changed their mind | D6 |
//! | [`sentences`] | how many sentences a text has | V3 |
//! | [`intervals`] | mean of a sample with its confidence interval | V7, V8 |
//! | [`disagreements`] | what a consensus text leaves unresolved | D7 |

pub mod agreement;
pub mod bootstrap;
pub mod calibration;
pub mod consensus;
pub mod cross_reference;
pub mod disagreements;
pub mod distribution;
pub mod groupthink;
pub mod intervals;
pub mod log_odds;
pub mod negation;
pub mod panel;
pub mod pooling;
pub mod position_change;
pub mod proper_scores;
pub mod scoring;
pub mod sentences;
pub mod shuffle;
pub mod similarity;
pub mod summary;

/// How far rounding may carry a value from where exact arithmetic would put it.
///
/// Distributions sum to 1 within it (P7), a spread that changed by less is unchanged (P9), and a value this close to
/// a threshold counts as being on it.
pub const TOLERANCE: f64 = 1e-9;
