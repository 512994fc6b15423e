"""A client of the debate engine over gRPC: idempotent starts, and watches that reconnect by themselves.

`Client` waits, `AsyncClient` is for asyncio; both have the same methods. Wire types are in `debate.v1`, and every method
that has none here is called on `client.debates` with the message of its name.
"""

from debate_client._requests import Format, Retry
from debate_client._sync import Client
from debate_client._asyncio import AsyncClient

__all__ = ["AsyncClient", "Client", "Format", "Retry"]
