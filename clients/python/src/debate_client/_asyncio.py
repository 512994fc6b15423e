"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
import grpc.aio

from debate.v1 import debate_pb2, debate_service_pb2 as wire
from debate.v1.debate_service_pb2_grpc import DebateServiceStub
from debate_client import _requests
from debate_client._requests import Format, Retry, Seen


class AsyncClient:
    """A client of one server, such as `AsyncClient("localhost:50051")`; also an asynchronous context manager."""

    def __init__(
        self,
        target: str,
        *,
        token: str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        retry: Retry = Retry(),
    ) -> None:
        secure = credentials is not None
        channel = grpc.aio.secure_channel(target, credentials) if secure else grpc.aio.insecure_channel(target)
        self._channel = channel
        self._metadata = _requests.metadata(token)
        self._retry = retry
        #: The generated stub, for every other method.
        self.debates = DebateServiceStub(channel)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection."""
        await self._channel.close()

    async def start(
        self, format: Format, request: Mapping[str, Any], *, request_id: str | None = None
    ) -> debate_pb2.Debate:
        """Starts a debate once, however often it has to be sent (rule K11); the request is that of the JSON contract."""
        message = _requests.start(format, request, request_id)
        pauses = self._retry.pauses()
        while True:
            try:
                return (await self.debates.StartDebate(message, metadata=self._metadata)).debate
            except grpc.RpcError as error:
                pause = next(pauses, None)
                if error.code() not in _requests.CUT or pause is None:
                    raise
                await asyncio.sleep(pause)

    async def watch(
        self, debate_id: str, *, after_seq: int = 0, include_tokens: bool = False
    ) -> AsyncIterator[wire.WatchDebateResponse]:
        """Follows a debate until it has concluded, over as many connections as it takes (rule K10).

        Every durable event comes once and in order; with `include_tokens` live text comes between them.
        """
        seen = Seen(debate_id, after_seq, include_tokens, self._retry)
        while True:
            stream = self.debates.WatchDebate(seen.request(), metadata=self._metadata)
            try:
                async for response in stream:
                    if seen.take(response):
                        yield response
                return
            except grpc.RpcError as error:
                await asyncio.sleep(seen.pause(error))
            finally:
                stream.cancel()

    async def events(self, debate_id: str, *, after_seq: int = 0) -> AsyncIterator[debate_pb2.Event]:
        """Returns the events of a watch."""
        async for response in self.watch(debate_id, after_seq=after_seq):
            yield response.event

    async def get(self, debate_id: str, *, include_result: bool = False) -> wire.GetDebateResponse:
        """Returns a debate as it stands."""
        message = wire.GetDebateRequest(debate_id=debate_id, include_result=include_result)
        return await self.debates.GetDebate(message, metadata=self._metadata)

    async def result(self, debate_id: str) -> wire.GetDebateResponse:
        """Waits until a debate has concluded, and returns it with its result."""
        async for _ in self.events(debate_id):
            pass
        return await self.get(debate_id, include_result=True)

    async def cancel(self, debate_id: str, reason: str = "") -> debate_pb2.Debate:
        """Ends a debate with what there is (rule K9)."""
        message = wire.CancelDebateRequest(debate_id=debate_id, reason=reason)
        return (await self.debates.CancelDebate(message, metadata=self._metadata)).debate
