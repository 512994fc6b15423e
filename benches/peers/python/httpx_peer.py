"""Hand-written asyncio: httpx on the standard loop."""

import asyncio

import httpx
from harness import Tape, arguments, fly, hold


async def main():
    args = arguments(["pipelined", "barrier"])
    tape = Tape(args.tape)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    headers = {"Authorization": "Bearer none"}
    async with httpx.AsyncClient(limits=limits, headers=headers, timeout=None, trust_env=False) as client:

        async def debate(number):
            async def ask(call):
                response = await client.post(f"{args.url}/chat/completions", json=tape.body(call, number))
                response.raise_for_status()
                return response.json()["choices"][0]["message"]["content"]

            await hold(ask, args.schedule)

        await fly(args, debate, ["httpx"])


asyncio.run(main())
