"""What every Python peer does alike: the calls and their order, the recorded prompts, the debates in flight, measuring.

It sends nothing itself. The Rust peers' `harness` is the same in Rust.
"""

import argparse
import asyncio
import importlib.metadata
import json
import resource
import time

ROLES = ["optimist", "pessimist", "contrarian", "historian", "judge"]
ROUNDS = 3
NUMBER = "Debate 000000"
WARM_UP = 900_000

JUDGE = f"argue r{ROUNDS}.judge"


def argue(round):
    return [f"argue r{round}.{role}" for role in ROLES]


def score(round):
    return [f"score r{round}.{role}" for role in ROLES]


def speakers(round):
    """The arguments of a round that are made at once: all but the judge's last."""
    return [call for call in argue(round) if call != JUDGE]


def arguments(schedules):
    """Reads the command line, which is the same for every peer; the first of its schedules is the default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--tape", required=True)
    parser.add_argument("--debates", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--schedule", choices=schedules, default=schedules[0])
    parser.add_argument("--work", required=True)
    return parser.parse_args()


class Tape:
    """The recorded requests by name of their call."""

    def __init__(self, path):
        with open(path) as file:
            self.calls = json.load(file)

    def prompt(self, call, number):
        """The words of a call in a debate: system message and user message."""
        recorded = self.calls[call]
        return recorded["system"], recorded["user"].replace(NUMBER, f"Debate {number:06}", 1)

    def body(self, call, number):
        """The whole request, as the OpenAI protocol writes it."""
        recorded = self.calls[call]
        system, user = self.prompt(call, number)
        return {
            "model": "loopback",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "stream": False,
            "max_tokens": recorded["max_tokens"],
            "response_format": recorded["response_format"],
        }


async def hold(ask, schedule):
    """Runs a debate: `ask(call)` is awaited for each call as soon as the schedule lets it begin."""
    replies = {}

    async def keep(call):
        replies[call] = json.loads(await ask(call))

    if schedule == "barrier":
        for round in range(1, ROUNDS + 1):
            await asyncio.gather(*map(keep, speakers(round)))
            if round == ROUNDS:
                await keep(JUDGE)
            await asyncio.gather(*map(keep, score(round)))
    else:
        scores = []

        async def speak(call):
            await keep(call)
            scores.append(asyncio.create_task(keep(call.replace("argue", "score"))))

        for round in range(1, ROUNDS + 1):
            await asyncio.gather(*map(speak, speakers(round)))
        await speak(JUDGE)
        await asyncio.gather(*scores)
    await keep("synthesise")
    return replies


def cpu_ms():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e3


def peak_mb():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


async def fly(arguments, debate, packages):
    """Holds one debate to warm up, then all of them with so many in flight, and prints what it took on one line."""
    await debate(WARM_UP)
    base, cpu, began = peak_mb(), cpu_ms(), time.perf_counter()
    numbers = iter(range(arguments.debates))
    walls = {}

    async def lane():
        for number in numbers:
            start = time.perf_counter()
            await debate(number)
            walls[number] = (time.perf_counter() - start) * 1e3

    await asyncio.gather(*(lane() for _ in range(min(arguments.in_flight, arguments.debates))))
    elapsed = time.perf_counter() - began
    result = {
        "walls_ms": [walls[number] for number in sorted(walls)],
        "elapsed_s": elapsed,
        "cpu_ms": cpu_ms() - cpu,
        "base_mb": base,
        "peak_mb": peak_mb(),
        "versions": {package: importlib.metadata.version(package) for package in packages},
    }
    print(json.dumps(result), flush=True)
