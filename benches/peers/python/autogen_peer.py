"""AutoGen: an assistant agent for each call, scheduled by hand as soon as it may begin."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from harness import Tape, arguments, fly, hold

INFO = {"vision": False, "function_calling": False, "json_output": True, "family": "unknown", "structured_output": True}


async def main():
    args = arguments(["pipelined", "barrier"])
    tape = Tape(args.tape)
    client = OpenAIChatCompletionClient(
        model="loopback", base_url=args.url, api_key="none", model_info=INFO, max_retries=0
    )

    async def debate(number):
        async def ask(call):
            system, user = tape.prompt(call, number)
            agent = AssistantAgent("debater", client, system_message=system)
            result = await agent.run(task=user)
            return result.messages[-1].content

        await hold(ask, args.schedule)

    await fly(args, debate, ["autogen-agentchat", "autogen-ext"])


asyncio.run(main())
