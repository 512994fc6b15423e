"""`buf curl`, which learns everything by reflection: over gRPC and over gRPC-web, as a browser's page would.

BUF and DEBATE_BIN name the programs; the script starts its own server. Ends with 0 when all of it holds.
"""

import json
import os
import subprocess
import sys

from server import Server, check

TOKEN = "open-sesame-4711"
REQUEST = {"deliberation": {"topic": "Move?", "participants": [{"name": "ann"}, {"name": "ben"}]}, "request_id": "one"}


def call(server, protocol, method, message, token=TOKEN):
    """Calls a method and returns the messages that it answers, or its error."""
    url = f"http://{server.address}/debate.v1.DebateService/{method}"
    command = [os.environ["BUF"], "curl", "--protocol", protocol, "--http2-prior-knowledge"]
    command += ["--reflect-header", f"Authorization: Bearer {TOKEN}", "--header", f"Authorization: Bearer {token}"]
    run = subprocess.run([*command, "--data", json.dumps(message), url], capture_output=True, text=True, check=False)
    if run.returncode:
        return run.stderr
    reader, answers, rest = json.JSONDecoder(), [], run.stdout.strip()
    while rest:
        answer, end = reader.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].strip()
    return answers


def main():
    with Server(["--store", "memory", "--token", TOKEN]) as server:
        ids = set()
        for protocol in ["grpc", "grpcweb"]:
            [started] = call(server, protocol, "StartDebate", REQUEST)
            ids.add(started["debate"]["id"])
            watch = {"debate_id": started["debate"]["id"], "kinds": "WATCH_KINDS_ALL"}
            events = [answer["event"] for answer in call(server, protocol, "WatchDebate", watch)]
            check([int(event["seq"]) for event in events] == list(range(1, len(events) + 1)), events)
            check(events[-1]["kind"] == "concluded", events[-1])
            wrong = call(server, protocol, "StartDebate", {"deliberation": {}})
            check("invalid_argument" in wrong and "participants" in wrong, wrong)
            refused = call(server, protocol, "ListDebates", {}, "wrong")
            check("unauthenticated" in refused.lower(), refused)
        check(len(ids) == 1, f"the same request opened {ids}")
    print(f"{len(events)} events over gRPC, and the same over gRPC-web")


if __name__ == "__main__":
    sys.exit(main())
