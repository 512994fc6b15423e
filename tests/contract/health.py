"""The health probe that gRPC itself ships for Python: what orchestrators ask, with and without a token, until the end.

DEBATE_BIN names the program; the script starts its own server. Ends with 0 when all of it holds.
"""

import pathlib
import re
import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from server import Server, check

MANIFEST = pathlib.Path(__file__).parents[2] / "deploy" / "kubernetes" / "deployment.yaml"
PATIENCE_S = 60
SERVING = health_pb2.HealthCheckResponse.SERVING


def main():
    probed = set(re.findall(r"grpc: {port: 50051, service: ([\w.]+)}", MANIFEST.read_text(encoding="utf-8")))
    check(probed == {"debate.v1.DebateService"}, f"the manifest probes {probed}")
    with Server(["--store", "memory", "--token", "open-sesame-4711"]) as server:
        with grpc.insecure_channel(server.address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for service in ["", "debate.v1.AuditService", *probed]:
                request = health_pb2.HealthCheckRequest(service=service)
                answer = stub.Check(request, timeout=PATIENCE_S, wait_for_ready=True)
                check(answer.status == SERVING, f"{service!r} is {answer.status}")
            try:
                stub.Check(health_pb2.HealthCheckRequest(service="debate.v1.Missing"), timeout=PATIENCE_S)
                check(False, "a service that is not there is healthy")
            except grpc.RpcError as error:
                check(error.code() == grpc.StatusCode.NOT_FOUND, f"a service that is not there: {error.code()}")
        check(server.end() == 0, "the server did not end well")
    print("healthy for all that the manifests probe, without a token")


if __name__ == "__main__":
    sys.exit(main())
