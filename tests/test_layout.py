"""Layout of the source tree: packages, names with one meaning, and places that the pages refer to."""

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import pytest

import mrfbayes

PACKAGE = Path(mrfbayes.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 400  # lines of a file, docstrings not counted


def place(file):
    return file.relative_to(PACKAGE).as_posix()


def modules(folder):
    return [file for file in folder.rglob("*.py") if file.name != "__init__.py"]


def test_top_level_contains_only_public_modules():
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files <= {"__init__.py", "__main__.py", "priors.py", "datasets.py", "py.typed"}
    assert all((path / "__init__.py").is_file() for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_")


@functools.cache
def imported(file):
    """Modules of the package that a file imports anywhere, as paths without suffix."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mrfbayes."):
            base = node.module.removeprefix("mrfbayes.").replace(".", "/")
            found |= {base, *(f"{base}/{alias.name}" for alias in node.names)}
    return found


def test_kernel_with_the_name_of_a_module_is_called_by_its_package():
    """A kernel file named like a module elsewhere lies in the folder of that module's package, which calls it."""
    kernels = {file: place(file).removeprefix("kernels/") for file in modules(PACKAGE / "kernels")}
    others = [file for file in FILES if not place(file).startswith("kernels/") and file.name != "__init__.py"]
    twins = 0
    for kernel, name in kernels.items():
        if name.startswith("base/"):
            continue
        for other in others:
            if other.name != kernel.name or place(other).split("/")[0] in ("plots", "cli", "report", "paper"):
                continue
            package = place(other).split("/")[0].removesuffix(".py")
            assert package == name.split("/")[0].removesuffix(".py"), f"{place(kernel)} is no twin of {place(other)}"
            callers = [file for file in others if place(file).split("/")[0].removesuffix(".py") == package]
            assert any(f"kernels/{name.removesuffix('.py')}" in imported(file) for file in callers), place(kernel)
            twins += 1
    assert twins > 5  # the check finds something


def test_every_kernel_folder_mirrors_a_package():
    packages = {path.name for path in PACKAGE.iterdir()}
    for path in (PACKAGE / "kernels").iterdir():
        if path.name[0] != "_":
            assert path.name in packages, path


def definitions():
    """Classes and public constants: name -> the text of each definition, with its place."""
    found = defaultdict(dict)
    for file in FILES:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name][place(file)] = ast.dump(node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name, text in assigned(target, node.value):
                        if name.isupper() and name[0] != "_":
                            found[name][place(file)] = text
    return found


def assigned(target, value):
    """Names that an assignment gives values to, and the text of each value; those of a tuple one by one."""
    if isinstance(target, ast.Name):
        yield target.id, ast.dump(value) if value else ""
    elif isinstance(target, ast.Tuple):
        for number, name in enumerate(target.elts):
            each = value.elts[number] if isinstance(value, ast.Tuple) else None
            yield name.id, ast.dump(each) if each else f"{number} of {ast.dump(value)}"


def test_assignments_to_tuples_are_detected():
    node = ast.parse("A, B = 1, 2\nC, D = range(2)").body
    (a, one), (b, two) = assigned(node[0].targets[0], node[0].value)
    assert (a, b) == ("A", "B")
    assert one != two
    (c, first), (d, second) = assigned(node[1].targets[0], node[1].value)
    assert (c, d) == ("C", "D")
    assert first != second


def test_no_class_or_constant_means_two_things():
    several = {name: sorted(texts) for name, texts in definitions().items() if len(set(texts.values())) > 1}
    assert several == {}


# Files that still ask a result for the name of its engine, to choose words; nothing may be added here.
ASKS_FOR_THE_ENGINE = {
    "results/posterior.py",
    "report/findings.py",
    "report/methods_text.py",
    "report/sentences.py",
}


def compared_engines(source, names):
    """Lines on which something called ``engine`` is compared with the name of one, or looked up by it."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            sides = [node.func.value, *node.args]
        texts = {one.value for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)}
        if any(re.search(r"engine(\.name)?$", ast.unparse(side)) for side in sides) and texts & names:
            lines.append(node.lineno)
    return lines


def test_no_engine_is_compared_by_name_outside_its_file():
    from mrfbayes.engines.registry import ENGINE_ROWS

    names = {engine.name for engine in ENGINE_ROWS}
    found = {place(file) for file in FILES if compared_engines(file.read_text(encoding="utf-8"), names)}
    assert found <= ASKS_FOR_THE_ENGINE
    for line in ('if engine == "hmc": pass', 'a = "hmc" != setup.engine.name', '{"hmc": 1}.get(post.engine)'):
        assert compared_engines(line, names) == [1]  # the negative control
    assert compared_engines('a = engine == "particles"', names) == []


def test_files_stay_short():
    assert {place(file): n for file in FILES if (n := lines_without_docstrings(file)) > LONGEST} == {}


def lines_without_docstrings(file):
    text = file.read_text(encoding="utf-8")
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = [n.body[0] for n in ast.walk(ast.parse(text)) if isinstance(n, holders) and ast.get_docstring(n)]
    return len(text.splitlines()) - sum(node.end_lineno - node.lineno + 1 for node in first)


def test_tests_mirror_the_package():
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir()} | {"slow"}
    for path in (ROOT / "tests").iterdir():
        if path.is_dir() and path.name[0] not in "_.":
            assert path.name in packages, path


def table(page, heading):
    """Rows of the table under a heading."""
    text = (ROOT / page).read_text(encoding="utf-8").split(heading, 1)[1].split("\n## ", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"][2:]


EQUATION = re.compile(r"# .*?Eq\. \((\d+)\)")


def marked(file, function):
    """Numbers of the equations in comments of a function's lines."""
    source = file.read_text(encoding="utf-8")
    (node,) = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and n.name == function)
    lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
    return {
        int(number) for line in lines if "#" in line for number in re.findall(r"Eq\. \((\d+)\)", line.split("#", 1)[1])
    }


def test_every_equation_is_found_and_back():
    rows = table("CONTRIBUTING.md", "## Where the paper's equations are")
    listed = defaultdict(set)
    for number, where, _ in rows:
        name, function = where.strip("`").split(":")
        assert int(number) in marked(PACKAGE / name, function), f"Eq. ({number}) is not marked in {where}"
        listed[int(number)].add(name)
    assert sorted(listed) == list(range(1, 16))
    for file in FILES:
        for line in file.read_text(encoding="utf-8").splitlines():
            if EQUATION.search(line):
                for number in re.findall(r"Eq\. \((\d+)\)", line.split("#", 1)[1]):
                    assert place(file) in listed[int(number)], f"Eq. ({number}) in {place(file)} is not in the table"


def test_architecture_page_lists_every_package():
    listed = {row[0].strip("`/") for row in table("docs/architecture.md", "## Packages")}
    assert listed == {p.stem for p in PACKAGE.iterdir() if p.name[0] != "_" and p.name != "py.typed"}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_pages_name_files_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`(\w+/[\w/.]+\.(?:py|md))`", text)
    assert len(named) > 2
    for name in named:
        assert (ROOT / name).exists() or (PACKAGE / name).exists(), name


MOST_ANY = 60  # annotations outside kernels that say nothing; what is given from outside is `object` and narrowed


def says_nothing(text):
    """How often a source annotates with ``Any``."""
    if "Any" not in text:
        return 0
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(text)))


def test_few_annotations_say_nothing():
    found = {
        place(file): n
        for file in FILES
        if not place(file).startswith("kernels/") and (n := says_nothing(file.read_text(encoding="utf-8")))
    }
    assert sum(found.values()) <= MOST_ANY, found
    assert says_nothing("def f(x: Any) -> dict[str, Any]: ...") == 2  # the check finds something
    assert not re.search(r"^\w+( *:.*)? = Any$", "".join(file.read_text(encoding="utf-8") for file in FILES), re.M)


def unannotated(text):
    """Functions that are no kernels and lack an annotation: mypy passes over kernels in the files of methods."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and not any("kernel" in ast.unparse(d) for d in node.decorator_list):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if node.returns is None or any(a.annotation is None and a.arg not in ("self", "cls") for a in given):
                found.append(node.name)
    return found


def test_all_but_kernels_are_typed_in_the_files_of_methods():
    files = [file for file in FILES if place(file).startswith("methods/")]
    found = {place(file): names for file in files if (names := unannotated(file.read_text(encoding="utf-8")))}
    assert found == {}
    assert unannotated("@kernel\ndef f(x): ...\ndef g(x) -> int: ...\ndef h(x: int): ...") == ["g", "h"]


def test_details_are_read_back_in_one_place():
    """What code relies on has a type (`RunFacts`, `Calibration.source`, `SearchResult.set_difference`)."""
    reads = re.compile(r"(?<!outcome)\.details(\[|\.get\()|\bin \w+(\.\w+)*\.details\b(?!\.items)")
    found = {place(file) for file in FILES if reads.search(file.read_text(encoding="utf-8"))}
    assert found == {"calibration/matching.py", "structure/result.py"}
    assert reads.search('posterior.details.get("trust")')
    assert reads.search('"auto" in posterior.details')
