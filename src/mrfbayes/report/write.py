"""`mrfbayes.report`: an analysis as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import NamedTuple, cast

from markupsafe import Markup

from mrfbayes import __version__, plots
from mrfbayes.base.atomic_files import check_targets, write_text
from mrfbayes.base.errors import InputError
from mrfbayes.base.plain_text import visible
from mrfbayes.base.types import Scale
from mrfbayes.model.result import Result
from mrfbayes.model.scales import meaning
from mrfbayes.plots.layouts import is_lattice
from mrfbayes.report import figures, tables
from mrfbayes.report.codebook import read_codebook
from mrfbayes.report.figures import Picture, PicturePlan, live_network
from mrfbayes.report.findings import Findings
from mrfbayes.report.sentences import WORTH_SHOWING, brief, checks, citations, facts, methods_paragraph, sentences
from mrfbayes.report.tables import PageTable, frame_table
from mrfbayes.report.wording import plural, without_folder
from mrfbayes.results.posterior import Posterior
from mrfbayes.sampling.compare import Comparison
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.selection import Selection

UNTITLED = "Posterior of a Markov random field"


class Section(NamedTuple):
    """A section of the page; ``live`` are the numbers of the network that its reader can change."""

    name: str
    heading: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[PageTable] = ()
    plans: Sequence[PicturePlan] = ()
    live: Markup | None = None
    pictures: Sequence[Picture] = ()


def report(
    posterior: Posterior | Selection | GroupComparison,
    path: str | PathLike[str],
    *,
    title: str = "",
    source: str = "",
    scale: Scale | None = None,
    comparison: Comparison | None = None,
    selection: Selection | None = None,
    groups: GroupComparison | None = None,
    codebook: Mapping[str, str] | str | PathLike[str] | None = None,
    check: bool = True,
    overwrite: bool = False,
) -> Path:
    """Write an HTML file with the results, their reliability and the settings of a run.

    The file contains its figures, tables, style and script: it needs no server and loads nothing.

    Parameters
    ----------
    posterior : Posterior, Selection or GroupComparison
        Result of `mrfbayes.sample`, `mrfbayes.select`, `mrfbayes.compare_groups` or `mrfbayes.load`.
    path : str or path
        File to write.
    title : str, default ""
        Title of the page.
    source : str, default ""
        Origin of the data, for the subtitle.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the tables; by default the usual one for the model.
    comparison : Comparison, optional
        Result of `mrfbayes.compare`, for a section on methods.
    selection : Selection, optional
        Result of `mrfbayes.select`, for a section on the structure.
    groups : GroupComparison, optional
        Result of `mrfbayes.compare_groups`, for a section on differences.
    codebook : mapping of str to str, str or path, optional
        Texts of the items by name, or a CSV file with a name and a text in each row.
    check : bool, default True
        Whether a posterior predictive check is made if it takes seconds.
    overwrite : bool, default False
        Whether an existing file is replaced.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    InputError
        If the file exists and ``overwrite`` is false.

    See Also
    --------
    Result.report : The report of any result.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.report(posterior, "report.html", check=False).name
    'report.html'
    """
    if not isinstance(posterior, (Posterior, Selection, GroupComparison)):
        raise InputError(f"report: got {type(posterior).__name__}; give a posterior, a selection or a comparison.")
    parts = {
        "comparison": (comparison, Comparison),
        "selection": (selection, Selection),
        "groups": (groups, GroupComparison),
    }
    for name, (given, kind) in parts.items():
        if given is not None and not isinstance(given, kind):
            raise InputError(f"{name}: got {type(given).__name__}, expected a {kind.__name__}.")
    if not isinstance(posterior, Posterior) and (selection is not None or groups is not None):
        raise InputError("selection and groups are shown beside a posterior: give that first.")
    target, texts = Path(path), read_codebook(codebook, posterior.model)
    check_targets({"path": target}, overwrite=overwrite)
    if isinstance(posterior, Posterior):
        findings = Findings(posterior, cast("Scale", scale), check, selection, groups, texts)
    else:
        findings = Findings.of(posterior, scale, check)
        findings.codebook = texts
    write_text(target, render(findings, title or UNTITLED, source, _comparison(comparison)), overwrite)
    return target


def report_result(result: Result, path: str | PathLike[str], title: str, overwrite: bool) -> Path:
    """The report of a posterior, of a search over graphs, of groups, or of a fit: what `Result.report` writes."""
    target, source = Path(path), Path(getattr(result, "source", ""))
    check_targets({"path": target}, overwrite=overwrite)
    text = render(Findings.of(result), title or source.stem or UNTITLED, source.name)
    write_text(target, text, overwrite)
    return target


def render(findings: Findings, title: str, source: str, extra: list[Section] | None = None) -> str:
    """The page as text."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    folder = resources.files("mrfbayes.report")
    read = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.html.j2", "page.css", "page.js")}
    environment = Environment(
        loader=DictLoader(read),
        autoescape=True,
        finalize=lambda value: visible(value, keep="\n\t") if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plural"] = plural
    said = findings.verdicts
    is_judged = findings.is_judged and len(findings.edges) > 1
    trust, parts = figures.drawn(findings, figures.trust_plans(findings)), []
    for section in [*sections(findings), *(extra or [])]:
        part = section._replace(pictures=figures.drawn(findings, section.plans))
        if any(table.rows for table in part.tables) or part.pictures or part.paragraphs:
            parts.append(part)
    contents = [("brief", "In brief"), ("data", "Data"), ("trust", "Trust")]
    contents += [(part.name, part.heading) for part in parts] + [("methods", "Methods")]
    text = environment.get_template("page.html.j2").render(
        title=title,
        source=source,
        f=findings,
        version=__version__,
        css=Markup(read["page.css"]),
        js=Markup(read["page.js"]),
        contents=contents,
        brief=brief(findings),
        tally=[(name, said[name]) for name in ("present", "undecided", "absent")] if is_judged else [],
        fragile=int(findings.edges["fragile"].sum()) if is_judged else 0,
        meaning=meaning(findings.model, findings.scale),
        problems=[without_folder(text) for text in findings.data_problems],
        data_facts=facts(findings, "data_facts"),
        variables=tables.variable_table(findings),
        checks=checks(findings),
        trust_pictures=trust,
        sections=parts,
        pick=is_judged,
        paragraph=methods_paragraph(findings),
        sources=citations(findings),
        settings=facts(findings, "settings"),
    )
    return str(text)


def sections(f: Findings) -> list[Section]:
    """The sections between trust and methods, as far as there is anything in them; their pictures are not yet drawn."""
    networks = figures.network_plans(f)
    found = [
        Section("picture", "The field" if is_lattice(f.model) else "The network", plans=networks, live=live_network(f)),
        Section("edges", "Edges", tables=[tables.edge_table(f)], plans=figures.edge_plans(f)),
        Section("nodes", "Nodes", tables=tables.node_tables(f), plans=figures.node_plans(f)),
    ]
    if f.sensitivity is not None:
        said, table = sentences(f, "sensitivity_section"), tables.sensitivity_tables(f)
        plans = [PicturePlan("sensitivity", partial(plots.sensitivity, f.sensitivity))]
        found.insert(2, Section("sensitivity", "Sensitivity to the priors", said, table, plans))
    if f.selection is not None:
        graphs, plans = tables.graph_tables(f, WORTH_SHOWING), figures.structure_plans(f, WORTH_SHOWING)
        found.append(Section("structure", "The search over graphs", sentences(f, "structure_section"), graphs, plans))
    if f.saturated is not None and f.saturated.is_judged:
        said, table = sentences(f, "saturated_section"), [tables.edge_table(f.saturated, "saturated")]
        found.append(Section("saturated", "The model with all edges", said, table))
    if f.groups is not None:
        said, table = sentences(f, "groups_section"), [tables.difference_table(f)]
        found.append(Section("groups", "Differences between groups", said, table, figures.group_plans(f)))
    further = tables.strength_tables(f) + tables.sum_tables(f) + tables.information_tables(f)
    return [*found, Section("further", "Further tables", tables=further)]


def all_tables(f: Findings) -> list[PageTable]:
    """Every table of the page, for files."""
    parts = (table for part in sections(f) for table in part.tables)
    found = [tables.variable_table(f), *parts, *tables.order_tables(f)]
    return [table for table in found if table is not None and table.rows]


def _comparison(comparison: Comparison | None) -> list[Section]:
    if comparison is None:
        return []
    plans = []
    if comparison.reference is not None and len(comparison.posteriors) > 1:
        plans.append(PicturePlan("comparison", partial(plots.comparison, comparison), 1.0))
    table = frame_table("comparison", plural(len(comparison.table), "method"), comparison.table)
    model = next(iter(comparison.posteriors.values())).model
    text = f"Several methods on the same data ({model!r}), against the exact posterior where it can be had."
    return [Section("comparison", "Comparison of methods", [text], [table], plans)]
