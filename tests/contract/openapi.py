"""The served OpenAPI, held against the server by schemathesis: requests that it allows and forbids, answers that
it names. Every bound of what is read, and bodies by chance; all bounds of bodies are too many for every test run.

One check of schemathesis is off, that whatever the schema allows is accepted: rules between fields (K12) are in no schema.
DEBATE_BIN names the program; the script starts its own server. Ends with 0 when all of it holds.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

from server import Server, check

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "ice.json"
PROGRAM = pathlib.Path(sys.executable).parent / "schemathesis"
TOKEN = "open-sesame-4711"
PATIENCE_S = 120


def hold_debate(url):
    """Holds a debate, so that there is something to read, and returns its id."""
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}/api/v1/reasoning/debate", EXAMPLE.read_bytes(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        check(response.status == 200, f"the debate is answered by {response.status}")
        return json.load(response)["debate_id"]


def main():
    with tempfile.TemporaryDirectory() as folder, Server(["--store", "memory", "--token", TOKEN]) as server:
        url = f"http://{server.address}"
        parameters = f'"path.debate_id" = "{hold_debate(url)}"\n"path.round_number" = 1\n"path.role_name" = "optimist"\n'
        config = pathlib.Path(folder) / "schemathesis.toml"
        config.write_text(f"[parameters]\n{parameters}", encoding="utf-8")
        for phase, more in [("coverage", ["--include-method", "GET"]), ("fuzzing", ["--max-examples", "5"])]:
            command = [PROGRAM, "--config-file", config, "run", f"{url}/api/v1/openapi.json", "--phases", phase, *more]
            command += ["--exclude-checks", "positive_data_acceptance", "--request-timeout", str(PATIENCE_S)]
            command += ["--header", f"Authorization: Bearer {TOKEN}", "--seed", "1"]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            check(ran.returncode == 0, ran.stdout + ran.stderr)
            print(f"{phase}: {re.search(r'[0-9]+ generated, [^,]*', ran.stdout).group()}")


if __name__ == "__main__":
    sys.exit(main())
