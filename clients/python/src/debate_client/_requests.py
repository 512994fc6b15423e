"""What both clients say and how patient they are; nothing here waits or sends."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import grpc
from google.protobuf import json_format

from debate.v1 import debate_service_pb2 as wire

Format = Literal["prediction", "deliberation", "roundtable", "review", "investigation"]

#: After these the same may be asked again: the server ended, the way to it broke, or it gave up a stream that was not read.
CUT = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
    }
)


@dataclass(frozen=True)
class Retry:
    """The patience with a server that is away."""

    #: Tries in a row that bring nothing new, after which it is given up.
    tries_max: int = 10
    #: Seconds before the first of them; each further pause is twice as long.
    pause: float = 0.1
    #: The longest pause, in seconds.
    pause_max: float = 5.0

    def before(self, nth: int) -> float:
        """Returns the seconds before a try, counted from 0."""
        return min(self.pause * 2 ** min(nth, 16), self.pause_max)

    def pauses(self) -> Iterator[float]:
        """Returns the pauses before the tries, as many as there are."""
        return (self.before(nth) for nth in range(self.tries_max))


def start(format: Format, request: Mapping[str, Any], request_id: str | None) -> wire.StartDebateRequest:
    """Returns the message that starts a debate from a request as JSON has it; one without an id is given one."""
    fields = {name: value for name, value in request.items() if name != "format"}
    message = wire.StartDebateRequest(request_id=request_id or str(uuid.uuid4()))
    json_format.ParseDict(fields, getattr(message, format))
    return message


def metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """Returns the headers of every call."""
    return (("authorization", f"Bearer {token}"),) if token else ()


class Seen:
    """How far a watch has come, and how often it brought nothing new."""

    def __init__(self, debate_id: str, after_seq: int, include_tokens: bool, retry: Retry) -> None:
        self.debate_id = debate_id
        self.last_seq = after_seq
        self.include_tokens = include_tokens
        self.retry = retry
        self.tries = 0

    def request(self) -> wire.WatchDebateRequest:
        """Returns the message that goes on behind the last event."""
        return wire.WatchDebateRequest(
            debate_id=self.debate_id, after_seq=self.last_seq, include_tokens=self.include_tokens
        )

    def take(self, response: wire.WatchDebateResponse) -> bool:
        """Takes a message in; returns whether the subscriber gets it."""
        kind = response.WhichOneof("item")
        if kind == "event":
            if response.event.seq <= self.last_seq:
                raise RuntimeError(f"the server sent event {response.event.seq} twice")
            self.last_seq, self.tries = response.event.seq, 0
        elif kind == "heartbeat":
            self.last_seq, self.tries = max(self.last_seq, response.heartbeat.head_seq), 0
        return kind in ("event", "chunk", "attempt_dropped")

    def pause(self, error: grpc.RpcError) -> float:
        """Returns the seconds until the next connection; raises what no further try can mend."""
        if error.code() not in CUT or self.tries >= self.retry.tries_max:
            raise error
        self.tries += 1
        return self.retry.before(self.tries - 1)
