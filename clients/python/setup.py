"""Generates the wire types of debate.v1 from proto/ while the package is built; they are in no repository."""

import atexit
import pathlib
import shutil
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

# What is built on the way stays out of the sources.
ASIDE = tempfile.mkdtemp(prefix="debate-client-")
atexit.register(shutil.rmtree, ASIDE, ignore_errors=True)
PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"


class WithStubs(build_py):
    def run(self):
        super().run()
        from grpc_tools import protoc

        out = pathlib.Path(self.build_lib)
        files = [str(file) for file in sorted((PROTO / "debate" / "v1").glob("*.proto"))]
        kinds = ["python", "pyi", "grpc_python"]
        bundled = pathlib.Path(protoc.__file__).parent / "_proto"
        command = ["protoc", f"-I{PROTO}", f"-I{bundled}", *(f"--{kind}_out={out}" for kind in kinds), *files]
        if protoc.main(command) != 0:
            sys.exit("the wire types cannot be generated")
        for folder in [out / "debate", out / "debate" / "v1"]:
            (folder / "__init__.py").write_text('"""Generated wire types of debate.v1."""\n', encoding="utf-8")


setup(
    cmdclass={"build_py": WithStubs},
    options={"build": {"build_base": ASIDE}, "egg_info": {"egg_base": ASIDE}},
)
