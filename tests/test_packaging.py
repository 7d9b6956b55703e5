"""What a release consists of says the same everywhere: versions, Pythons, extras, types, workflows."""

import re
import tomllib
from pathlib import Path

import yaml

import mrfbayes as mb

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def test_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] == mb.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "references"} <= set(citation)


def test_types_are_part_of_the_package():
    assert (Path(mb.__file__).parent / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_the_same_pythons_everywhere():
    said = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert said == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    matrix = workflow("test.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert workflow("build.yml")["jobs"]["install"]["strategy"]["matrix"]["python"] == PYTHONS


def test_workflows_may_only_read_and_run_what_people_run():
    for name in ("test.yml", "build.yml"):
        assert workflow(name)["permissions"] == {"contents": "read"}
    steps = workflow("test.yml")["jobs"]["make-test"]["steps"]
    assert {"run": "make test"} in steps
    commands = [step.get("run", "") for step in workflow("build.yml")["jobs"]["install"]["steps"]]
    (script,) = (part for command in commands for part in command.split() if part.endswith(".py"))
    assert (ROOT / script).is_file()


def test_every_extra_that_a_message_names_is_one():
    named = set()
    for file in Path(mb.__file__).parent.rglob("*.py"):
        named |= set(re.findall(r"mrfbayes\[(\w+)\]", file.read_text(encoding="utf-8")))
    assert {"dask", "sklearn", "interop"} <= named <= set(PROJECT["optional-dependencies"])


def test_security_names_tests_that_are_there():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / name).is_file(), name
