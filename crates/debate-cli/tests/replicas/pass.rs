//! A way to the database that can be blocked: what is sent then does not arrive, and neither side gets an error.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A socket in a folder of its own that leads to the server's.
pub(crate) struct Pass {
    folder: TempDir,
    server: PathBuf,
    is_blocked: Arc<AtomicBool>,
}

impl Pass {
    /// Opens a way to the server's socket.
    pub(crate) fn open(server: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(server.file_name().unwrap())).unwrap();
        let is_blocked = Arc::new(AtomicBool::new(false));
        let (server, blocked) = (server.to_owned(), Arc::clone(&is_blocked));
        let target = server.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&target)) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let blocked = Arc::clone(&blocked);
                    thread::spawn(move || carry(from, to, &blocked));
                }
            }
        });
        Self { folder, server, is_blocked }
    }

    /// Returns the URL of a database by this way.
    pub(crate) fn url(&self, url: &str) -> String {
        let direct = self.server.parent().unwrap().display().to_string();
        let by_this_way = self.folder.path().display().to_string();
        let encoded = |path: &str| path.replace('/', "%2F");
        let changed = url.replace(&direct, &by_this_way).replace(&encoded(&direct), &encoded(&by_this_way));
        assert_ne!(changed, url, "the server's folder is in its URL");
        changed
    }

    /// Carries nothing any more; connections stay open.
    pub(crate) fn block(&self) {
        self.is_blocked.store(true, Ordering::SeqCst);
    }

    /// Carries everything again, also what came meanwhile.
    pub(crate) fn unblock(&self) {
        self.is_blocked.store(false, Ordering::SeqCst);
    }
}

fn carry(mut from: UnixStream, mut to: UnixStream, is_blocked: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        while is_blocked.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
