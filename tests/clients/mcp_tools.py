"""An agent's client that others wrote: the official SDK of the Model Context Protocol, over stdio and over HTTP.

It lists the tools, uses each of the twelve, holds the example of every mode, hears progress, continues a roundtable with a focus, pauses, resumes and stops
one, reads a log as a resource, and gets an error that names every invalid argument (rule T12). The SDK itself checks what
a tool returns against the schema that the server promised. DEBATE_BIN names the program. Ends with 0 when all of it holds.
"""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from mcp import Client, MCPError, StdioServerParameters

BIN = os.environ["DEBATE_BIN"]
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
FAST = "simulated:seed=7"
# Slow enough to be paused in the middle of it.
SLOW = "simulated:seed=7,latency=400ms"
TOPIC = "Should the library lend tools as well as books?"
TOOLS = {
    "start_roundtable", "continue_roundtable", "control_session", "get_consensus", "get_agents", "list_sessions",
    "get_round_details", "get_response_detail", "get_citations", "synthesize_debate", "get_thoughts", "export_session",
}


def check(holds, what):
    if not holds:
        raise AssertionError(what)


async def use(client, name, **arguments):
    """Uses a tool and returns what it gave; the text for models says the same."""
    result = await client.call_tool(name, arguments)
    check(not result.is_error, f"{name}: {result.content}")
    check(json.loads(result.content[0].text) == result.structured_content, f"{name} says two things")
    return result.structured_content


async def refusal(client, name, **arguments):
    """Uses a tool wrongly and returns the fields that it names."""
    result = await client.call_tool(name, arguments)
    check(result.is_error, f"{name} took {arguments}")
    fields = [violation["field"] for violation in result.structured_content["violations"]]
    check(all(field in result.content[0].text for field in fields), f"{result.content} does not name {fields}")
    return fields


async def check_tools(client):
    listed = (await client.list_tools()).tools
    check({tool.name for tool in listed} == TOOLS, f"the tools are {[tool.name for tool in listed]}")
    check(all(tool.input_schema and tool.output_schema and tool.description for tool in listed), "a tool says too little")
    wrong = await refusal(client, "start_roundtable", agents=["ada"], mode="chaos", rounds=0, wait_s=-1, colour="red")
    check(wrong == ["wait_s", "colour", "topic", "mode", "agents", "rounds"], f"at fault are {wrong}")
    check(await refusal(client, "get_round_details", round=11) == ["debate_id", "round"], "not every argument is named")
    check(await refusal(client, "get_consensus", debate_id="missing") == [], "an unknown roundtable is reported as an invalid argument")


async def check_roundtable(client):
    heard = []

    async def progress(done, total, message):
        heard.append((done, total, message))

    arguments = {"topic": TOPIC, "agents": ["ada", "bo", "cy"], "mode": "delphi", "rounds": 2, "request_id": "one"}
    result = await client.call_tool("start_roundtable", arguments, progress_callback=progress)
    check(not result.is_error, f"start_roundtable: {result.content}")
    started = result.structured_content
    debate_id = started["debate"]["id"]
    check(started["debate"]["state"] == "concluded", f"it is {started['debate']['state']} after the wait")
    check(started["result"]["simulated"] and "rounds" not in started["result"]["evidence"], "the result has the wrong layers")
    check([done for done, _, _ in heard] == [1, 2, 3, 4, 5, 6], f"progress: {heard}")
    check(all(total == 6 for _, total, _ in heard), f"progress: {heard}")
    check(heard[-1][2].startswith("round 2 of 2: "), f"progress: {heard[-1]}")
    again = await use(client, "start_roundtable", **arguments)
    check(again["debate"]["id"] == debate_id, "the same request opened another roundtable")

    focus = "What would it cost?"
    more = await use(client, "continue_roundtable", debate_id=debate_id, rounds=1, focus=focus)
    check(more["debate"]["state"] == "concluded" and more["result"]["metadata"]["rounds_held"] == 3, "it did not go on")
    third = await use(client, "get_round_details", debate_id=debate_id, round=3)
    check(third["focus"] == focus and len(third["responses"]) == 3, f"the third round is {third}")
    check("focus" not in await use(client, "get_round_details", debate_id=debate_id, round=2), "an old round has a focus")

    agreed = await use(client, "get_consensus", debate_id=debate_id)
    check(agreed["decision"] == more["result"]["decision"] and len(agreed["rounds"]) == 3, f"consensus: {agreed}")
    seats = await use(client, "get_agents", debate_id=debate_id)
    check([seat["rounds"] for seat in seats["agents"]] == [[1, 2, 3]] * 3, f"agents: {seats}")
    check(all(seat["shown_as"] for seat in seats["agents"]), "names are hidden in delphi")
    check("delphi" in (await use(client, "get_agents"))["modes"], "modes are not listed without a roundtable")
    listed = await use(client, "list_sessions", state="concluded")
    check([debate["id"] for debate in listed["debates"]] == [debate_id], f"listed: {listed}")
    said = await use(client, "get_response_detail", debate_id=debate_id, agent="bo", round=2)
    check([response["round"] for response in said["responses"]] == [2], f"said: {said}")
    thoughts = await use(client, "get_thoughts", debate_id=debate_id, agent="bo")
    check([thought["round"] for thought in thoughts["thoughts"]] == [1, 2, 3], f"thoughts: {thoughts}")
    check(thoughts["thoughts"][1]["position"] == said["responses"][0]["position"], "two tools tell two stories")
    check(await refusal(client, "get_thoughts", debate_id=debate_id, agent="zoe") == ["agent"], "zoe is no agent")
    cited = await use(client, "get_citations", debate_id=debate_id)
    named = [source for response in said["responses"] for source in response["citations"]]
    check(set(named) <= {entry["source"] for entry in cited["citations"]}, f"citations: {cited}")
    summed = await use(client, "synthesize_debate", debate_id=debate_id)
    check(sorted(agent for camp in summed["camps"] for agent in camp["agents"]) == ["ada", "bo", "cy"], f"camps: {summed}")
    page = await use(client, "export_session", debate_id=debate_id)
    check(page["document"].startswith(f"# Roundtable: {TOPIC}") and focus in page["document"], "the document is another")
    exported = await use(client, "export_session", debate_id=debate_id, format="json")
    check(json.loads(exported["document"])["debate_id"] == debate_id, "the JSON is another's")
    return debate_id


async def check_modes(client):
    """Starts the example of every mode; the schema of the tool takes it as it stands."""
    examples = sorted(EXAMPLES.glob("roundtable-*.json"))
    check(len(examples) == 7, f"the examples are {examples}")
    for example in examples:
        arguments = json.loads(example.read_text())
        check(arguments.pop("format") == "roundtable", f"{example} is of another format")
        held = await use(client, "start_roundtable", **arguments)
        result = held["result"]
        check(held["debate"]["state"] == "concluded", f"{example}: {held['debate']}")
        check(result["mode"] == arguments["mode"] and result["completeness"]["state"] == "full", f"{example}: {result}")
        check(len(result["agent_responses"]) == len(arguments["agents"]), f"{example}: somebody is missing")


async def check_log(client, debate_id):
    uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    check(f"debate://{debate_id}/log" in uris, f"resources: {uris}")
    check((await client.list_resource_templates()).resource_templates, "no resource template describes the address of a log")
    uri, kinds = f"debate://{debate_id}/log", []
    while uri:
        page = json.loads((await client.read_resource(uri)).contents[0].text)
        kinds += [event["kind"] for event in page["events"]]
        check(page["next"] != uri, "the log does not end")
        uri = page["next"]
    check(kinds[0] == "opened" and kinds.count("continued") == 1 and kinds[-1] == "concluded", f"the log is {kinds}")
    try:
        await client.read_resource("debate://missing/log")
    except MCPError:
        return
    raise AssertionError("a log of an unknown debate was read")


async def check_control(client):
    started = await use(
        client, "start_roundtable", topic=TOPIC, agents=["ada", "bo"], mode="socratic", rounds=10, wait_s=0
    )
    debate_id = started["debate"]["id"]
    check(started["debate"]["state"] == "running", f"it is {started['debate']['state']} at once")
    early = await client.call_tool("continue_roundtable", {"debate_id": debate_id})
    check(early.is_error and early.structured_content["reason"] == "WRONG_STATE", f"continued while it runs: {early}")
    for action, state in [("pause", "paused"), ("resume", "running"), ("stop", "concluded")]:
        controlled = await use(client, "control_session", debate_id=debate_id, action=action)
        check(controlled["debate"]["state"] == state, f"{action} leads to {controlled['debate']['state']}")
    check(controlled["result"]["stop_reason"] == "cancelled", f"it stopped by {controlled['result']['stop_reason']}")


async def over_stdio(folder):
    # The second client begins as those do that know none but older versions of the protocol.
    for model, mode in [(FAST, "auto"), (SLOW, "legacy")]:
        arguments = ["mcp", "--store", f"sqlite://{folder}/{mode}.sqlite", "--model", model]
        async with Client(StdioServerParameters(command=BIN, args=arguments), mode=mode) as client:
            if mode == "auto":
                await check_tools(client)
                await check_log(client, await check_roundtable(client))
                await check_modes(client)
            else:
                await check_control(client)


async def over_http(folder):
    command = [BIN, "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite://{folder}/http.sqlite", "--model", FAST]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        check(line.startswith("listening on "), f"the server says {line!r}")
        async with Client(f"http://{line.split()[-1]}/mcp") as client:
            await check_tools(client)
            await check_log(client, await check_roundtable(client))
        server.send_signal(signal.SIGTERM)
        check(server.wait(timeout=60) == 0, "the server did not end well")
    finally:
        server.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(over_stdio(pathlib.Path(folder)))
        asyncio.run(over_http(pathlib.Path(folder)))
    print(f"{len(TOOLS)} tools used over stdio and over HTTP")


if __name__ == "__main__":
    sys.exit(main())
