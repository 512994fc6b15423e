"""A server of one's own, on a free port, ended with the script."""

import os
import signal
import subprocess


def check(holds, what):
    if not holds:
        raise AssertionError(what)


class Server:
    """The program that DEBATE_BIN names, with more arguments; at an address where one is given."""

    def __init__(self, arguments, address="127.0.0.1:0"):
        command = [os.environ["DEBATE_BIN"], "serve", "--listen", address, *arguments]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEBATE_")}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        check(line.startswith("listening on "), f"the server says {line!r}")
        self.address = line.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def kill(self):
        """Ends the server without a word."""
        self.process.kill()
        self.process.wait()

    def end(self):
        """Asks the server to end, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)
