"""Rules for the test files themselves: what they import, what they do at import, and which texts they compare."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
MOST_WORDS = 8  # in a row that match= compares: wording is free to improve
WORDING = {"report/test_sentences.py"}  # the one file that compares whole sentences; HTML and code are no sentences
# What a test file may call at its top: names that build a field, a coding or a list of cases, without any computation.
BUILDERS = {
    *("grid", "graph", "complete", "Model", "Factor", "Schema", "Variable", "Data", "from_counts", "Cell", "Region"),
    *("Uniform", "Beta", "Dirichlet", "Normal", "Cauchy", "Logistic", "Exchangeable", "items", "values"),
    *("load_adhd", "load_boredom", "load_digits"),
}


def imports_of_tests(tree):
    """Test modules that a module imports from."""
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return [name for name in names if name.split(".")[-1].startswith("test_")]


def calls_at_import(tree):
    """Functions of the package that run when the module is imported."""
    imported = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mrfbayes"):
            imported |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name for alias in node.names if alias.name.startswith("mrfbayes")}
    calls, parts = [], [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr))]
    while parts:
        part = parts.pop()
        if not isinstance(part, ast.Lambda):
            parts += ast.iter_child_nodes(part)
            calls += [ast.unparse(part.func).split(".")] if isinstance(part, ast.Call) else []
    return [names[-1] for names in calls if names[0] in imported]


def compared_sentences(tree):
    """Texts of match=, and texts compared by assert, with more than `MOST_WORDS` words in a row."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "match":
            texts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            found.append("X".join(str(part) for part in texts))
        elif isinstance(node, ast.Assert):
            compared = [
                side for part in ast.walk(node.test) if isinstance(part, ast.Compare) for side in operands(part)
            ]
            found += [side.value for side in compared if isinstance(side, ast.Constant)]
    return [text for text in map(str, found) if any(len(words(part)) > MOST_WORDS for part in text.split(".*"))]


def operands(comparison):
    return [comparison.left, *comparison.comparators]


def words(text):
    return re.findall(r"(?:^|\s)[A-Za-z]{2,}", text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_file_keeps_the_rules(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert imports_of_tests(tree) == []
    assert set(calls_at_import(tree)) <= BUILDERS
    assert compared_sentences(tree) == [] or file.relative_to(TESTS).as_posix() in WORDING


def test_each_rule_can_be_broken():
    tree = ast.parse(
        "import mrfbayes as mb\n"
        "from test_pages import run\n"
        "DATA = mb.simulate(mb.grid(2, 2), 0.6, 10)\n"
        "raises(match='this is a sentence of more than eight words in a row')\n"
        "raises(match='theta = 1.5 .*grid')\n"
        "assert 'this is a sentence of more than eight words in a row' in text\n"
    )
    assert imports_of_tests(tree) == ["test_pages"]
    assert sorted(calls_at_import(tree)) == ["grid", "simulate"]
    assert len(compared_sentences(tree)) == 2


def test_every_module_has_a_test_file_under_its_name():
    source = TESTS.parent / "src" / "mrfbayes"
    modules = [path.relative_to(source) for path in source.rglob("*.py") if not path.stem.startswith("__")]
    assert len(modules) > 200
    assert [str(path) for path in modules if not (TESTS / path.with_name(f"test_{path.name}")).exists()] == []
