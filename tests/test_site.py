"""The site is built without a warning and asks for nothing from elsewhere; test_pages runs its code."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# What a cell is written in is known only once it was run.
NOT_RUN = ["-D", "nb_execution_mode=off", "-D", "suppress_warnings=myst-nb.lexer"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    shutil.rmtree(ROOT / "docs" / "reference" / "generated", ignore_errors=True)  # pages of names that are gone
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", *NOT_RUN, "-b", "html"]
    done = subprocess.run([*command, str(ROOT / "docs"), str(place)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return place


def test_every_page_is_built(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", "first_five_minutes.html", "examples/questionnaire.html", "reference/api.html"} <= pages
    assert "reference/generated/mrfbayes.sample.html" in pages
    assert "measured/dense.html" in pages


def test_the_reference_has_every_method_with_its_arguments(site):
    """A list of their first lines told nobody what `edges(scale=)` takes."""
    text = (site / "reference" / "generated" / "mrfbayes.Posterior.html").read_text(encoding="utf-8")
    for name in ("edges", "summary", "predict", "save", "r_hat"):
        assert f'id="mrfbayes.Posterior.{name}"' in text
    plain = re.sub(r"<[^>]+>", "", text)
    assert "mean ((p,) ndarray) \N{EN DASH} Posterior means" in plain
    assert "impute(m: int = 10, data: DataLike | None = None" in plain
    text = (site / "reference" / "generated" / "mrfbayes.sample.html").read_text(encoding="utf-8")
    assert 'href="mrfbayes.Model.html#mrfbayes.Model"' in text  # types are links
    assert 'href="https://numpy.org/doc/stable/reference/random/generator.html#numpy.random.Generator"' in text


def test_pictures_of_cells_are_described_by_what_drew_them(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    from alt_texts import drawing_line

    assert drawing_line("check = f(x)\nmb.plots.predictive(check);") == "mb.plots.predictive(check)"
    assert drawing_line("figure, ax = plt.subplots()\nmb.plots.field(model, post, ax=ax)").startswith("mb.plots")


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+rel=\"stylesheet\"[^>]+href=\"(?:https?:)?//"
    )
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text(encoding="utf-8")), page.name


def test_formulas_are_mathml(site):
    text = (site / "mathematics" / "coin.html").read_text(encoding="utf-8")
    assert text.count("<math") >= 4
    assert not re.search(r"<script[^>]*mathjax", text, re.IGNORECASE)


@pytest.mark.parametrize(
    "formula", [r"\tfrac12 L_{abcd}", r"\frac 12", r"{\hat\theta}_j", r"\hat\theta_j", r"\hat{w}_j"]
)
def test_formulas_that_would_be_drawn_wrongly_end_the_build(formula, monkeypatch):
    """docutils draws twelve over L, and j under theta; three pages had such formulas."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    from mathml import checked

    with pytest.raises(ValueError, match="write braces around both parts"):
        checked(formula)
    good = r"\tfrac{1}{2} L_{abcd} \hat{\theta_j} \hat w + \hat g(w_j)"
    assert checked(good) == good


def test_a_function_stands_apart_from_its_argument(monkeypatch):
    """Browsers draw "logZ" otherwise."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    from mathml import drawn

    assert drawn(r"\log Z").count("rspace") == 1
    assert drawn(r"\log\det(I - TF) + \exp(x)").count("rspace") == 1


def test_pages_run_apart_and_end_where_a_command_fails():
    """Pages wrote into docs/, and showed "command not found" where their environment was not activated."""
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert "nb_execution_in_temp = True" in conf
    assert 'os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent)' in conf
    kernel = (ROOT / "docs" / "_ipython" / "ipython_kernel_config.py").read_text(encoding="utf-8")
    assert "system_raise_on_error = True" in kernel


def test_a_changed_package_runs_every_page_anew(tmp_path, monkeypatch):
    """Pages of an earlier state of the package stayed on the site, with what it had printed."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    from executed_pages import kept_in

    package, pages = tmp_path / "package", tmp_path / "pages"
    (package / "rooms").mkdir(parents=True)
    (package / "rooms" / "a.py").write_text("x = 1")
    first = kept_in(pages, package)
    first.mkdir(parents=True)
    assert kept_in(pages, package) == first
    assert first.is_dir()
    (package / "rooms" / "a.py").write_text("x = 2")
    assert kept_in(pages, package) != first
    assert not first.exists()
