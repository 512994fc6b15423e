"""The package against real servers: its README's example, both clients, servers that are killed. DEBATE_BIN names the program."""

import asyncio
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import grpc
from debate_client import AsyncClient, Client, Retry
from server import Server

README = pathlib.Path(__file__).parents[1] / "README.md"
SLOW = ["--model", "simulated:seed=7,latency=60ms,tokens_per_second=2000"]
REQUEST = {
    "format": "deliberation",
    "topic": "Should the library move to a new schema?",
    "participants": [{"name": "ann"}, {"name": "ben"}],
}
MISSING = "00000000-0000-4000-8000-000000000000"
# The machine may be busy while the server starts again.
PATIENT = Retry(tries_max=60)


def store(folder):
    return ["--store", f"sqlite://{folder}/debates.sqlite", *SLOW]


class Clients(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def seen_once(self, events):
        self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))
        self.assertEqual(events[-1].kind, "concluded")

    def test_the_example_of_the_readme_runs_as_it_stands(self):
        code = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
        with Server(["--store", "memory"]) as server:
            environment = dict(os.environ, DEBATE_SERVER=server.address)
            command = [sys.executable, "-c", code]
            run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("concluded", run.stdout)

    def test_a_watch_whose_server_is_killed_and_a_start_sent_again_lose_and_repeat_nothing(self):
        first = Server(store(self.folder))
        with first, Client(first.address, retry=PATIENT) as client:
            debate = client.start("deliberation", REQUEST, request_id="one")
            events = client.events(debate.id)
            seen = [next(events) for _ in range(8)]
            self.assertNotEqual(seen[-1].kind, "concluded")
            first.kill()
            with Server(store(self.folder), first.address):
                self.assertEqual(client.start("deliberation", REQUEST, request_id="one").id, debate.id)
                seen.extend(events)
                self.seen_once(seen)
                result = client.result(debate.id)
                self.assertTrue(result.HasField("deliberation"))
                self.assertEqual(result.debate.head_seq, len(seen))

    def test_asyncio_does_the_same(self):
        async def hold(first):
            async with AsyncClient(first.address, retry=PATIENT) as client:
                debate = await client.start("deliberation", REQUEST, request_id="one")
                seen = []
                server = first
                async for event in client.events(debate.id):
                    seen.append(event)
                    if len(seen) == 8:
                        first.kill()
                        server = await asyncio.to_thread(Server, store(self.folder), first.address)
                with server:
                    self.seen_once(seen)
                    self.assertEqual((await client.start("deliberation", REQUEST, request_id="one")).id, debate.id)
                    result = await client.result(debate.id)
                    self.assertTrue(result.HasField("deliberation"))

        with Server(store(self.folder)) as first:
            asyncio.run(hold(first))

    def test_permanent_errors_are_raised_at_once(self):
        endless = ["--model", "simulated:latency=60s"]
        with Server(["--store", "memory", "--token", "open-sesame-4711", *endless]) as server:
            with Client(server.address) as stranger, self.assertRaises(grpc.RpcError) as refused:
                stranger.get(MISSING)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
            with Client(server.address, token="open-sesame-4711") as client:
                with self.assertRaises(grpc.RpcError) as missing:
                    next(client.events(MISSING))
                self.assertEqual(missing.exception.code(), grpc.StatusCode.NOT_FOUND)
                with self.assertRaises(grpc.RpcError) as wrong:
                    client.start("deliberation", {"topic": ""})
                self.assertEqual(wrong.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
                slow = client.start("prediction", self.prediction())
                self.assertEqual(client.cancel(slow.id, "enough").id, slow.id)

    def prediction(self):
        outcomes = [{"id": name, "label": name} for name in ("yes", "no")]
        return {"task_id": "rain", "prediction_context": {"task": "Will it rain?", "outcomes": outcomes}}


if __name__ == "__main__":
    unittest.main()
