"""Checks the files of this folder by tools that others wrote, and by the program itself.

DEBATE_BIN names the program. Ends with 0 when all of it holds; what is not installed on this machine is said to be skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import compose
import jsonschema
import yaml

FOLDER = pathlib.Path(__file__).parent
OPERATION = FOLDER.parent / "docs" / "operate.md"
PROGRAM = os.environ["DEBATE_BIN"]
TOOLS = pathlib.Path(sys.executable).parent
# The exposure that systemd-analyze gives a unit, from 0 (10 is shown as 1.0) to 100.
EXPOSURE_MAX = 15


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def environment():
    """Returns the environment without settings of this machine's own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DEBATE_")}


def check_configurations():
    variables = set()
    for file in sorted(FOLDER.rglob("debate.toml")):
        rows = json.loads(run(PROGRAM, "config", "check", file, "--json", env=environment()))
        variables |= {row["variable"] for row in rows}
        assert any(row["source"] == "file" for row in rows), f"{file} sets nothing"
    for file in [*FOLDER.rglob("*.yaml"), FOLDER / "Containerfile"]:
        named = set(re.findall(r"\b(?:DEBATE|OTEL)_[A-Z_]+(?==|:)", file.read_text(encoding="utf-8")))
        named |= set(re.findall(r"name: (DEBATE_[A-Z_]+)", file.read_text(encoding="utf-8")))
        assert named <= variables, f"{file} sets {named - variables}, which the program does not know"


def check_containerfile():
    run(TOOLS / "hadolint", FOLDER / "Containerfile")


def check_compose():
    schema = pathlib.Path(compose.__file__).parent / "config" / "compose_spec.json"
    document = yaml.safe_load((FOLDER / "compose" / "compose.yaml").read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
    faults = [f"{list(fault.path)}: {fault.message}" for fault in validator.iter_errors(document)]
    assert not faults, faults
    for config in document["configs"].values():
        assert (FOLDER / "compose" / config["file"]).is_file(), config
    server = document["services"]["debate"]
    tokens = pathlib.PurePosixPath(server["environment"]["DEBATE_TOKENS"])
    # A file that is replaced is seen through a mount of its folder alone.
    mounts = [mount for mount in server["volumes"] if mount["target"] == str(tokens.parent)]
    assert [(mount["type"], mount["read_only"]) for mount in mounts] == [("bind", True)], mounts
    made = f"--file {pathlib.PurePath(mounts[0]['source'], tokens.name)} "
    assert made in OPERATION.read_text(encoding="utf-8"), made


def check_kubernetes():
    files = sorted((FOLDER / "kubernetes").glob("*.yaml"))
    kinds = {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    manifests = [file for file in files if file.name != "kustomization.yaml"]
    run(TOOLS / "kubernetes-validate", "--strict", *manifests)
    pod = kinds["deployment.yaml"]["spec"]["template"]["spec"]
    server = pod["containers"][0]
    mounts = server["volumeMounts"]
    # What is replaced is not seen through a mount of one file.
    assert not any("subPath" in mount or "subPathExpr" in mount for mount in mounts), mounts
    [tokens] = [pathlib.PurePosixPath(row["value"]) for row in server["env"] if row["name"] == "DEBATE_TOKENS"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    secrets = [volumes[mount["name"]].get("secret") for mount in mounts if mount["mountPath"] == str(tokens.parent)]
    files = [[item["path"] for item in secret["items"]] for secret in secrets if secret]
    assert files == [[tokens.name]], secrets
    # The schemas know nothing of kustomize.
    listed = set(kinds["kustomization.yaml"]["resources"])
    assert listed == {file.name for file in manifests} - {"secret.example.yaml"}, listed


def check_unit():
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not installed; the unit is not checked")
        return
    unit = (FOLDER / "systemd" / "debate.service").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        # The program is here and not where it will be; the rest is as it is.
        file = pathlib.Path(folder) / "debate.service"
        file.write_text(unit.replace("/usr/local/bin/debate", PROGRAM), encoding="utf-8")
        assert PROGRAM in file.read_text(encoding="utf-8")
        verified = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
        ours = [line for line in verified.stderr.splitlines() if "debate.service" in line]
        assert not ours and verified.returncode == 0, verified.stderr
        run("systemd-sysusers", "--dry-run", FOLDER.resolve() / "systemd" / "debate.sysusers")
        run("systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", file)


def main():
    for check in [check_configurations, check_containerfile, check_compose, check_kubernetes, check_unit]:
        check()
        print(f"{check.__name__.removeprefix('check_')}: ok")


if __name__ == "__main__":
    main()
