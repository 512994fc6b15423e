//! Whether this machine lets a server run: open files, and the files of TLS.

use std::ffi::OsString;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use debate_core::id::Timestamp;
use debate_grpc::tls::{TlsError, TlsFiles};

use super::{Check, Verdict};
use crate::commands::Command;
use crate::config;
use crate::exit;
use crate::handles;
use crate::page::thousands;

const HANDLES: &str = "files";
const TLS: &str = "tls";
const CONFIG: &str = "config";

/// Fewer open files and connections than this are few for a server.
const HANDLES_MIN: u64 = 4_096;
/// How long before its end a certificate is worth a warning.
const RENEWAL: Duration = Duration::from_secs(14 * 24 * 3600);

/// Checks what a server needs of the machine.
pub(super) fn check() -> Vec<Check> {
    let mut checks = vec![handles(handles::most())];
    let argv: Vec<OsString> = std::env::args_os().collect();
    let files = config::of_server(None, &argv)
        .and_then(|(args, _)| if let Command::Serve(serve) = &args.command { serve.tls() } else { Ok(None) });
    match files {
        Ok(Some(files)) => checks.push(certificate(&files, files.expiry(), SystemTime::now())),
        Ok(None) => {}
        Err(error) => checks.push(Check::new(CONFIG, Verdict::Fail, exit::one_line(&error))),
    }
    checks
}

fn handles(most: Option<u64>) -> Check {
    match most {
        Some(most) if most < HANDLES_MIN => {
            let text = format!("{} files and connections may be open at once", thousands(most));
            Check::new(HANDLES, Verdict::Warn, text).remedy("raise the limit: LimitNOFILE=, or ulimit -Hn")
        }
        Some(most) => {
            let text = format!("{} files and connections may be open at once", thousands(most));
            Check::new(HANDLES, Verdict::Ok, text)
        }
        None => Check::new(HANDLES, Verdict::Ok, "any number of files and connections may be open"),
    }
}

fn certificate(files: &TlsFiles, expiry: Result<Option<SystemTime>, TlsError>, now: SystemTime) -> Check {
    let shown = files.certificate.display();
    let ends = match expiry {
        Ok(Some(ends)) => ends,
        Ok(None) => return Check::new(TLS, Verdict::Ok, format!("{shown} does not run out")),
        Err(error) => return Check::new(TLS, Verdict::Fail, exit::one_line(&error.into())),
    };
    let ms = ends.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let at = Timestamp(i64::try_from(ms).unwrap_or(i64::MAX));
    let (verdict, says) = match ends.duration_since(now) {
        Err(_) => (Verdict::Fail, "ran out"),
        Ok(left) if left < RENEWAL => (Verdict::Warn, "runs out soon"),
        Ok(_) => return Check::new(TLS, Verdict::Ok, format!("{shown} and its key go together until {at}")),
    };
    Check::new(TLS, verdict, format!("{shown} {says}, {at}"))
        .remedy("renew it: servers read the new files without a restart")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_handles_are_a_warning() {
        assert_eq!(handles(Some(1_024)).verdict, Verdict::Warn);
        assert_eq!(handles(Some(HANDLES_MIN)).verdict, Verdict::Ok);
        assert_eq!(handles(None).verdict, Verdict::Ok);
    }

    #[test]
    fn a_certificate_warns_before_it_expires_and_fails_after() {
        let files =
            TlsFiles { certificate: "chain.pem".into(), key: "key.pem".into(), client_authorities: None };
        let ends = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for (now, verdict) in [
            (ends - RENEWAL - Duration::from_secs(1), Verdict::Ok),
            (ends - Duration::from_secs(3600), Verdict::Warn),
            (ends + Duration::from_secs(1), Verdict::Fail),
        ] {
            let check = certificate(&files, Ok(Some(ends)), now);
            assert_eq!(check.verdict, verdict);
            assert!(check.text.contains("2027-01-15T08:00:00.000Z"), "{}", check.text);
        }
        assert_eq!(certificate(&files, Ok(None), ends).verdict, Verdict::Ok);
    }
}
