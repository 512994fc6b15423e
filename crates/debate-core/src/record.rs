//! How a set of event kinds turns into stored bodies and back. The kernel's events and every format's facts are
//! such sets; [`records!`](crate::records) writes the dispatch once.

use std::cmp::Ordering;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::prose::Prose;

/// One shape of event: its facts are its serde form, its prose is kept apart.
pub trait Body: Serialize + DeserializeOwned {
    /// The name of the kind, past tense in snake case.
    const KIND: &'static str;
    /// The version of the shape that is written today.
    const VERSION: u16 = 1;
    /// The prose of this kind; `()` where it has none.
    type Prose: Serialize + DeserializeOwned;

    /// Returns the prose, if this event has any left.
    fn prose(&self) -> Option<&Self::Prose> {
        None
    }

    /// Puts prose back that was stored apart.
    fn set_prose(&mut self, prose: Prose<Self::Prose>) {
        let _none = prose;
    }

    /// Reads what was stored in a version below [`VERSION`](Self::VERSION) as an event of today's shape (rule K1).
    ///
    /// `body` and `prose` are the stored bytes, which stay as they are: hashes are over them. Facts must come out the same
    /// whether prose is there or was redacted. A kind that never changed its shape knows no older version.
    ///
    /// # Errors
    /// The version is unknown, or body or prose do not have the shape that it had.
    fn upcast(version: u16, body: &str, prose: Option<&str>) -> Result<Self, RecordError> {
        let _unread = (body, prose);
        Err(RecordError::Version { kind: Self::KIND.to_owned(), version })
    }
}

/// A closed set of event kinds.
pub trait Record: Sized + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Every kind of the set with the version of its shape that is written today, in the order of declaration.
    const KINDS: &'static [(&'static str, u16)];

    /// Returns the stored name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns the version of the shape that is written.
    fn version(&self) -> u16;
    /// Returns the facts as a JSON object.
    fn body(&self) -> String;
    /// Returns the prose as a JSON object, where there is any.
    fn prose(&self) -> Option<String>;
    /// Reads an event back; `None` when the kind is not of this set.
    fn decode(kind: &str, version: u16, body: &str, prose: Option<&str>)
    -> Option<Result<Self, RecordError>>;
}

/// A stored event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The kind is known, this version of it is not.
    #[error("version {version} of {kind} is not known here")]
    Version {
        /// The kind.
        kind: String,
        /// The version found.
        version: u16,
    },
    /// The JSON does not have the shape of its kind.
    #[error("{kind} does not have its shape")]
    Shape {
        /// The kind.
        kind: String,
        /// What does not fit.
        #[source]
        source: serde_json::Error,
    },
}

/// Serialises the facts of an event.
pub fn encode_body<T: Body>(body: &T) -> String {
    serde_json::to_string(body).expect("event bodies have string keys and finite numbers")
}

/// Serialises the prose of an event, where there is any.
pub fn encode_prose<T: Body>(body: &T) -> Option<String> {
    let prose = body.prose()?;
    Some(serde_json::to_string(prose).expect("prose has string keys and finite numbers"))
}

/// Reads one kind of event, of today's version or an older one.
///
/// # Errors
/// The version is unknown, or body or prose do not have the shape of the kind.
pub fn decode_body<T: Body>(version: u16, body: &str, prose: Option<&str>) -> Result<T, RecordError> {
    match version.cmp(&T::VERSION) {
        Ordering::Less => return T::upcast(version, body, prose),
        Ordering::Equal => {}
        Ordering::Greater => return Err(RecordError::Version { kind: T::KIND.to_owned(), version }),
    }
    let shape = |source| RecordError::Shape { kind: T::KIND.to_owned(), source };
    let mut value: T = serde_json::from_str(body).map_err(shape)?;
    if let Some(text) = prose {
        value.set_prose(Prose::new(serde_json::from_str(text).map_err(shape)?));
    }
    Ok(value)
}

/// Declares a closed set of event kinds, each variant wrapping one [`Body`].
#[macro_export]
macro_rules! records {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident($body:ty)),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis enum $name { $($(#[$doc])* $variant($body)),+ }

        impl $crate::record::Record for $name {
            const KINDS: &'static [(&'static str, u16)] = &[
                $((<$body as $crate::record::Body>::KIND, <$body as $crate::record::Body>::VERSION)),+
            ];

            fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => <$body as $crate::record::Body>::KIND),+ }
            }

            fn version(&self) -> u16 {
                match self { $(Self::$variant(_) => <$body as $crate::record::Body>::VERSION),+ }
            }

            fn body(&self) -> String {
                match self { $(Self::$variant(body) => $crate::record::encode_body(body)),+ }
            }

            fn prose(&self) -> Option<String> {
                match self { $(Self::$variant(body) => $crate::record::encode_prose(body)),+ }
            }

            fn decode(
                kind: &str,
                version: u16,
                body: &str,
                prose: Option<&str>,
            ) -> Option<Result<Self, $crate::record::RecordError>> {
                match kind {
                    $(<$body as $crate::record::Body>::KIND => Some(
                        $crate::record::decode_body(version, body, prose).map(Self::$variant),
                    ),)+
                    _ => None,
                }
            }
        }

        $(impl From<$body> for $name {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

/// Gives a struct its kind, and says which field holds its prose.
///
/// A kind whose shape changed names its older shape, which is a [`Body`] of the same kind: `body!(Noted, "noted", older:
/// NotedV1)`. Its version is one above, and what was stored in the older one, or in one before that, becomes one of today's
/// by `From<NotedV1>`.
#[macro_export]
macro_rules! body {
    ($type:ty, $kind:literal $(, older: $older:ty)?) => {
        impl $crate::record::Body for $type {
            const KIND: &'static str = $kind;
            $($crate::body!(@older $older);)?
            type Prose = ();
        }
    };
    ($type:ty, $kind:literal $(, older: $older:ty)?, prose: $prose:ty) => {
        impl $crate::record::Body for $type {
            const KIND: &'static str = $kind;
            $($crate::body!(@older $older);)?
            type Prose = $prose;

            fn prose(&self) -> Option<&$prose> {
                self.prose.shown()
            }

            fn set_prose(&mut self, prose: $crate::prose::Prose<$prose>) {
                self.prose = prose;
            }
        }
    };
    (@older $older:ty) => {
        const VERSION: u16 = <$older as $crate::record::Body>::VERSION + 1;

        fn upcast(
            version: u16,
            body: &str,
            prose: Option<&str>,
        ) -> Result<Self, $crate::record::RecordError> {
            $crate::record::decode_body::<$older>(version, body, prose).map(Self::from)
        }
    };
}
