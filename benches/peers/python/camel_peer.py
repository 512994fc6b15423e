"""CAMEL: a chat agent for each call, scheduled by hand as soon as it may begin."""

import asyncio
import logging

from camel.agents import ChatAgent
from camel.models import ModelFactory
from camel.types import ModelPlatformType
from camel.utils import BaseTokenCounter
from harness import Tape, arguments, fly, hold

logging.disable(logging.WARNING)


class Letters(BaseTokenCounter):
    """Four letters are a token; CAMEL's own counter downloads its vocabulary."""

    def count_tokens_from_messages(self, messages):
        return sum(len(message["content"]) for message in messages) // 4

    def encode(self, text):
        return list(text.encode()[::4])

    def decode(self, token_ids):
        return bytes(token_ids).decode(errors="replace")


async def main():
    args = arguments(["pipelined", "barrier"])
    tape = Tape(args.tape)
    model = ModelFactory.create(
        model_platform=ModelPlatformType.OPENAI_COMPATIBLE_MODEL,
        model_type="loopback",
        url=args.url,
        api_key="none",
        max_retries=0,
        token_counter=Letters(),
    )

    async def debate(number):
        async def ask(call):
            system, user = tape.prompt(call, number)
            agent = ChatAgent(system, model=model)
            return (await agent.astep(user)).msgs[0].content

        await hold(ask, args.schedule)

    await fly(args, debate, ["camel-ai"])


asyncio.run(main())
