//! More rounds of a debate that has concluded, as people ask for them (rule K17): every interface reads them here.

use serde_json::Value;

use super::sizes::{FOCUS_CHARS_MAX, ROUNDS_ADDED};
use super::{Complaints, Fields, Violations};

/// How many rounds are added unless a request says otherwise.
pub const ROUNDS_ADDED_DEFAULT: u32 = 1;

/// More rounds of a debate that has concluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedRounds {
    /// How many, in [`ROUNDS_ADDED`]; whether the debate takes so many is for the debate to say.
    pub rounds: u32,
    /// The question that they are to deal with, where the topic alone does not say it.
    pub focus: Option<String>,
}

impl AddedRounds {
    /// Reads `rounds` and `focus`, both optional; no text at all asks for the default.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn read(json: &str) -> Result<Self, Violations> {
        let json = if json.trim().is_empty() { "{}" } else { json };
        super::parse(json, Complaints::default(), Self::noting)
    }

    /// Reads the same of JSON that was parsed.
    ///
    /// # Errors
    /// As [`AddedRounds::read`].
    pub fn accept(request: &Value) -> Result<Self, Violations> {
        Self::noting(request, Complaints::default())
    }

    fn noting(request: &Value, complaints: Complaints) -> Result<Self, Violations> {
        let fields = Fields::of_request(request, &["rounds", "focus"], &complaints);
        let rounds = fields.field("rounds").whole(ROUNDS_ADDED).and_then(|rounds| u32::try_from(rounds).ok());
        let focus = fields.field("focus").words(FOCUS_CHARS_MAX).map(str::to_owned);
        complaints.finish(Self { rounds: rounds.unwrap_or(ROUNDS_ADDED_DEFAULT), focus })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k17_rounds_are_added_by_the_number_and_with_a_question() {
        let one = AddedRounds { rounds: 1, focus: None };
        assert_eq!(AddedRounds::read(" ").as_ref(), Ok(&one));
        assert_eq!(AddedRounds::read(r#"{"rounds": null}"#), Ok(one));
        let asked = AddedRounds::read(r#"{"rounds": 2.0, "focus": "Who pays?"}"#);
        assert_eq!(asked, Ok(AddedRounds { rounds: 2, focus: Some("Who pays?".to_owned()) }));
    }

    #[test]
    fn k12_everything_that_is_wrong_with_added_rounds_is_named() {
        let long = format!(r#"{{"rounds": 11, "focus": "{}", "mode": "delphi"}}"#, "x".repeat(2_001));
        let said = |json: &str| {
            AddedRounds::read(json).unwrap_err().0.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            said(&long),
            [
                "mode: is not a field of this request",
                "rounds: must be a whole number from 1 to 10",
                "focus: has 2001 characters; 2000 are allowed",
            ]
        );
        assert_eq!(said(r#"{"rounds": 0, "focus": " "}"#).len(), 2);
        assert_eq!(said("[]"), ["request: must be an object"]);
        assert_eq!(said("{").len(), 1);
    }
}
