//! Where something stands in a request.

use super::sizes::PATH_BYTES_MAX;
use super::{WHOLE, cut};

/// The place of a field, such as `agents[2].name`. Of names only the beginning: a place is copied for all that stands below
/// it, and a name may be nearly as long as a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Path(String);

impl Path {
    /// Returns the place of a field of what stands here.
    pub(super) fn field(&self, name: &str) -> Self {
        let Self(whole) = self;
        Self(cut(if whole.is_empty() { name.to_owned() } else { format!("{whole}.{name}") }, PATH_BYTES_MAX))
    }

    /// Returns the place of an entry of the list that stands here.
    pub(super) fn item(&self, place: usize) -> Self {
        Self(format!("{}[{place}]", self.0))
    }

    /// Returns it as a violation names it.
    pub(super) fn as_str(&self) -> &str {
        if self.0.is_empty() { WHOLE } else { &self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k12_paths_are_cut_to_their_maximum_length() {
        let long = "é".repeat(100_000);
        let path = Path::default().field(&long);
        let within = Path::default().field("x").field(&long);
        for path in [path.field("x"), path.item(250_000), path.field(&long), within, path] {
            assert!((490..=520).contains(&path.as_str().len()), "{} bytes", path.as_str().len());
        }
        let path = Path::default();
        assert_eq!((path.as_str(), path.field("a").item(2).field("b").as_str()), (WHOLE, "a[2].b"));
    }
}
