"""LangGraph with its SQLite checkpointer: a node for each call, so that a superstep runs whatever may run.

A score depends on its argument alone and an argument on the round before, so scores share a step with the next round's
arguments: the best that supersteps can do. Each debate is a thread of its own in one database.
"""

import asyncio
import json
import os
from typing import Annotated, TypedDict

from harness import JUDGE, ROUNDS, Tape, argue, arguments, fly, score, speakers
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    number: int
    replies: Annotated[dict, lambda old, new: {**old, **new}]


def graph(tape, model):
    graph = StateGraph(State)

    def add(call):
        async def node(state):
            system, user = tape.prompt(call, state["number"])
            reply = await model.ainvoke([SystemMessage(system), HumanMessage(user)])
            return {"replies": {call: json.loads(reply.content)}}

        graph.add_node(call, node)

    for round in range(1, ROUNDS + 1):
        for call in argue(round):
            add(call)
            before = speakers(ROUNDS) if call == JUDGE else argue(round - 1) if round > 1 else START
            graph.add_edge(before, call)
        for spoken, call in zip(argue(round), score(round)):
            add(call)
            graph.add_edge(spoken, call)
    add("synthesise")
    graph.add_edge([call for round in range(1, ROUNDS + 1) for call in score(round)], "synthesise")
    graph.add_edge("synthesise", END)
    return graph


async def main():
    args = arguments(["superstep"])
    tape = Tape(args.tape)
    model = ChatOpenAI(model="loopback", base_url=args.url, api_key="none", max_retries=0)
    async with AsyncSqliteSaver.from_conn_string(os.path.join(args.work, "langgraph.sqlite")) as saver:
        app = graph(tape, model).compile(checkpointer=saver)

        async def debate(number):
            config = {"configurable": {"thread_id": str(number)}}
            state = await app.ainvoke({"number": number, "replies": {}}, config)
            assert len(state["replies"]) == 31

        await fly(args, debate, ["langgraph", "langgraph-checkpoint-sqlite", "langchain-openai"])


asyncio.run(main())
