"""The client that waits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import grpc

from debate.v1 import debate_pb2, debate_service_pb2 as wire
from debate.v1.debate_service_pb2_grpc import DebateServiceStub
from debate_client import _requests
from debate_client._requests import Format, Retry, Seen


class Client:
    """A client of one server, such as `Client("localhost:50051")`; also a context manager."""

    def __init__(
        self,
        target: str,
        *,
        token: str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        retry: Retry = Retry(),
    ) -> None:
        secure = credentials is not None
        self._channel = grpc.secure_channel(target, credentials) if secure else grpc.insecure_channel(target)
        self._metadata = _requests.metadata(token)
        self._retry = retry
        #: The generated stub, for every other method.
        self.debates = DebateServiceStub(self._channel)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def start(
        self, format: Format, request: Mapping[str, Any], *, request_id: str | None = None
    ) -> debate_pb2.Debate:
        """Starts a debate once, however often it has to be sent (rule K11); the request is that of the JSON contract."""
        message = _requests.start(format, request, request_id)
        pauses = self._retry.pauses()
        while True:
            try:
                return self.debates.StartDebate(message, metadata=self._metadata).debate
            except grpc.RpcError as error:
                pause = next(pauses, None)
                if error.code() not in _requests.CUT or pause is None:
                    raise
                time.sleep(pause)

    def watch(
        self, debate_id: str, *, after_seq: int = 0, include_tokens: bool = False
    ) -> Iterator[wire.WatchDebateResponse]:
        """Follows a debate until it has concluded, over as many connections as it takes (rule K10).

        Every durable event comes once and in order; with `include_tokens` live text comes between them.
        """
        seen = Seen(debate_id, after_seq, include_tokens, self._retry)
        while True:
            stream = self.debates.WatchDebate(seen.request(), metadata=self._metadata)
            try:
                for response in stream:
                    if seen.take(response):
                        yield response
                return
            except grpc.RpcError as error:
                time.sleep(seen.pause(error))
            finally:
                stream.cancel()

    def events(self, debate_id: str, *, after_seq: int = 0) -> Iterator[debate_pb2.Event]:
        """Returns the events of a watch."""
        return (response.event for response in self.watch(debate_id, after_seq=after_seq))

    def get(self, debate_id: str, *, include_result: bool = False) -> wire.GetDebateResponse:
        """Returns a debate as it stands."""
        message = wire.GetDebateRequest(debate_id=debate_id, include_result=include_result)
        return self.debates.GetDebate(message, metadata=self._metadata)

    def result(self, debate_id: str) -> wire.GetDebateResponse:
        """Waits until a debate has concluded, and returns it with its result."""
        for _ in self.events(debate_id):
            pass
        return self.get(debate_id, include_result=True)

    def cancel(self, debate_id: str, reason: str = "") -> debate_pb2.Debate:
        """Ends a debate with what there is (rule K9)."""
        message = wire.CancelDebateRequest(debate_id=debate_id, reason=reason)
        return self.debates.CancelDebate(message, metadata=self._metadata).debate
