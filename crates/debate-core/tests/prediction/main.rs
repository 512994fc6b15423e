//! The rules of the prediction debate, shown on whole debates with canned answers.

mod rules;
mod stage;
