"""A collector that nobody here wrote: OpenTelemetry's own Python types receive what the program sends over OTLP.

It starts a debate below a trace of its own, and checks that all spans are of that trace and form a tree of the debate,
its rounds, their calls and the attempts at them; that what is measured agrees with them and with what is scraped; and
that nothing that anybody said is among them. DEBATE_BIN names the program. Ends with 0 when all of it holds.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "ice.json"
PATIENCE_S = 120
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


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


class Server:
    """The program as a server, told to send everything to a collector and to be scraped."""

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
    collector = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(spans, collector)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(measurements, collector)
    port = collector.add_insecure_port("127.0.0.1:0")
    collector.start()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, f"127.0.0.1:{port}")
        question = EXAMPLE.read_bytes()
        headers = {"content-type": "application/json", "traceparent": f"00-{TRACE}-{PARENT}-01"}
        debate = f"http://{server.address}/api/v1/reasoning/debate"
        result = json.loads(fetch(debate, question, headers))
        scraped = fetch(server.scraped)
        check(server.end() == 0, "the server did not end well")
    collector.stop(None)

    check(spans.services == {"debate"}, f"services {spans.services}")
    check({span.trace_id.hex() for span in spans.spans} == {TRACE}, "a span is of another trace")
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
    whole = next(attributes(span) for span in spans.spans if span.name == "invoke_workflow prediction")
    check(whole["debate.completeness"] == "full", f"{whole}")
    check(whole["gen_ai.conversation.id"] == result["debate_id"], f"{whole}")

    attempts = sum(point.as_int for point in measurements.metrics["debate.attempts"].sum.data_points)
    check(attempts == kinds["attempt"], f"{attempts} attempts measured, {kinds['attempt']} spans")
    ended = measurements.metrics["gen_ai.invoke_workflow.duration"].histogram.data_points
    check([point.count for point in ended] == [1], "one debate ended")
    lines = re.findall(r"^debate_attempts_total\{.*\} (\d+)$", scraped, re.MULTILINE)
    check(sum(map(int, lines)) == attempts, f"{attempts} attempts measured, scraped {lines}")
    asked = json.loads(question)["prediction_context"]["task"]["question"]
    said = [asked[:40], result["key_insights"][0]["insight"][:40]]
    told = str(spans.spans) + str(measurements.metrics) + scraped + "".join(server.log)
    check(not any(text in told for text in said), "something that was said is told")
    for line in server.log:
        check(json.loads(line)["level"] in ("INFO", "WARN"), line)
    print(f"{sum(kinds.values())} spans of one trace, {attempts} attempts; nothing that was said is among them")


main()
