//! The shell that supervises a server. On request it starts the server, or stops it by its process id. When the
//! requesting process is gone, killed or not, it stops the server and removes its folder.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::FixtureError;
use crate::binaries::Binaries;

/// `$1` is the folder, the rest the server's command line. Each order is answered with one line.
const SCRIPT: &str = r#"
trap '' PIPE INT TERM HUP
folder=$1
shift
pid=
while read -r order; do
    case $order in
        start) "$@" </dev/null >>"$folder/log" 2>&1 & pid=$! ;;
        *) kill -s "$order" "$pid" 2>/dev/null; wait "$pid"; pid= ;;
    esac
    echo done
done
if [ -n "$pid" ]; then
    kill -s QUIT "$pid" 2>/dev/null
    wait "$pid"
fi
rm -rf "$folder"
"#;

/// The keeper of one server.
#[derive(Debug)]
pub(crate) struct Keeper {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Keeper {
    /// Starts a keeper; the server is started by an order.
    pub(crate) fn new(binaries: &Binaries, folder: &Path, server: &[String]) -> Result<Self, FixtureError> {
        let mut shell = binaries.as_user(Command::new("sh"));
        shell.args(["-c", SCRIPT, "keeper"]).arg(folder).args(server);
        // A group of its own: what kills the group of a test must leave the keeper to clean up.
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut shell = shell.spawn().map_err(FixtureError::io("sh"))?;
        let (orders, answers) = (shell.stdin.take(), shell.stdout.take());
        let answers = BufReader::new(answers.expect("its output is piped"));
        Ok(Self { shell, orders, answers })
    }

    /// Has the server started, or sent a signal and waited for. `order` is `start` or the name of a signal.
    pub(crate) fn order(&mut self, order: &str) -> Result<(), FixtureError> {
        let orders = self.orders.as_mut().expect("orders end when the keeper is dropped");
        let mut answer = String::new();
        writeln!(orders, "{order}")
            .and_then(|()| self.answers.read_line(&mut answer))
            .map_err(FixtureError::io("sh"))?;
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}
