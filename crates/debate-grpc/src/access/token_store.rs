//! The tokens that are valid now: the one of the command line, and those of a file that is read again when it changes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ring::hmac;
use ring::rand::SystemRandom;

use super::grant::Grant;
use crate::reread::{Stamp, Tried};
use crate::tokens::{TokenEntry, TokenFile, TokenFileError};

/// All tokens that are good, and what they are good for.
#[derive(Debug)]
pub(crate) struct TokenStore {
    /// What everybody gets where no token is needed.
    open: Option<Arc<Grant>>,
    service: Option<ServiceToken>,
    file: Option<Mutex<Watched>>,
}

/// The one token of the command line, hashed with a random key that this process alone has.
#[derive(Debug)]
struct ServiceToken {
    key: hmac::Key,
    tag: hmac::Tag,
    grant: Arc<Grant>,
}

/// A file of tokens, and what it was when it was tried last.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    tried: Tried<Option<Stamp>>,
    loaded: Arc<Loaded>,
}

/// Tokens and their grants by id.
#[derive(Debug)]
struct Loaded {
    file: TokenFile,
    grants: HashMap<String, Arc<Grant>>,
}

impl TokenStore {
    /// Makes a store of tokens; without any token, every caller may do everything.
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
                let tried = Tried::used(Stamp::of(path).ok());
                let loaded = Arc::new(Loaded::new(TokenFile::read(path)?, None));
                Some(Mutex::new(Watched { path: path.to_owned(), tried, loaded }))
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
        // Checked in any case, so that revoked tokens end even if no caller brings a valid token.
        let loaded = self.refreshed(false);
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

    /// Returns whether every caller needs a token.
    pub(crate) fn needs_tokens(&self) -> bool {
        self.open.is_none()
    }

    /// Reads the file again if it has changed, or `anew` if it could not be used. What cannot be used leaves things as they
    /// were.
    fn refreshed(&self, anew: bool) -> Option<Arc<Loaded>> {
        let mut watched = self.file.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(&watched.path).ok();
        if watched.tried.is_due(&stamp, anew) {
            match TokenFile::read(&watched.path) {
                Ok(file) => {
                    watched.tried.note(stamp, None);
                    watched.loaded = Arc::new(Loaded::new(file, Some(&watched.loaded)));
                    tracing::info!(tokens = watched.loaded.grants.len(), "tokens were read again");
                }
                Err(error) => {
                    if watched.tried.note(stamp, Some(error.to_string())) {
                        tracing::error!(error = &error as &dyn std::error::Error, "tokens stay as they were");
                    }
                }
            }
        }
        Some(Arc::clone(&watched.loaded))
    }

    /// Looks at the file now, also at one that could not be used; open streams of revoked tokens end.
    pub(crate) fn refresh(&self) {
        self.refreshed(true);
    }

    /// Notes that the file as it is now could not be used, as where the machine failed and not the file.
    #[cfg(test)]
    pub(crate) fn fail(&self) {
        let mut watched = self.file.as_ref().unwrap().lock().unwrap();
        let stamp = Stamp::of(&watched.path).ok();
        watched.tried.note(stamp, Some("too many open files".to_owned()));
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
    use std::time::{Duration, Instant};

    use debate_core::id::Timestamp;
    use serde_json::{Value, json};

    use super::super::grant::now;
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
        let token_store = TokenStore::new(Some("service"), Some(&path)).unwrap();
        let first = token_store.grant(Some(&old)).unwrap();
        assert_eq!(
            (first.name.as_str(), first.may(Scope::Read), first.may(Scope::Write)),
            ("app", true, false)
        );
        assert!(token_store.grant(Some("service")).unwrap().may(Scope::Admin));
        for wrong in [None, Some(""), Some("servicE"), Some(&expired[..])] {
            assert!(token_store.grant(wrong).is_none(), "{wrong:?}");
        }
        let new = create(wishes("app", None));
        assert!(token_store.grant(Some(&new)).is_some());
        assert!(Arc::ptr_eq(&token_store.grant(Some(&old)).unwrap(), &first), "counts go on over a change");
        TokenFile::change(&path, |file| Ok(file.revoke(&old[4..16]))).unwrap();
        assert!(token_store.grant(Some(&old)).is_none() && !first.holds());
        let (hearing, _listening) = Hearing::begin();
        fs::write(&path, "{").unwrap();
        assert!(token_store.grant(Some(&new)).is_some(), "a broken file leaves things as they were");
        assert!(token_store.grant(Some(&old)).is_none());
        let logged = hearing.logged("ERROR", "tokens stay as they were");
        assert!(matches!(&logged[..], [once] if once.contains("is no file of tokens")), "{logged:?}");
    }

    #[test]
    fn a_token_that_is_changed_in_the_file_is_good_for_what_stands_there_now_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let token = TokenFile::change(&path, |file| file.create(wishes("app", None), Timestamp(0))).unwrap();
        let token_store = TokenStore::new(None, Some(&path)).unwrap();
        let reading = token_store.grant(Some(&token)).unwrap();
        let mut file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        file["tokens"][0]["scopes"] = json!(["audit"]);
        fs::write(&path, file.to_string()).unwrap();
        let auditing = token_store.grant(Some(&token)).unwrap();
        assert!(auditing.may(Scope::Audit) && !auditing.may(Scope::Read) && !reading.holds());
        let mut before = auditing;
        for (field, value, is_so) in [
            ("name", json!("another"), (|now| now.name == "another") as fn(&Grant) -> bool),
            ("tenant", json!("theirs"), |now| now.tenant == "theirs"),
            ("formats", json!(["roundtable"]), |now| !now.may_start("prediction")),
            ("limits", json!({"request_bytes_max": 9}), |now| now.request_bytes_max() == 9),
            ("expires_at", json!(i64::MAX), Grant::holds),
        ] {
            file["tokens"][0][field] = value;
            fs::write(&path, file.to_string()).unwrap();
            let now = token_store.grant(Some(&token)).unwrap();
            assert!(is_so(&now) && !before.holds(), "{field}");
            before = now;
        }
        // Its hash stands there still, and is that of no token any more.
        file["key"] = serde_json::to_value(TokenFile::new().unwrap()).unwrap()["key"].take();
        fs::write(&path, format!("{file:#}")).unwrap();
        assert!(token_store.grant(Some(&token)).is_none() && !before.holds());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_behind_links_is_read_again_when_it_or_a_link_to_it_changes() {
        use std::os::unix::fs::symlink;
        // As Kubernetes has the files of a secret, of which a link to their folder is replaced.
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        for version in ["v1", "v2"] {
            fs::create_dir(path(version)).unwrap();
        }
        symlink("v1", path("data")).unwrap();
        symlink("data/tokens.json", path("tokens.json")).unwrap();
        let file = path("v1").join("tokens.json");
        let [first, second] = ["first", "second"].map(|name| {
            TokenFile::change(&file, |file| file.create(wishes(name, None), Timestamp(0))).unwrap()
        });
        let token_store = TokenStore::new(None, Some(&path("tokens.json"))).unwrap();
        let held = [&first, &second].map(|token| token_store.grant(Some(token)).unwrap());
        TokenFile::change(&path("tokens.json"), |file| Ok(file.revoke("first"))).unwrap();
        assert!(token_store.grant(Some(&first)).is_none() && !held[0].holds() && held[1].holds());
        let newer = path("v2").join("tokens.json");
        fs::copy(&file, &newer).unwrap();
        TokenFile::change(&newer, |file| Ok(file.revoke("second"))).unwrap();
        symlink("v2", path("data.new")).unwrap();
        fs::rename(path("data.new"), path("data")).unwrap();
        assert!(token_store.grant(Some(&second)).is_none() && !held[1].holds());
    }

    #[test]
    fn a_token_that_expires_while_the_server_runs_opens_nothing_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let wishes = wishes("app", Some(Timestamp(now().0 + 300)));
        let token = TokenFile::change(&path, |file| file.create(wishes, Timestamp(0))).unwrap();
        let token_store = TokenStore::new(None, Some(&path)).unwrap();
        let begun = Instant::now();
        while token_store.grant(Some(&token)).is_some() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it opens on");
            std::thread::yield_now();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_repaired_token_file_is_read_and_each_fault_logged_once() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        // Clocks of file systems may go by steps of milliseconds.
        let changed = || fs::metadata(&path).map(|about| (about.ctime(), about.ctime_nsec())).unwrap();
        let allow = |mode| {
            let before = changed();
            while changed() == before {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        };
        let create = |name| TokenFile::change(&path, |file| file.create(wishes(name, None), Timestamp(0)));
        let tokens = ["exposed", "broken", "elsewhere", "unread"].map(|name| create(name).unwrap());
        let token_store = TokenStore::new(None, Some(&path)).unwrap();
        let (hearing, _listening) = Hearing::begin();
        let faults = || hearing.logged("ERROR", "tokens stay as they were").len();
        let holds = |token: &str| token_store.grant(Some(token)).is_some();
        let seconds_pass = || (0..3).for_each(|_| token_store.refresh());
        let [exposed, broken, elsewhere, unread] = &tokens;

        TokenFile::change(&path, |file| Ok(file.revoke("exposed"))).unwrap();
        allow(0o664);
        seconds_pass();
        assert_eq!((holds(exposed), faults()), (true, 1), "it is refused");
        assert!(matches!(TokenStore::new(None, Some(&path)), Err(TokenFileError::Exposed { .. })));
        allow(0o600);
        assert!(!holds(exposed), "nothing of it changed but its mode");

        fs::write(&path, "{").unwrap();
        seconds_pass();
        assert_eq!((holds(broken), faults()), (true, 2), "it is refused");
        let mut file = token_store.refreshed(false).unwrap().file.clone();
        file.revoke("broken");
        fs::write(&path, serde_json::to_string(&file).unwrap()).unwrap();
        assert!(!holds(broken));

        // The way to it is gone, and comes back.
        let moved = folder.path().join("moved");
        TokenFile::change(&path, |file| Ok(file.revoke("elsewhere"))).unwrap();
        fs::rename(&path, &moved).unwrap();
        seconds_pass();
        assert_eq!((holds(elsewhere), faults()), (true, 3), "it is refused");
        fs::rename(&moved, &path).unwrap();
        assert!(!holds(elsewhere));

        // What failed was the machine: of the file nothing changes when that is over.
        TokenFile::change(&path, |file| Ok(file.revoke("unread"))).unwrap();
        token_store.fail();
        assert!(holds(unread));
        token_store.refresh();
        assert!(!holds(unread));
        assert_eq!(faults(), 3);
    }

    #[test]
    fn without_tokens_everybody_gets_everything() {
        let token_store = TokenStore::new(None, None).unwrap();
        assert!(token_store.grant(None).unwrap().may(Scope::Admin));
    }

    #[test]
    fn what_is_asked_without_tokens_or_with_the_servers_own_is_counted_together() {
        for token in [None, Some("service")] {
            let token_store = TokenStore::new(token, None).unwrap();
            let [first, next] = [(); 2].map(|()| token_store.grant(token).unwrap());
            assert!(Arc::ptr_eq(&first, &next), "{token:?}");
        }
    }
}
