"""Realistic mistakes, one at a time, in a copy of the tree: which test notices each of them?

    python benchmarks/trust/mutants.py --seconds 3600
    python benchmarks/trust/mutants.py --only report

`mutants.toml` lists them as rewrites of a pattern in a function that is found by its name, so that they outlive moves
of code. The test that noticed a mutant the last time runs first, then those of its module; they stop at the first
failure. A mutant that they do not notice meets the tests of its neighbours. A mutant whose function or pattern is gone
is reported as stale.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

from units import RESULTS, ROOT, Record

LIST = Path(__file__).with_name("mutants.toml")
COPIED = ("src", "tests", "pyproject.toml", "benchmarks", "docs", "paper", "README.md", "CONTRIBUTING.md")
TEST_SECONDS = 1_800


class Stale(Exception):
    """The code that a mutant changes is not there any more."""


def find_function(root: Path, package: str, name: str) -> tuple[Path, int, int]:
    """File, first and last line of the function ``name``; a dot leads inside a class.

    It is looked for in the package, and in all others where it has moved.
    """
    source = root / "src" / "mrfbayes"
    found: list[tuple[Path, int, int]] = []
    for folder in (source / package, source):
        files = [folder.with_suffix(".py")] if folder.with_suffix(".py").is_file() else sorted(folder.rglob("*.py"))
        for path in files:
            text = path.read_text(encoding="utf-8")
            if f"def {name.rpartition('.')[2]}(" in text:  # parsing every file would take minutes
                found += [(path, *place) for place in _places(ast.parse(text), name.split("."))]
        if found:
            break
    if len(found) != 1:
        raise Stale(f"{len(found)} functions {name} in {package}")
    return found[0]


def _places(tree: ast.AST, parts: list[str]) -> list[tuple[int, int]]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.iter_child_nodes(tree) if isinstance(node, kinds) and node.name == parts[0]]
    if len(parts) > 1:
        return [place for node in nodes for place in _places(node, parts[1:])]
    return [(node.lineno, int(node.end_lineno or node.lineno)) for node in nodes]


def pattern_of(text: str) -> re.Pattern[str]:
    """``text`` with any white space where it has some, so that a mutant outlives another layout of the code."""
    return re.compile(r"\s+".join(map(re.escape, text.split())))


def place_of(root: Path, mutant: dict[str, str]) -> tuple[Path, int, int]:
    """The file that a mutant changes, and the first and last line of the part that it is in."""
    if "function" in mutant:
        return find_function(root, mutant["package"], mutant["function"])
    source, pattern = root / "src" / "mrfbayes", pattern_of(mutant["find"])  # a constant of a module
    for folder in (source / mutant["package"], source):
        files = [path for path in sorted(folder.rglob("*.py")) if pattern.search(path.read_text(encoding="utf-8"))]
        if len(files) == 1:
            return files[0], 1, 10**9
    raise Stale(f"{len(files)} files of {mutant['package']} with {mutant['find']!r}")


def mutate(root: Path, mutant: dict[str, str]) -> tuple[Path, str]:
    """Write the mistake into the tree at ``root``: the changed file, and its content before."""
    path, first, last = place_of(root, mutant)
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    part = "".join(lines[first - 1 : last])
    changed, times = pattern_of(mutant["find"]).subn(lambda _: mutant["replace"], part)
    if times != 1:
        raise Stale(f"{times} times {mutant['find']!r} in {mutant.get('function', path.name)}")
    text = "".join([*lines[: first - 1], changed, *lines[last:]])
    ast.parse(text)
    path.write_text(text, encoding="utf-8")
    return path, before


def run_tests(root: Path, tests: list[str]) -> str:
    """The first test that fails below ``root``; empty where all pass."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    there = [name for name in tests if (root / name.partition("::")[0]).exists()]
    if not there:
        return ""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *there]
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=TEST_SECONDS)
    except subprocess.TimeoutExpired:
        return "no end of the tests"
    if done.returncode in (0, 5) or "ERROR: not found" in done.stderr:  # a test that was renamed tells nothing
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed.group(1) if failed else f"status {done.returncode}"


class Tree:
    """A copy of the project, made once."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                left_out = ("__pycache__", "results") if name == "benchmarks" else ("__pycache__",)
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(*left_out))
            elif source.exists():
                shutil.copy(source, folder / name)
        self._sound: dict[tuple[str, ...], str] = {}

    def meet(self, mutant: dict[str, str], tests: list[list[str]]) -> dict[str, object]:
        """What becomes of a mutant: "killed" by a test, "survived", "stale", or not told since tests fail anyway."""
        try:
            path, before = mutate(self.root, mutant)
        except Stale as reason:
            return {"outcome": "stale", "by": str(reason)}
        try:
            for names in tests:
                by = run_tests(self.root, names)
                if by:
                    path.write_text(before, encoding="utf-8")
                    return {"outcome": "killed" if self._passes(by, names) else "tests fail without it", "by": by}
            return {"outcome": "survived", "by": ""}
        finally:
            path.write_text(before, encoding="utf-8")

    def _passes(self, by: str, names: list[str]) -> bool:
        """Whether the test that failed passes without the mutant; all tests where none was named."""
        key = (by.partition("[")[0],) if "::" in by else tuple(names)  # names of cases may have spaces
        if key not in self._sound:
            self._sound[key] = run_tests(self.root, list(key))
        return not self._sound[key]


def main() -> None:
    """Meet the mutants that are not in the record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=36_000.0, help="time to spend in this call")
    parser.add_argument("--again", action="store_true", help="repeat what ran on other commits")
    parser.add_argument("--only", default="", help="regular expression for the names to run")
    parser.add_argument("--first", action="store_true", help="only the first tests of each; the rest is left for later")
    parser.add_argument("--record", type=Path, default=RESULTS / "mutants.jsonl")
    parser.add_argument("--check", action="store_true", help="only see that every mutant can be written")
    asked = parser.parse_args()
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    chosen = [mutant for mutant in listed["mutant"] if re.search(asked.only, mutant["name"])]
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder))
        if asked.check:
            stale = stale_mutants(tree.root, chosen)
            print("\n".join([*stale, f"{len(chosen)} mutants, {len(stale)} stale"]))
            sys.exit(bool(stale))
        record = Record(asked.record)

        def meet(mutant: dict[str, str]) -> dict[str, object] | None:
            known = record.rows.get(mutant["name"], {})
            last = [str(known["by"]).partition("[")[0]] if known.get("outcome") == "killed" else []
            own = mutant.get("tests") or [f"tests/{mutant['package']}"]
            if asked.first:
                found = tree.meet(mutant, [last, own[:1]])
                return None if found["outcome"] == "survived" else found
            return tree.meet(mutant, [last, *([name] for name in own), listed["neighbours"].get(mutant["package"], [])])

        units = [(mutant["name"], lambda mutant=mutant: meet(mutant)) for mutant in chosen]
        record.run(units, asked.seconds, asked.again)  # type: ignore[arg-type]
    outcomes = Counter(str(record.rows[m["name"]]["outcome"]) for m in listed["mutant"] if m["name"] in record.rows)
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
    print("\n".join(f"survived: {name}" for name, row in record.rows.items() if row["outcome"] == "survived"))


def stale_mutants(root: Path, mutants: list[dict[str, str]]) -> list[str]:
    """The mutants that cannot be written, with the reason."""
    stale = []
    for mutant in mutants:
        try:
            path, before = mutate(root, mutant)
        except Stale as reason:
            stale.append(f"{mutant['name']}: {reason}")
        else:
            path.write_text(before, encoding="utf-8")
    return stale


if __name__ == "__main__":
    main()
