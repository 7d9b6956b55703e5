"""`mrfbayes.report`: an analysis as one self-contained page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from markupsafe import Markup

from mrfbayes import __version__
from mrfbayes.base.atomic_files import check_targets, write_text
from mrfbayes.base.errors import InputError
from mrfbayes.base.plain_text import visible
from mrfbayes.base.types import Scale
from mrfbayes.data.coding import coding_lines
from mrfbayes.model.result import Result
from mrfbayes.model.wording import meaning
from mrfbayes.plots.layouts import is_lattice
from mrfbayes.report import figures, tables
from mrfbayes.report.checks import checks
from mrfbayes.report.figures import Picture
from mrfbayes.report.findings import Findings
from mrfbayes.report.interactive import live_network
from mrfbayes.report.sentences import WORTH_SHOWING, brief, citations, methods_paragraph, sentences
from mrfbayes.report.tables import PageTable, frame_table
from mrfbayes.report.wording import plural, without_folder
from mrfbayes.results.posterior import Posterior
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    from mrfbayes.sampling.compare import Comparison


UNTITLED = "Posterior of a Markov random field"


class Section(NamedTuple):
    """A section of the page; ``live`` are the numbers of the network that its reader can change."""

    name: str
    heading: str
    paragraphs: list[str]
    tables: list[PageTable]
    pictures: list[Picture]
    live: Markup | None = None


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
    codebook: Mapping[str, str] | None = None,
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
    codebook : mapping of str to str, optional
        Texts of the items by name.
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
    target = Path(path)
    check_targets({"path": target}, overwrite=overwrite)
    if isinstance(posterior, Posterior):
        findings = Findings(posterior, cast("Scale", scale), check, selection, groups, dict(codebook or {}))
    else:
        findings = Findings.of(posterior, scale)
        findings.codebook = dict(codebook or {})
    write_text(target, render(findings, title or UNTITLED, source, _comparison(comparison)), overwrite)
    return target


def report_result(result: Result, path: str | PathLike[str], title: str, overwrite: bool) -> Path:
    """The report of a posterior, of a search over graphs or of groups: what `Result.report` writes."""
    if not isinstance(result, (Posterior, Selection, GroupComparison)):
        result._refuse("report", "a Posterior, a Fit, a Selection and a GroupComparison have one")
    return report(result, path, title=title, overwrite=overwrite)


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
    said, edges = findings.verdicts, findings.edges
    known = len(edges) > 1 and said["unknown"] < len(edges)
    parts = [*sections(findings), *(extra or [])]
    contents = [("brief", "In brief"), ("data", "Data"), ("trust", "Trust")]
    contents += [(part.name, part.heading) for part in parts] + [("methods", "Methods")]
    text = environment.get_template("page.html.j2").render(
        title=title,
        subtitle=_subtitle(findings, source),
        badges=_badges(findings),
        version=__version__,
        css=Markup(read["page.css"]),
        js=Markup(read["page.js"]),
        contents=contents,
        brief=brief(findings),
        tally=[(name, said[name]) for name in ("present", "undecided", "absent")] if known else [],
        fragile=int(edges["fragile"].sum()) if known else 0,
        meaning=meaning(findings.model, findings.scale),
        problems=[without_folder(text) for text in findings.data_problems],
        data_facts=_data_facts(findings),
        variables=tables.variable_table(findings),
        checks=checks(findings),
        doubts=findings.doubts,
        trust_pictures=figures.trust_pictures(findings),
        sections=parts,
        pick=known,
        paragraph=methods_paragraph(findings),
        sources=citations(findings),
        settings=_settings(findings),
    )
    return str(text)


def sections(f: Findings) -> list[Section]:
    """The sections between trust and methods, as far as there is anything in them."""
    known = len(f.edges) > 0 and f.verdicts["unknown"] < len(f.edges)
    pictures = figures.network_pictures(f)
    shown = [Section("picture", pictures[0].title, [], [], pictures, live_network(f))] if pictures else []
    shown.append(Section("edges", "Edges", [], [tables.edge_table(f)], figures.edge_pictures(f)))
    if f.sensitivity is not None:
        table = tables.sensitivity_page_table(f)
        said = sentences(f, "sensitivity_section")
        shown.append(
            Section("sensitivity", "Sensitivity to the priors", said, _kept(table), figures.sensitivity_pictures(f))
        )
    shown.append(Section("nodes", "Nodes", [], tables.node_tables(f), figures.node_pictures(f)))
    if f.selection is not None:
        drawn = figures.structure_pictures(f, WORTH_SHOWING)
        graphs = _kept(tables.graph_table(f, WORTH_SHOWING))
        shown.append(Section("structure", "The search over graphs", sentences(f, "structure_section"), graphs, drawn))
    if f.saturated is not None and f.saturated.verdicts["unknown"] < len(f.edges):
        table = tables.edge_table(f.saturated, "saturated")
        shown.append(Section("saturated", "The model with all edges", sentences(f, "saturated_section"), [table], []))
    if f.groups is not None:
        said, drawn = sentences(f, "groups_section"), figures.group_pictures(f)
        shown.append(Section("groups", "Differences between groups", said, [tables.difference_table(f)], drawn))
    further = _kept(tables.strength_table(f) if known else None, tables.sum_table(f), tables.information_table(f))
    shown.append(Section("further", "Further tables", [], further, []))
    return [part for part in shown if any(table.rows for table in part.tables) or part.pictures or part.paragraphs]


def all_tables(f: Findings) -> list[PageTable]:
    """Every table of the page, for files."""
    found = [table for part in sections(f) for table in part.tables]
    return [*_kept(tables.variable_table(f)), *found]


def _kept(*found: PageTable | None) -> list[PageTable]:
    return [table for table in found if table is not None]


def _subtitle(findings: Findings, source: str) -> str:
    posterior, model = findings.posterior, findings.posterior.model
    parts = [source] if source else []
    parts.append(f"{plural(round(posterior.n), 'observation')} of {plural(model.n_nodes, 'variable')}")
    parts.append(f"{plural(model.n_edges, 'edge')}, {plural(model.n_parameters, 'parameter')}")
    return " \u00b7 ".join(parts)


def _badges(findings: Findings) -> list[str]:
    posterior = findings.posterior
    found = [
        f"{posterior.target} target",
        f"method: {posterior.label}",
        f"prior: {posterior.settings.get('prior', '')}",
    ]
    if posterior.partial:
        found.append("partial run")
    return found


def _data_facts(findings: Findings) -> list[tuple[str, str]]:
    statistics, model = findings.statistics, findings.posterior.model
    n = findings.posterior.n
    is_counted = statistics is not None and statistics.n_rows > 0
    holes = None if statistics is None else statistics.holes
    used = 0 if statistics is None else statistics.n_rows + (0 if holes is None else holes.n_rows)
    facts = [] if findings.rows_read is None else [("rows read", f"{findings.rows_read:,}")]
    facts.append(("rows used", f"{used:,}" if is_counted or holes is not None else f"{n:,g}, by their counts"))
    if holes is not None:
        facts.append(("rows with missing cells", f"{holes.n_rows:,}"))
        facts += [("rows without any cell", f"{holes.n_empty:,}")] if holes.n_empty else []
    if statistics is not None and used and abs(n - used) > 1e-9:
        facts.append(("total weight", f"{n:,g}"))
    if model.grid_shape:
        facts.append(("variables", f"grid of {model.grid_shape[0]} x {model.grid_shape[1]}"))
    elif is_lattice(model):
        facts.append(("variables", f"{model.n_nodes:,} pixels of a grid"))
    else:
        facts.append(("variables", ", ".join(model.nodes[:40]) + (", ..." if model.n_nodes > 40 else "")))
    states = sorted(set(model.states.tolist()))
    facts.append(("states", ", ".join(map(str, states))))
    coded = [] if model.grid_shape else coding_lines(findings.posterior.schema)
    if coded:
        facts.append(("coding", "; ".join(coded[:12]) + ("; ..." if len(coded) > 12 else "")))
    facts.append(("SHA-256 begins", findings.posterior.data_digest[:16]))
    return facts


def _settings(findings: Findings) -> list[tuple[str, str]]:
    posterior = findings.posterior
    said = {name: value for name, value in posterior.settings.items() if value not in ({}, [], (), None, "")}
    rows = [(str(name), findings.seed if name == "seed" else _plain(value)) for name, value in said.items()]
    if "levels" in said:  # the section on the data tells them
        rows = [row for row in rows if row[0] != "levels"]
    spent = {name: value for name, value in posterior.timings.items() if value >= 0.05}
    rows += [("seconds", ", ".join(f"{name} {value:.1f}" for name, value in spent.items()))]
    if posterior.facts.auto is not None:
        rows.append(("method chosen because", posterior.facts.auto))
    rows.append(("versions", ", ".join(f"{name} {value}" for name, value in posterior.versions.items())))
    rows += [(f"not shown: {name}", reason) for name, reason in findings.missing.items()]
    return [(name, value) for name, value in rows if value]


def _plain(value: object) -> str:
    if isinstance(value, dict) and all(isinstance(one, (int, float, str, type(None))) for one in value.values()):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None)
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _comparison(comparison: Comparison | None) -> list[Section]:
    if comparison is None:
        return []
    from mrfbayes import plots

    plates = []
    if comparison.reference is not None and len(comparison.posteriors) > 1:
        says = "Errors of the posterior means and ratios of the sds of each method, against the exact posterior."
        svg = figures.inline(lambda: plots.comparison(comparison), "methods-compared", says)
        plates.append(Picture("methods-compared", "Methods", says, svg, "A dot per parameter; bars are averages."))
    table = frame_table("comparison", plural(len(comparison.table), "method"), comparison.table)
    model = next(iter(comparison.posteriors.values())).model
    text = f"Several methods on the same data ({model!r}), against the exact posterior where it can be had."
    return [Section("comparison", "Comparison of methods", [text], [table], plates)]
