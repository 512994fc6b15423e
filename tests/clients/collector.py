"""What the program sends over OTLP, received and forwarded by a third-party collector (rotel), and then read with
OpenTelemetry's own Python types.

A debate is started below a trace of the caller's own. All spans must be of that trace and form a tree of the debate,
its rounds, their calls and the attempts at them; what is measured must agree with them and with what is scraped; and
nothing that anybody said may be among them. DEBATE_BIN names the program. Ends with 0 when all of it holds.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import grpc
import rotel
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "ice.json"
PATIENCE_S = 120
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
STATE = "congo=t61rcWkgMzE"


def check(holds, what):
    if not holds:
        raise AssertionError(what)


class Spans(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self):
        self.spans = []
        self.services = set()

    def Export(self, request, context):
        for resource in request.resource_spans:
            self.services |= {a.value.string_value for a in resource.resource.attributes if a.key == "service.name"}
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)
        return trace_service_pb2.ExportTraceServiceResponse()


class Measurements(metrics_service_pb2_grpc.MetricsServiceServicer):
    def __init__(self):
        self.metrics = {}

    def Export(self, request, context):
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                self.metrics.update({metric.name: metric for metric in scope.metrics})
        return metrics_service_pb2.ExportMetricsServiceResponse()


class Collector:
    """The collector, which passes on whatever it takes in."""

    def __init__(self, behind):
        grpc_port, http_port = free_ports(2)
        self.address = f"127.0.0.1:{grpc_port}"
        command = [pathlib.Path(rotel.__file__).parent / "rotel-agent", "start", "--otlp-grpc-endpoint", self.address]
        command += ["--otlp-http-endpoint", f"127.0.0.1:{http_port}", "--batch-timeout", "100ms"]
        command += ["--exporter", "otlp", "--otlp-exporter-endpoint", f"http://{behind}", "--otlp-exporter-protocol", "grpc"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stdout))
        self.reader.start()
        self.wait_until_it_listens(grpc_port)

    def wait_until_it_listens(self, port):
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < until:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)
        self.end()
        raise AssertionError(f"the collector does not listen: {''.join(self.log)}")

    def end(self):
        """Ends it, which passes on what it still holds."""
        self.process.terminate()
        self.process.wait(timeout=60)
        self.reader.join()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """The program as a server that sends everything to a collector and serves metrics to be scraped."""

    def __init__(self, folder, collector):
        command = [os.environ["DEBATE_BIN"], "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
        command += ["--store", f"sqlite://{folder}/debates.sqlite", "--model", "simulated:seed=7"]
        environment = dict(os.environ, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{collector}")
        environment |= {"DEBATE_LOG_FORMAT": "json", "DEBATE_LOG_LEVEL": "info"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, env=environment, **pipes)
        self.address = self.line("listening on ")
        self.scraped = self.line("measurements at ")
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def line(self, beginning):
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.split()[-1]
        raise AssertionError(f"the server never says {beginning!r}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            ended = self.process.wait(timeout=60)
            self.reader.join()
            return ended
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def fetch(url, body=None, headers=None):
    request = urllib.request.Request(url, data=body, headers=headers or {})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        return response.read().decode()


def attributes(span):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def main():
    spans, measurements = Spans(), Measurements()
    behind = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(spans, behind)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(measurements, behind)
    port = behind.add_insecure_port("127.0.0.1:0")
    behind.start()
    collector = Collector(f"127.0.0.1:{port}")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, collector.address)
        question = EXAMPLE.read_bytes()
        headers = {"content-type": "application/json", "traceparent": f"00-{TRACE}-{PARENT}-01"}
        headers["tracestate"] = STATE
        debate = f"http://{server.address}/api/v1/reasoning/debate"
        result = json.loads(fetch(debate, question, headers))
        scraped = fetch(server.scraped)
        check(server.end() == 0, "the server did not end well")
    collector.end()
    behind.stop(None)

    check(spans.services == {"debate"}, f"services {spans.services}")
    check({span.trace_id.hex() for span in spans.spans} == {TRACE}, "a span is of another trace")
    check({span.trace_state for span in spans.spans} == {STATE}, "what the caller's vendors say of the trace is lost")
    by_id = {span.span_id.hex(): span for span in spans.spans}
    kinds = collections.Counter()
    tree = {"invoke_workflow": None, "round": "invoke_workflow", "invoke_agent": "round", "attempt": "invoke_agent"}
    for span in spans.spans:
        kind = span.name.split()[0]
        kinds[kind] += 1
        parent = by_id.get(span.parent_span_id.hex())
        check((parent.name.split()[0] if parent else None) == tree[kind], f"{span.name} is below {parent}")
        check(kind != "invoke_workflow" or span.parent_span_id.hex() == PARENT, "the debate is not below its cause")
        check(not parent or span.end_time_unix_nano <= parent.end_time_unix_nano, f"{span.name} outlives its parent")
    check(kinds["invoke_workflow"] == 1 and kinds["round"] >= 3, f"{kinds}")
    check(kinds["attempt"] >= 31 and kinds["invoke_agent"] == 31, f"{kinds}")
    debate_span = next(span for span in spans.spans if span.name == "invoke_workflow prediction")
    whole = attributes(debate_span)
    check(whole["debate.completeness"] == "full", f"{whole}")
    check(whole["gen_ai.conversation.id"] == result["debate_id"], f"{whole}")

    evaluated = [attributes(event) for event in debate_span.events if event.name == "gen_ai.evaluation.result"]
    composites = [one for one in evaluated if one["gen_ai.evaluation.name"] == "composite"]
    check(len(composites) == 15 and len(evaluated) == 60, f"{len(evaluated)} evaluations")
    check(all(0 <= one["gen_ai.evaluation.score.value"] <= 1 for one in evaluated), f"{evaluated}")
    check({one["debate.call"].split("/")[0] for one in composites} == {"argue"}, f"{composites}")

    attempts = sum(point.as_int for point in measurements.metrics["debate.attempts"].sum.data_points)
    check(attempts == kinds["attempt"], f"{attempts} attempts measured, {kinds['attempt']} spans")
    ended = measurements.metrics["gen_ai.invoke_workflow.duration"].histogram.data_points
    check([point.count for point in ended] == [1], "one debate ended")
    settled = measurements.metrics["gen_ai.invoke_agent.duration"].histogram.data_points
    check(sum(point.count for point in settled) == 31, "every question is settled once")
    asked = measurements.metrics["gen_ai.invoke_agent.inference_calls"].histogram.data_points
    check(sum(point.sum for point in asked) == attempts, "questions were put as often as attempts were made")
    lines = re.findall(r"^debate_attempts_total\{.*\} (\d+)$", scraped, re.MULTILINE)
    check(sum(map(int, lines)) == attempts, f"{attempts} attempts measured, scraped {lines}")
    asked = json.loads(question)["prediction_context"]["task"]["question"]
    said = [asked[:40], result["key_insights"][0]["insight"][:40]]
    exported = str(spans.spans) + str(measurements.metrics) + scraped + "".join(server.log)
    check(not any(text in exported for text in said), "text of the debate is in the telemetry")
    for line in server.log:
        check(json.loads(line)["level"] in ("INFO", "WARN"), line)
    print(f"{sum(kinds.values())} spans of one trace, {attempts} attempts; nothing that was said is among them")


main()
