//! Ed25519 keys as transparency logs write them: `NAME+HEX+BASE64` for verifiers, with the prefix `PRIVATE+KEY+` for
//! signers.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

/// The kind of signature: Ed25519 over the text of a note.
const ED25519_KIND: u8 = 1;
const PRIVATE: &str = "PRIVATE+KEY+";

/// Tells keys of one name apart: the first four bytes of a hash over name and key.
pub type KeyId = [u8; 4];

/// A text is not a key, or a name cannot be that of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A key's name is empty, or has white space, control characters or `+` in it.
    #[error("`{0}` cannot be a key's name: it may not be empty nor have white space or + in it")]
    Name(String),
    /// It is not made of name, id and key.
    #[error("a key is written NAME+ID+KEY")]
    Form,
    /// The private key was given where the public one belongs.
    #[error("this is a private key; give the public one")]
    Private,
    /// The public key was given where the private one belongs.
    #[error("this is not a private key")]
    Public,
    /// The key's id is not that of its name and bytes: something in it was mistyped.
    #[error("the key's id does not match its name and bytes")]
    Id,
    /// The last part is not an Ed25519 key.
    #[error("this is not an Ed25519 key")]
    Bytes,
}

/// Signs notes. Anyone who has the key can sign anything, so keep it where the store's administrators have no access.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    verifier: VerifierKey,
}

/// Checks signatures of one key. It is not a secret, but a verifier must get it from a source it trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    key: [u8; 32],
}

impl SigningKey {
    /// Makes a key from a name and thirty-two random bytes, handed in by the caller.
    ///
    /// # Errors
    /// [`KeyError::Name`] where the name cannot be one.
    pub fn new(name: &str, seed: [u8; 32]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| KeyError::Bytes)?;
        let key = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Bytes)?;
        let verifier = VerifierKey::new(name, key)?;
        Ok(Self { seed, pair, verifier })
    }

    /// Returns the key as a secret text that [`str::parse`] reads back.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let VerifierKey { name, .. } = &self.verifier;
        format!("{PRIVATE}{name}+{}+{}", hex::encode(self.verifier.id()), encoded(&self.seed))
    }

    /// Returns what checks this key's signatures.
    #[must_use]
    pub fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    /// Returns the sixty-four bytes of a signature.
    pub(crate) fn sign(&self, text: &str) -> Vec<u8> {
        self.pair.sign(text.as_bytes()).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("verifier", &self.verifier).finish_non_exhaustive()
    }
}

impl FromStr for SigningKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let rest = text.strip_prefix(PRIVATE).ok_or(KeyError::Public)?;
        let (name, id, seed) = parts(rest)?;
        let key = Self::new(name, seed)?;
        if hex::encode(key.verifier.id()) == id { Ok(key) } else { Err(KeyError::Id) }
    }
}

impl VerifierKey {
    fn new(name: &str, key: [u8; 32]) -> Result<Self, KeyError> {
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if name.is_empty() || name.contains(is_bad) {
            return Err(KeyError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), key })
    }

    /// Returns the key's name, which is also that of the log it signs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the key's id.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let hash = Sha256::new()
            .chain_update(self.name.as_bytes())
            .chain_update([b'\n', ED25519_KIND])
            .chain_update(self.key)
            .finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// Returns whether a signature over a text is this key's.
    pub(crate) fn has_signed(&self, text: &str, signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.key).verify(text.as_bytes(), signature).is_ok()
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.name, hex::encode(self.id()), encoded(&self.key))
    }
}

impl FromStr for VerifierKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        if text.starts_with(PRIVATE) {
            return Err(KeyError::Private);
        }
        let (name, id, key) = parts(text)?;
        let key = Self::new(name, key)?;
        if hex::encode(key.id()) == id { Ok(key) } else { Err(KeyError::Id) }
    }
}

/// Splits a key into name, id and bytes. The last part may have a + in it.
fn parts(text: &str) -> Result<(&str, &str, [u8; 32]), KeyError> {
    let (name, rest) = text.split_once('+').ok_or(KeyError::Form)?;
    let (id, key) = rest.split_once('+').ok_or(KeyError::Form)?;
    match STANDARD.decode(key).map_err(|_| KeyError::Bytes)?.split_first() {
        Some((&ED25519_KIND, key)) => Ok((name, id, key.try_into().map_err(|_| KeyError::Bytes)?)),
        Some(_) | None => Err(KeyError::Bytes),
    }
}

fn encoded(key: &[u8; 32]) -> String {
    STANDARD.encode([&[ED25519_KIND], key.as_slice()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_and_the_secret_does_not_show() {
        let key = SigningKey::new("debates.example.org", [7; 32]).unwrap();
        let read: SigningKey = key.secret_text().parse().unwrap();
        assert_eq!(read.verifier(), key.verifier());
        assert_eq!(key.verifier().to_string().parse().as_ref(), Ok(key.verifier()));
        assert!(!format!("{key:?}").contains("7, 7"));
    }

    #[test]
    fn the_seeds_public_key_is_that_of_rfc_8032() {
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let key = SigningKey::new("a", hex::decode(seed).unwrap().try_into().unwrap()).unwrap();
        assert_eq!(hex::encode(key.verifier().key), public);
    }

    #[test]
    fn a_key_of_another_project_is_read() {
        // The checksum database of Go modules.
        let text = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
        assert_eq!(text.parse::<VerifierKey>().unwrap().to_string(), text);
    }

    #[test]
    fn whatever_else_is_refused_with_its_reason() {
        let key = SigningKey::new("a", [7; 32]).unwrap();
        let (public, secret) = (key.verifier().to_string(), key.secret_text());
        let public_error = |text: &str| text.parse::<VerifierKey>().unwrap_err();
        assert_eq!(public_error(&secret), KeyError::Private);
        assert_eq!(public_error("a"), KeyError::Form);
        assert_eq!(public_error("a+00"), KeyError::Form);
        assert_eq!(public_error("a+00000000+AQ=="), KeyError::Bytes);
        assert_eq!(public_error(&public.replacen('a', "b", 1)), KeyError::Id);
        assert_eq!(public_error(&public.replacen('a', "a b", 1)), KeyError::Name("a b".to_owned()));
        assert_eq!(public.parse::<SigningKey>().unwrap_err(), KeyError::Public);
        assert_eq!(secret.replace("+KEY+a", "+KEY+b").parse::<SigningKey>().unwrap_err(), KeyError::Id);
        for name in ["", "a+b", "a b", "a\n"] {
            assert_eq!(SigningKey::new(name, [7; 32]).unwrap_err(), KeyError::Name(name.to_owned()));
        }
    }
}
