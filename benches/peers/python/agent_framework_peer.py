"""The Microsoft agent framework: an agent for each call, scheduled by hand as soon as it may begin."""

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from harness import Tape, arguments, fly, hold


async def main():
    args = arguments(["pipelined", "barrier"])
    tape = Tape(args.tape)
    client = OpenAIChatCompletionClient(model="loopback", base_url=args.url, api_key="none")

    async def debate(number):
        async def ask(call):
            system, user = tape.prompt(call, number)
            agent = Agent(client=client, instructions=system)
            return (await agent.run(user)).text

        await hold(ask, args.schedule)

    await fly(args, debate, ["agent-framework-core", "agent-framework-openai"])


asyncio.run(main())
