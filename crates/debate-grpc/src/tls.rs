//! TLS from files that are read again when they change: certificates are renewed without a restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{CertificateError, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::reread::Stamp;
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
    stamps: Vec<Option<Stamp>>,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// They cannot be used.
    pub(crate) fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let shown = Shown { stamps: files.stamps(), config: files.config()? };
        files.tell_expiry();
        Ok(Self { files, now: Mutex::new(shown) })
    }

    /// Returns what accepts the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.refreshed())
    }

    /// Looks at the files now, so that what is measured of them is true even if nobody connects.
    pub(crate) fn refresh(&self) {
        self.refreshed();
    }

    /// Reads the files again if they have changed. What cannot be used leaves things as they were.
    fn refreshed(&self) -> Arc<ServerConfig> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.files.stamps();
        if stamps != now.stamps {
            now.stamps = stamps;
            match self.files.config() {
                Ok(config) => {
                    now.config = config;
                    self.files.tell_expiry();
                    tracing::info!("certificates were read again");
                }
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "certificates stay as they were"
                    );
                }
            }
        }
        Arc::clone(&now.config)
    }
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

    /// Tells when the first certificate of the server's chain runs out, where one does.
    fn tell_expiry(&self) {
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
