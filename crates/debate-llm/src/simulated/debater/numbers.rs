//! An object of numbers, its keys in a given order.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Names with their numbers.
pub(super) struct Numbers<'a>(pub(super) Vec<(&'a str, f64)>);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, number) in &self.0 {
            map.serialize_entry(name, number)?;
        }
        map.end()
    }
}
