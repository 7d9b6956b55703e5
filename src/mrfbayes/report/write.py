"""`mrfbayes.report`: a posterior as one self-contained page."""

from __future__ import annotations

import json
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
from mrfbayes.report.checks import checks
from mrfbayes.report.figures import Picture, inline, node_pictures, pictures
from mrfbayes.report.findings import Findings
from mrfbayes.report.methods_text import citations, methods_paragraph
from mrfbayes.report.sentences import brief
from mrfbayes.report.structure_sections import Section, groups_section, selection_section
from mrfbayes.report.tables import edge_table, frame_table, node_table, variable_table
from mrfbayes.report.wording import plural, without_folder
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    from mrfbayes.sampling.compare import Comparison
    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.selection import Selection


UNTITLED = "Posterior of a Markov random field"


def report(
    posterior: Posterior,
    path: str | PathLike[str],
    *,
    title: str = "",
    source: str = "",
    scale: Scale | None = None,
    comparison: Comparison | None = None,
    selection: Selection | None = None,
    groups: GroupComparison | None = None,
    check: bool = True,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file that says what was asked, what came out and how far to trust it.

    The file holds its pictures, tables, style and script: it needs no server and loads nothing.

    Parameters
    ----------
    posterior : from `mrfbayes.sample` or `mrfbayes.load`
    path : file to write
    title : of the page
    source : where the data came from, for the subtitle
    scale : "theta", "log-odds" or "ising"; by default the one that people quote of such a model
    comparison : from `mrfbayes.compare`, for a section on the methods
    selection : from `mrfbayes.select`, for a section on the structure
    groups : from `mrfbayes.compare_groups`, for a section on differences
    check : whether a posterior predictive check is made where that takes seconds
    overwrite : whether a file that exists is replaced

    Returns
    -------
    the path
    """
    if not isinstance(posterior, Posterior):
        raise InputError(f"report: got {type(posterior).__name__}; give a posterior from mrfbayes.sample.")
    target = Path(path)
    check_targets({"path": target}, overwrite=overwrite)
    findings = Findings(posterior, cast("Scale", scale), check)
    extra = _comparison(comparison)
    extra += [] if selection is None else [selection_section(selection)]
    extra += [] if groups is None else [groups_section(groups)]
    page = render(findings, title or UNTITLED, source, extra)
    write_text(target, page, overwrite)
    return target


def report_result(result: Result, path: str | PathLike[str], title: str, overwrite: bool) -> Path:
    """The report of a posterior, or of a search over graphs: what `Result.report` writes."""
    from mrfbayes.structure.averaged import as_posterior
    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.selection import Selection

    if isinstance(result, Selection):
        return report(result.averaged(), path, title=title, selection=result, check=False, overwrite=overwrite)
    if isinstance(result, GroupComparison):
        baseline = as_posterior(result, result.coordinates[:, :, 0], result.n, "baseline of all groups")
        return report(baseline, path, title=title, groups=result, check=False, overwrite=overwrite)
    if not isinstance(result, Posterior):
        result._refuse("report", "a Posterior, a Fit, a Selection and a GroupComparison have one")
    return report(result, path, title=title, overwrite=overwrite)


def render(findings: Findings, title: str, source: str, extra: list[Section]) -> str:
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
    model = findings.posterior.model
    problems = [without_folder(text) for text in findings.data_problems]
    shown = pictures(findings)
    found_checks = checks(findings)
    said = findings.verdicts
    known = len(findings.edges) > 1 and said["unknown"] < len(findings.edges)
    edges, nodes = edge_table(findings), node_table(findings)
    contents = [("brief", "In brief"), ("data", "Data"), ("trust", "Trust")]
    contents += [("picture", shown[0].title)] if shown else []
    contents += [("edges", "Edges")] if edges.rows else []
    contents += [("nodes", "Nodes")] if len(nodes.columns) > 1 else []
    contents += [(name, heading) for name, heading, *_ in extra] + [("methods", "Methods")]
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
        fragile=int(findings.edges["fragile"].sum()) if known else 0,
        meaning=meaning(model, findings.scale),
        problems=problems,
        data_facts=_data_facts(findings),
        variables=variable_table(findings),
        checks=found_checks,
        doubts=findings.doubts,
        trust_pictures=_trust_pictures(findings),
        pictures=shown,
        node_pictures=node_pictures(findings),
        edges=edges,
        nodes=nodes,
        pick=known,
        extra=extra,
        paragraph=methods_paragraph(findings),
        sources=citations(findings),
        settings=_settings(findings),
    )
    return str(text)


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
    facts = [
        ("rows", f"{statistics.n_rows:,}" if statistics is not None and is_counted else f"{n:,g}, by their counts")
    ]
    if statistics is not None and statistics.holes is not None:
        facts.append(("rows with missing cells", f"{statistics.holes.n_rows:,}"))
    if statistics is not None and is_counted and abs(n - statistics.n_rows) > 1e-9:
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


def _trust_pictures(findings: Findings) -> list[Picture]:
    from mrfbayes import plots

    posterior = findings.posterior
    found = []
    check = findings.predictive
    if check is not None and len(check.table):
        says = "Observed statistics against those of simulated data; points on the line fit."
        svg = inline(lambda: plots.predictive(check), "predictive", says)
        found.append(Picture("predictive", "Predictive check", says, svg, "Bars are two standard deviations."))
    if "r_hat" in findings.diagnostics and len(posterior.draws) > 1:
        says = "Ranks of the draws of the parameter with the largest R-hat, chain by chain; flat bars are good."
        svg = inline(lambda: plots.ranks(posterior), "ranks", says)
        found.append(Picture("ranks", "Ranks", says, svg, "The parameter with the largest R-hat."))
    return found


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
        svg = inline(lambda: plots.comparison(comparison), "methods-compared", says)
        plates.append(Picture("methods-compared", "Methods", says, svg, "A dot per parameter; bars are averages."))
    table = frame_table("comparison", plural(len(comparison.table), "method"), comparison.table)
    model = next(iter(comparison.posteriors.values())).model
    text = f"Several methods on the same data ({model!r}), against the exact posterior where it can be had."
    return [("comparison", "Comparison of methods", text, [table], plates)]
