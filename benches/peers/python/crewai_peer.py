"""CrewAI: an agent for each call, started directly and scheduled by hand as soon as it may begin.

A crew would run its tasks one after another, or in groups that end with one that waits.
"""

import os

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")

import asyncio
import logging

from crewai import LLM, Agent
from crewai.events.event_listener import EventListener
from harness import Tape, arguments, fly, hold


logging.disable(logging.WARNING)


async def main():
    # Without this it draws a panel for every step of every agent.
    EventListener().formatter.verbose = False
    args = arguments(["pipelined", "barrier"])
    os.environ.update(HOME=args.work, XDG_DATA_HOME=args.work)
    tape = Tape(args.tape)
    llm = LLM(model="openai/loopback", provider="openai", base_url=args.url, api_key="none", max_retries=0)

    async def debate(number):
        async def ask(call):
            system, user = tape.prompt(call, number)
            agent = Agent(role="Debater", goal="Reply with one JSON object.", backstory=system, llm=llm, verbose=False)
            return (await agent.kickoff_async(user)).raw

        await hold(ask, args.schedule)

    await fly(args, debate, ["crewai"])


asyncio.run(main())
