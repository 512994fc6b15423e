//! The tokens that open the door now: the one of the command line, and those of a file that is read again when it changes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ring::hmac;
use ring::rand::SystemRandom;

use super::grant::Grant;
use crate::reread::Stamp;
use crate::tokens::{TokenEntry, TokenFile, TokenFileError};

/// All tokens that are good, and what they are good for.
#[derive(Debug)]
pub(crate) struct Keyring {
    /// What everybody gets where no token is needed.
    open: Option<Arc<Grant>>,
    service: Option<ServiceToken>,
    file: Option<Mutex<Watched>>,
}

/// The one token of the command line, as a hash under a key that nobody knows.
#[derive(Debug)]
struct ServiceToken {
    key: hmac::Key,
    tag: hmac::Tag,
    grant: Arc<Grant>,
}

/// A file of tokens, and what it was when it was read last.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    stamp: Option<Stamp>,
    loaded: Arc<Loaded>,
}

/// Tokens and their grants by id.
#[derive(Debug)]
struct Loaded {
    file: TokenFile,
    grants: HashMap<String, Arc<Grant>>,
}

impl Keyring {
    /// Makes a keyring; without any token everybody gets everything.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(crate) fn new(service: Option<&str>, file: Option<&Path>) -> Result<Self, TokenFileError> {
        let grant = || Arc::new(Grant::everything());
        let service = match service {
            Some(token) => {
                let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
                let key = key.map_err(|_| TokenFileError::Random)?;
                let tag = hmac::sign(&key, token.as_bytes());
                Some(ServiceToken { key, tag, grant: grant() })
            }
            None => None,
        };
        let file = match file {
            Some(path) => {
                let stamp = Stamp::of(path).ok();
                let loaded = Arc::new(Loaded::new(TokenFile::read(path)?, None));
                Some(Mutex::new(Watched { path: path.to_owned(), stamp, loaded }))
            }
            None => None,
        };
        let open = (service.is_none() && file.is_none()).then(grant);
        Ok(Self { open, service, file })
    }

    /// Returns what a caller is granted who brings this token, or none.
    pub(crate) fn grant(&self, token: Option<&str>) -> Option<Arc<Grant>> {
        if let Some(open) = &self.open {
            return Some(Arc::clone(open));
        }
        // Looked at in any case, so that what is revoked ends even if nobody with a good token comes.
        let loaded = self.refreshed();
        let token = token?;
        if let Some(service) = &self.service
            && hmac::verify(&service.key, token.as_bytes(), service.tag.as_ref()).is_ok()
        {
            return Some(Arc::clone(&service.grant));
        }
        let loaded = loaded?;
        let entry = loaded.file.find(token)?;
        loaded.grants.get(&entry.id).filter(|grant| grant.holds()).cloned()
    }

    /// Returns whether nobody comes in without a token.
    pub(crate) fn needs_tokens(&self) -> bool {
        self.open.is_none()
    }

    /// Reads the file again if it has changed. What cannot be used leaves things as they were.
    fn refreshed(&self) -> Option<Arc<Loaded>> {
        let mut watched = self.file.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(&watched.path).ok();
        if stamp != watched.stamp {
            watched.stamp = stamp;
            match TokenFile::read(&watched.path) {
                Ok(file) => {
                    watched.loaded = Arc::new(Loaded::new(file, Some(&watched.loaded)));
                    tracing::info!(tokens = watched.loaded.grants.len(), "tokens were read again");
                }
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "tokens stay as they were");
                }
            }
        }
        Some(Arc::clone(&watched.loaded))
    }

    /// Looks at the file now; open streams of revoked tokens end.
    pub(crate) fn refresh(&self) {
        self.refreshed();
    }
}

impl Loaded {
    /// Makes grants for the tokens of a file. A token that stays as it was keeps its grant, and with it what is counted;
    /// the grants of all others are revoked.
    fn new(file: TokenFile, before: Option<&Self>) -> Self {
        let kept = |entry: &TokenEntry| {
            let before = before?;
            let same = before.file.entries().iter().any(|old| old == entry);
            before.grants.get(&entry.id).filter(|_| same && before.file.has_key_of(&file)).cloned()
        };
        let grants: HashMap<String, Arc<Grant>> = file
            .entries()
            .iter()
            .map(|entry| (entry.id.clone(), kept(entry).unwrap_or_else(|| Arc::new(Grant::of(entry)))))
            .collect();
        for (id, grant) in before.into_iter().flat_map(|before| &before.grants) {
            if !grants.get(id).is_some_and(|now| Arc::ptr_eq(now, grant)) {
                grant.revoke();
            }
        }
        Self { file, grants }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use debate_core::id::Timestamp;

    use super::*;
    use crate::hearing::Hearing;
    use crate::tokens::{Scope, TokenWishes};

    fn wishes(name: &str, expires_at: Option<Timestamp>) -> TokenWishes {
        let scopes = BTreeSet::from([Scope::Read]);
        TokenWishes { name: name.to_owned(), scopes, expires_at, ..TokenWishes::default() }
    }

    #[test]
    fn tokens_come_and_go_while_the_server_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let create = |wishes| TokenFile::change(&path, |file| file.create(wishes, Timestamp(0))).unwrap();
        let old = create(wishes("app", None));
        let expired = create(wishes("late", Some(Timestamp(1))));
        let keyring = Keyring::new(Some("service"), Some(&path)).unwrap();
        let first = keyring.grant(Some(&old)).unwrap();
        assert_eq!(
            (first.name.as_str(), first.may(Scope::Read), first.may(Scope::Write)),
            ("app", true, false)
        );
        assert!(keyring.grant(Some("service")).unwrap().may(Scope::Admin));
        for wrong in [None, Some(""), Some("servicE"), Some(&expired[..])] {
            assert!(keyring.grant(wrong).is_none(), "{wrong:?}");
        }
        let new = create(wishes("app", None));
        assert!(keyring.grant(Some(&new)).is_some());
        assert!(Arc::ptr_eq(&keyring.grant(Some(&old)).unwrap(), &first), "counts go on over a change");
        TokenFile::change(&path, |file| Ok(file.revoke(&old[4..16]))).unwrap();
        assert!(keyring.grant(Some(&old)).is_none() && !first.holds());
        let (hearing, _listening) = Hearing::begin();
        fs::write(&path, "{").unwrap();
        assert!(keyring.grant(Some(&new)).is_some(), "a broken file leaves things as they were");
        assert!(keyring.grant(Some(&old)).is_none());
        let logged = hearing.logged("ERROR", "tokens stay as they were");
        assert!(matches!(&logged[..], [once] if once.contains("is no file of tokens")), "{logged:?}");
    }

    #[test]
    fn without_tokens_everybody_gets_everything() {
        let keyring = Keyring::new(None, None).unwrap();
        assert!(keyring.grant(None).unwrap().may(Scope::Admin));
    }
}
