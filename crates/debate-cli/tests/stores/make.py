"""Dumps the stores that the tests `upgrading` open: run once for a schema, with the program that has it.

    python3 make.py PROGRAM SCHEMA POSTGRES_URL

PROGRAM is the released `debate`, SCHEMA the number of its newest migration, POSTGRES_URL an empty database of a private
server, `postgres://USER@localhost/NAME?host=SOCKET_FOLDER`. Writes sqlite-SCHEMA.sql.gz and postgres-SCHEMA.sql.gz next
to this file, and the bundles of what was archived into archive/. Needs psql and pg_dump. What was dumped once is never
made again.
"""

import gzip
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[3] / "examples"
NOISE = re.compile(r"^(--|SET |SELECT pg_catalog\.set_config|\\restrict|\\unrestrict|$)")


def fill(program, store):
    """Holds the debates: the first under a request id, so that this is stored too."""

    def run(*args):
        done = subprocess.run([program, "--store", store, *args], check=True, capture_output=True, text=True)
        return done.stdout

    def newest():
        return json.loads(run("list", "--json").splitlines()[0])["debate_id"]

    server = subprocess.Popen(
        [program, "--store", store, "serve", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    address = next(found for line in server.stdout if (found := re.search(r"127\.0\.0\.1:\d+", line)))
    request = urllib.request.Request(
        f"http://{address[0]}/api/v1/reasoning/debate",
        data=(EXAMPLES / "ice.json").read_bytes(),
        headers={"content-type": "application/json", "Idempotency-Key": "first-of-release"},
    )
    parent = json.load(urllib.request.urlopen(request))["debate_id"]
    server.terminate()
    server.wait()
    run("resolve", parent, "yes", "--at", "2026-09-22")
    run("fork", parent, "--json", "--without", "optimist")
    run("run", str(EXAMPLES / "deliberation.json"), "--json")
    run("redact", newest(), "--event", "5")
    run("run", str(EXAMPLES / "moon.json"), "--json")
    run("archive", newest(), "--to", str(HERE / "archive"))


def keep(name, text):
    data = gzip.compress(text.encode(), 9, mtime=0)
    (HERE / f"{name}.sql.gz").write_bytes(data)
    print(f"{name}: {len(data)} bytes")


def main(program, schema, url):
    program = str(pathlib.Path(program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/debates.sqlite"
        fill(program, f"sqlite://{path}")
        connection = sqlite3.connect(path)
        ours = connection.execute("PRAGMA application_id").fetchone()[0]
        lines = [f"PRAGMA application_id = {ours};", *connection.iterdump()]
        keep(f"sqlite-{schema}", "\n".join(lines) + "\n")
    # A server that has had more transactions than the one that the dump is restored into.
    burn = "DO $$ BEGIN FOR i IN 1..30000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
    subprocess.run(["psql", "--quiet", "--no-psqlrc", "--command", burn, url], check=True)
    fill(program, url)
    dump = subprocess.run(["pg_dump", "--no-owner", url], check=True, capture_output=True, text=True)
    keep(f"postgres-{schema}", "".join(line + "\n" for line in dump.stdout.splitlines() if not NOISE.match(line)))


if __name__ == "__main__":
    main(*sys.argv[1:])
