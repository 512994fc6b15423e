//! TLS from files that are read again when they change: certificates are renewed without a restart.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{CertificateError, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::reread::{Stamp, Tried};
use crate::telemetry;

/// Where certificates are, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and those between it and a root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of clients; with it only clients whose certificate they signed may connect (mutual TLS).
    pub client_authorities: Option<PathBuf>,
}

/// Certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has no PEM of the kind that is needed.
    #[error("cannot read {what} from {}", .path.display())]
    File {
        /// What should be in it.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: pem::Error,
    },
    /// The authorities of clients are of no use.
    #[error("the authorities of clients are of no use")]
    Authorities(#[from] VerifierBuilderError),
    /// Certificate and key are of no use, or not for each other.
    #[error("certificate and key are of no use together")]
    Certificate(#[from] rustls::Error),
}

/// What is shown to clients now.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    now: Mutex<Shown>,
}

#[derive(Debug)]
struct Shown {
    tried: Tried<Vec<Option<Stamp>>>,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// They cannot be used.
    pub(crate) fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let shown = Shown { tried: Tried::used(files.stamps()), config: files.config()? };
        files.tell();
        Ok(Self { files, now: Mutex::new(shown) })
    }

    /// Returns what accepts the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.refreshed(false))
    }

    /// Checks the files now, including those that could not be used, so that what is measured of them is true even if no
    /// client connects.
    pub(crate) fn refresh(&self) {
        self.refreshed(true);
    }

    /// Reads the files again if they have changed, or `anew` if they could not be used. What cannot be used leaves things
    /// as they were.
    fn refreshed(&self, anew: bool) -> Arc<ServerConfig> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.files.stamps();
        if now.tried.is_due(&stamps, anew) {
            match self.files.config() {
                Ok(config) => {
                    now.tried.note(stamps, None);
                    now.config = config;
                    self.files.tell();
                    tracing::info!("certificates were read again");
                }
                Err(error) => {
                    if now.tried.note(stamps, Some(error.to_string())) {
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            "certificates stay as they were"
                        );
                    }
                }
            }
        }
        Arc::clone(&now.config)
    }
}

/// Returns whether everybody on the machine may read a file.
#[cfg(unix)]
fn is_everybodys(about: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o004 != 0
}

#[cfg(not(unix))]
fn is_everybodys(_: &Metadata) -> bool {
    false
}

/// The last second that certificates can name, that of year 9999, in seconds since 1970.
const LAST_SECOND: u64 = 253_402_300_799;

impl TlsFiles {
    /// Checks that the files can be used together; returns when the first certificate of the server's chain runs out,
    /// nothing where none ever does.
    ///
    /// # Errors
    /// They cannot be used.
    pub fn expiry(&self) -> Result<Option<SystemTime>, TlsError> {
        self.config()?;
        let mut first: Option<SystemTime> = None;
        for certificate in certificates(&self.certificate, "a certificate")? {
            let ends = ends(&certificate)?;
            first = first.into_iter().chain(ends).min();
        }
        Ok(first)
    }

    /// Tells when the first certificate of the server's chain runs out, where one does, and that others can read the key.
    fn tell(&self) {
        if std::fs::metadata(&self.key).is_ok_and(|about| is_everybodys(&about)) {
            let key = self.key.display();
            tracing::warn!(%key, "everybody on this machine can read the private key; use chmod o-r");
        }
        if let Ok(Some(ends)) = self.expiry() {
            telemetry::certificate_expires(ends);
        }
    }

    fn stamps(&self) -> Vec<Option<Stamp>> {
        let files = [Some(&self.certificate), Some(&self.key), self.client_authorities.as_ref()];
        files.into_iter().flatten().map(|path| Stamp::of(path).ok()).collect()
    }

    fn config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let certificates = certificates(&self.certificate, "a certificate")?;
        // Of a chain the library itself reads the first one alone.
        certificates.iter().try_for_each(|certificate| ParsedCertificate::try_from(certificate).map(drop))?;
        let unreadable = |source| TlsError::File { what: "a private key", path: self.key.clone(), source };
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(unreadable)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match &self.client_authorities {
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for authority in self::certificates(path, "a certificate of an authority")? {
                    roots.add(authority)?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build()?;
                builder.with_client_cert_verifier(verifier)
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Returns when a certificate runs out: at the end of time the verifier says that it has, and when.
fn ends(certificate: &CertificateDer<'_>) -> Result<Option<SystemTime>, rustls::Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    let at = UnixTime::since_unix_epoch(Duration::from_secs(LAST_SECOND));
    let roots = RootCertStore::empty();
    match verify_server_cert_signed_by_trust_anchor(&parsed, &roots, &[], at, algorithms.all) {
        Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(not_after.as_secs())))
        }
        Ok(()) | Err(_) => Ok(None),
    }
}

fn certificates(path: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |source| TlsError::File { what, path: path.to_owned(), source };
    let found = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    if found.is_empty() { Err(unreadable(pem::Error::NoItemsFound)) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::hearing::Hearing;

    #[cfg(unix)]
    #[test]
    fn repaired_certificates_are_read_and_each_fault_logged_once() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let files =
            TlsFiles { certificate: path("chain.pem"), key: path("key.pem"), client_authorities: None };
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = made.signing_key.serialize_pem();
        fs::write(&files.certificate, made.cert.pem()).unwrap();
        fs::write(&files.key, &key).unwrap();
        let about = || fs::metadata(path("key.pem")).unwrap();
        let modified = about().modified().unwrap();
        // As long as before and as old; clocks of file systems may go by steps of milliseconds.
        let write = |text: &str| {
            let before = (about().ctime(), about().ctime_nsec());
            while (about().ctime(), about().ctime_nsec()) == before {
                fs::write(path("key.pem"), text).unwrap();
                fs::File::options()
                    .write(true)
                    .open(path("key.pem"))
                    .unwrap()
                    .set_modified(modified)
                    .unwrap();
            }
        };
        let tls = Tls::new(files).unwrap();
        let (hearing, _listening) = Hearing::begin();
        let faults = || hearing.logged("ERROR", "certificates stay as they were").len();
        let shown = || tls.refreshed(false);

        let first = shown();
        write(&"x".repeat(key.len()));
        (0..3).for_each(|_| tls.refresh());
        assert!(Arc::ptr_eq(&shown(), &first));
        write(&key);
        let second = shown();
        assert!(!Arc::ptr_eq(&second, &first), "they are mended");

        // What failed was the machine: of the files nothing changes when that is over.
        let failure = Some("too many open files".to_owned());
        tls.now.lock().unwrap().tried.note(tls.files.stamps(), failure);
        assert!(Arc::ptr_eq(&shown(), &second));
        tls.refresh();
        assert!(!Arc::ptr_eq(&shown(), &second));
        assert_eq!(faults(), 1);
    }
}
