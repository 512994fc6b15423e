"""Hand-written asyncio: aiohttp on uvloop."""

import aiohttp
import uvloop
from harness import Tape, arguments, fly, hold


async def main():
    args = arguments(["pipelined", "barrier"])
    tape = Tape(args.tape)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers={"Authorization": "Bearer none"}) as session:

        async def debate(number):
            async def ask(call):
                async with session.post(f"{args.url}/chat/completions", json=tape.body(call, number)) as response:
                    response.raise_for_status()
                    reply = await response.json()
                    return reply["choices"][0]["message"]["content"]

            await hold(ask, args.schedule)

        await fly(args, debate, ["aiohttp", "uvloop"])


uvloop.run(main())
