"""Loading never executes: what the package's code must not call, and hostile names and files in one place."""

import ast
from pathlib import Path

import pytest

import mrfbayes as mb

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
ROOT = Path(mb.__file__).parent
MODULES = {
    "pickle",
    "dill",
    "joblib",
    "shelve",
    "marshal",
    "yaml",
    "ctypes.util",
    "lxml",
    "xml.sax",
    "xml.dom",
    "urllib",
    "requests",
}
CALLS = {"eval", "compile", "__import__", "os.system", "os.popen", "pickle.loads", "pickle.load", "yaml.load"}
PARSED = {"model/formats.py", "report/exported.py"}  # XML: read after entities were refused; escaped in what is written
STARTS: set[str] = set()  # files that start processes


def named(node):
    """The dotted name of a call's function."""
    if isinstance(node, ast.Attribute):
        return f"{named(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def uses(path):
    """Modules and functions that a file names."""
    imported, called, keywords = set(), set(), []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call):
            called.add(named(node.func))
            keywords += [(keyword.arg, ast.unparse(keyword.value)) for keyword in node.keywords]
    return imported, called, keywords


@pytest.fixture(scope="module")
def files():
    return {path.relative_to(ROOT).as_posix(): uses(path) for path in ROOT.rglob("*.py")}


def test_no_file_unpickles_or_evaluates(files):
    found = {name: sorted((imported & MODULES) | (called & CALLS)) for name, (imported, called, _) in files.items()}
    assert {name: what for name, what in found.items() if what} == {}


def test_arrays_are_loaded_without_objects_and_no_shell_is_started(files):
    for name, (_, called, keywords) in files.items():
        assert ("allow_pickle", "True") not in keywords, name
        assert ("shell", "True") not in keywords, name
        if "np.load" in called:
            assert ("allow_pickle", "False") in keywords, name


def test_xml_and_processes_are_used_where_they_are_known(files):
    xml = {name for name, (imported, _, _) in files.items() if any(one.startswith("xml") for one in imported)}
    starts = {name for name, (_, called, _) in files.items() if {"subprocess.run", "subprocess.Popen"} & called}
    assert xml <= PARSED
    assert starts <= STARTS


def test_no_file_listens(files):
    """Processes are connected by pipes, and Dask clusters are those of the user."""
    listening = {
        "LocalCluster",
        "Server",
        "ThreadingHTTPServer",
        "HTTPServer",
        "socketserver",
        "socket",
        "create_server",
    }
    for name, (imported, called, _) in files.items():
        words = {word for dotted in imported | called for word in dotted.split(".")}
        assert not words & listening, name


def test_the_search_finds_what_it_looks_for(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("import pickle\nfrom yaml import load\npickle.loads(b'')\neval('1')\nrun('x', shell=True)\n")
    imported, called, keywords = uses(path)
    assert imported >= {"pickle", "yaml"}
    assert called >= {"eval", "pickle.loads"}
    assert ("shell", "True") in keywords


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><graphml>&a;</graphml>',
        b'<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><graphml/>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE x [<!ENTITY a "b">]><graphml>&a;</graphml>'.encode("utf-16"),
    ],
)
def test_document_types_and_entities_are_refused(tmp_path, content):
    path = tmp_path / "graph.graphml"
    path.write_bytes(content)
    with pytest.raises(mb.InputError):
        mb.graph(path)


@pytest.mark.parametrize("target", ["../escaped.nc", "inside/../../escaped.nc"])
def test_saving_does_not_leave_the_folder_of_a_relative_path(tmp_path, monkeypatch, target):
    folder = tmp_path / "work"
    (folder / "inside").mkdir(parents=True)
    monkeypatch.chdir(folder)
    post = mb.sample(mb.grid(1, 2), [[0, 1], [1, 1], [0, 0]], "exact", draws=50, chains=1, rng=1, progress=False)
    with pytest.raises(mb.InputError):
        post.save(target)
    assert not (tmp_path / "escaped.nc").exists()
