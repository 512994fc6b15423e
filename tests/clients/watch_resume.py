"""A client that knows nothing but the address: everything else it learns by reflection.

It starts a debate, watches it, is cut twice, resumes after the last sequence number, and checks that it saw each
durable event exactly once (rule K10). DEBATE_BIN names the program; the script starts its own server. Ends with 0
when all of it holds.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

# Slow enough to be cut in the middle, fast enough to be waited for.
MODEL = "simulated:seed=7,latency=60ms,sigma=0.3,tokens_per_second=400"
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "ice.json"
PATIENCE_S = 120


def check(holds, what):
    if not holds:
        raise AssertionError(what)


class Server:
    """A server of its own, ended with the script."""

    def __init__(self, folder):
        command = [os.environ["DEBATE_BIN"], "serve", "--listen", "127.0.0.1:0"]
        command += ["--store", f"sqlite://{folder}/debates.sqlite", "--model", MODEL]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        check(line.startswith("listening on "), f"the server says {line!r}")
        self.address = line.split()[-1]

    def end(self):
        """Asks the server to end and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Client:
    """Calls by names that reflection tells."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(self.channel).result(timeout=PATIENCE_S)
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)

    def close(self):
        self.channel.close()

    def call(self, service, method, fields):
        described = self.pool.FindServiceByName(f"debate.v1.{service}").FindMethodByName(method)
        request_type = message_factory.GetMessageClass(described.input_type)
        response_type = message_factory.GetMessageClass(described.output_type)
        streams = described.server_streaming
        kind = self.channel.unary_stream if streams else self.channel.unary_unary
        stub = kind(
            f"/debate.v1.{service}/{method}",
            request_serializer=request_type.SerializeToString,
            response_deserializer=response_type.FromString,
        )
        return stub(json_format.ParseDict(fields, request_type()), timeout=PATIENCE_S)


def watch(address, debate_id, seen, events_max=None):
    """Watches over a connection of its own until it has seen so many more events, or the end; returns pieces heard."""
    client = Client(address)
    after = seen[-1].seq if seen else 0
    request = {"debate_id": debate_id, "after_seq": after, "include_tokens": True}
    stream = client.call("DebateService", "WatchDebate", request)
    pieces = 0
    events = 0
    for response in stream:
        item = response.WhichOneof("item")
        if item == "event":
            seen.append(response.event)
            events += 1
        pieces += item == "chunk"
        if events == events_max:
            break
    if events_max is None:
        check(stream.code() == grpc.StatusCode.OK, f"the stream ends with {stream.code()}")
    else:
        check(events == events_max, f"the stream ended after {events} events")
    client.close()
    return pieces


def read_log(client, debate_id):
    log = []
    while True:
        after = log[-1].seq if log else 0
        page = client.call("AuditService", "ReadLog", {"debate_id": debate_id, "after_seq": after})
        log.extend(page.events)
        if not page.events or log[-1].seq == page.head_seq:
            return log


def check_reflection(client):
    names = client.database.get_services()
    for name in ["debate.v1.DebateService", "debate.v1.AuditService", "grpc.health.v1.Health"]:
        check(name in names, f"{name} is not among {names}")


def check_violations(client):
    wrong = {"prediction": {"task_id": "", "config": {"rounds": 11, "roles": ["jester"]}}}
    try:
        client.call("DebateService", "StartDebate", wrong)
    except grpc.RpcError as error:
        check(error.code() == grpc.StatusCode.INVALID_ARGUMENT, f"{error.code()}")
        details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    else:
        raise AssertionError("a wrong request was taken")
    for field in [b"task_id", b"prediction_context", b"config.rounds", b"config.roles[0]"]:
        check(field in details, f"{field} is not in the details")
    listed = client.call("DebateService", "ListDebates", {})
    check(not listed.debates, "a wrong request was recorded")


def check_debate(address):
    client = Client(address)
    check_reflection(client)
    check_violations(client)
    request = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    start = {"request_id": "one", "prediction": request}
    started = client.call("DebateService", "StartDebate", start)
    debate_id = started.debate.id
    again = client.call("DebateService", "StartDebate", start)
    check(again.existing and again.debate.id == debate_id, "the same request opened another debate")

    seen = []
    pieces = watch(address, debate_id, seen, events_max=10)
    pieces += watch(address, debate_id, seen, events_max=40)
    check(seen[-1].kind != "concluded", "the debate was over before the client was cut")
    pieces += watch(address, debate_id, seen)

    numbers = [event.seq for event in seen]
    check(numbers == list(range(1, len(seen) + 1)), f"events are missing or come twice: {numbers}")
    check(seen[-1].kind == "concluded", f"the last event is {seen[-1].kind}")
    check(pieces > 0, "no live text was heard")
    # Each connection has learnt a type of its own for the same event, so bytes are compared.
    stored = [event.SerializeToString(deterministic=True) for event in read_log(client, debate_id)]
    watched = [event.SerializeToString(deterministic=True) for event in seen]
    check(watched == stored, "what was watched is not what is stored")
    verified = client.call("AuditService", "VerifyDebate", {"debate_id": debate_id})
    check(verified.ok and verified.events == len(seen), f"verify finds {verified}")

    got = client.call("DebateService", "GetDebate", {"debate_id": debate_id, "include_result": True})
    total = sum(outcome.probability for outcome in got.prediction.probability_distribution)
    check(abs(total - 1) < 1e-9, f"the probabilities sum to {total}")
    check(got.debate.simulated, "the result does not say that it is simulated")
    client.close()
    return len(seen), pieces


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            events, pieces = check_debate(server.address)
        except BaseException:
            server.process.kill()
            raise
        check(server.end() == 0, "the server did not end well")
    print(f"{events} events seen once each over three connections, {pieces} pieces of live text")


if __name__ == "__main__":
    sys.exit(main())
