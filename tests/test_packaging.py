"""What a release consists of says the same everywhere: versions, Pythons, extras, types, workflows."""

import ast
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import mrfbayes as mb
from command_line import run
from mrfbayes.report.wording import fill
from release_check import problems

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def test_the_version_is_written_once(tmp_path):
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == mb.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "references"} <= set(citation)
    assert run("--version", cwd=tmp_path).stdout == f"mrfbayes {mb.__version__}\n"


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
        pattern = r'(?:mrfbayes\[|require_package\("\w+", ")(\w+)'
        named |= set(re.findall(pattern, file.read_text(encoding="utf-8")))
    assert {"dask", "sklearn", "interop"} <= named <= set(PROJECT["optional-dependencies"])


def test_security_names_tests_that_are_there():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / name).is_file(), name


# Names under which packages are imported, where that is not the name under which they are installed.
IMPORT_NAMES = {"scikit-learn": "sklearn"}
# Declared for what they do without an import: xarray writes netCDF files through one, users make models with the other.
NOT_IMPORTED = {"h5netcdf", "pymc"}
DEVELOPER_EXTRAS = ("docs", "test", "bench", "bridges")


def imports_of(root):
    """Top-level names of the packages that the files below ``root`` import, but for Python's own."""
    found = set()
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            found |= {name.split(".")[0] for name in names}
    return found - set(sys.stdlib_module_names) - {"mrfbayes"}


def declared(requirements):
    names = {re.match(r"[\w-]+", text).group() for text in requirements} - {"mrfbayes"}
    return {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}


def test_declared_dependencies_are_the_imported_ones():
    extras = PROJECT["optional-dependencies"]
    optional = set().union(*(declared(extras[name]) for name in extras if name not in DEVELOPER_EXTRAS))
    required = declared(PROJECT["dependencies"])
    assert not required & optional
    assert required | optional == imports_of(Path(mb.__file__).parent) | NOT_IMPORTED


def test_an_undeclared_import_is_noticed(tmp_path):
    (tmp_path / "module.py").write_text("import json\nfrom somewhere.inside import thing\n")
    assert imports_of(tmp_path) == {"somewhere"}


POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def posix_imports(root):
    """Files that import at their top level what only POSIX systems have."""
    found = {}
    for file in root.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            if POSIX_ONLY & set(names):
                found[file.name] = sorted(POSIX_ONLY & set(names))
    return found


def test_modules_can_be_imported_on_every_system(tmp_path):
    assert posix_imports(ROOT / "tests") == {}
    assert posix_imports(ROOT / "src") == {}
    (tmp_path / "test_a.py").write_text("import resource\n")
    assert posix_imports(tmp_path) == {"test_a.py": ["resource"]}


@pytest.fixture
def release_tree(tmp_path):
    """The files that a release is checked by, as if version 1.0.0 were about to be released."""
    for name in ("src/mrfbayes/__init__.py", "CITATION.cff", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8").replace(mb.__version__, "1.0.0")
        text = re.sub(r"^## 1.0.0 \(unreleased\)", "## 1.0.0 (2030-01-02)", text, flags=re.M)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_release_needs_tag_citation_and_changelog_of_one_version(release_tree):
    assert problems("v1.0.0", release_tree) == []
    (found,) = problems("v1.0.1", release_tree)
    assert "v1.0.1" in found
    citation, changelog = release_tree / "CITATION.cff", release_tree / "CHANGELOG.md"
    citation.write_text(
        citation.read_text(encoding="utf-8").replace("version: 1.0.0", "version: 0.9"), encoding="utf-8"
    )
    changelog.write_text(changelog.read_text(encoding="utf-8").replace("2030-01-02", "unreleased"), encoding="utf-8")
    assert [text.split(" ")[0] for text in problems("v1.0.0", release_tree)] == ["CITATION.cff", "CHANGELOG.md"]


def test_the_changelog_is_ordered_by_version_and_kind():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.*)$", text, re.M)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", version) for version in versions)
    assert versions[0].split(" ")[0] == mb.__version__.removesuffix(".dev0")
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed"}


def test_the_paper_is_cited_with_its_authors():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (paper,) = citation["references"]
    authors = [(author["family-names"], author["given-names"]) for author in paper["authors"]]
    assert authors == [("Liu", "Jie"), ("Zheng", "Hao")]
    initials = ", & ".join(f"{family}, {given[0]}." for family, given in authors)
    empty = SimpleNamespace(
        diagnostics=(), posterior=SimpleNamespace(engine="", method=""), edges=(), selection=None, nodes=()
    )
    assert fill("references", empty, {}) == [f"{initials} {paper['title']}."]
    full = " and ".join(f"{given} {family}" for family, given in authors)
    for page in ("README.md", "docs/mathematics/index.md", "paper/README.md"):
        assert full in (ROOT / page).read_text(encoding="utf-8"), page


def test_release_and_repository_files():
    release = workflow("release.yml")
    assert release[True] == {"push": {"tags": ["v*"]}}
    commands = [step.get("run", "") for step in release["jobs"]["build"]["steps"]]
    assert 'python tests/release_check.py "${GITHUB_REF_NAME}"' in commands
    assert "make test" in commands
    assert {"run": "make docs"} in workflow("test.yml")["jobs"]["docs"]["steps"]
    docs = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text(encoding="utf-8"))
    assert (ROOT / docs["sphinx"]["configuration"]).is_file()
    (install,) = docs["python"]["install"]
    extras = set(install["extra_requirements"])
    assert extras <= set(PROJECT["optional-dependencies"])
    shown = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    packages = {"jax": "jax", "sklearn": "sklearn", "pgmpy": "interop", "distributed": "dask"}  # pages are run there
    imported = set(re.findall(r"^(?:import|from) (\w+)", shown, re.MULTILINE))
    assert {extra for package, extra in packages.items() if package in imported} <= extras
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} >= {"ruff-format", "ruff-check", "import-contracts"}
    updated = {
        entry["package-ecosystem"]
        for entry in yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    }
    assert updated == {"pip", "github-actions"}
    for name in ("CODE_OF_CONDUCT.md", ".github/pull_request_template.md", ".github/ISSUE_TEMPLATE/bug_report.md"):
        assert (ROOT / name).is_file()


def plain(name):
    """A package name as the index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked():
    """Versions in the lock file, and how many hashes each has."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    parts = re.findall(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE)
    assert len(parts) == text.count("==")
    return {plain(name): (version, hashes.count("sha256:")) for name, version, hashes in parts}


def test_the_lock_file_has_all_dependencies_with_hashes():
    found = locked()
    needed = {plain(re.match(r"[\w.-]+", text).group()) for text in PROJECT["dependencies"]}
    assert needed <= set(found)
    assert all(count for _, count in found.values())


def test_the_bill_of_materials_lists_what_is_locked():
    materials = json.loads((ROOT / "sbom.cdx.json").read_text(encoding="utf-8"))
    assert materials["metadata"]["component"]["name"] == "mrfbayes"
    listed = {plain(one["name"]): one["version"] for one in materials["components"]}
    assert listed == {name: version for name, (version, _) in locked().items()}
