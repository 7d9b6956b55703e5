"""Every public name has a numpydoc docstring, and the examples in them run."""

import doctest
import functools
import importlib
import inspect

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import Validator, validate

import mrfbayes as mb

# GL08 no docstring, SS03 no period, PR01/PR02 parameters, PR04 types, PR07 descriptions, RT01/RT03 returned values
CHECKS = {"GL08", "SS01", "SS03", "PR01", "PR02", "PR04", "PR07", "RT01", "RT03"}
MODULES = ("plots", "bridges", "priors", "datasets", "sklearn")
NOT_YET = {
    "mrfbayes.estimation.pair_tables.PairTables.coupling",
    "mrfbayes.estimation.pair_tables.PairTables.sd",
    "mrfbayes.estimation.result.Estimate",
    "mrfbayes.estimation.result.Estimate.edges",
    "mrfbayes.estimation.result.Estimate.summary",
    "mrfbayes.fitting.fit.fit",
    "mrfbayes.fitting.result.Fit",
    "mrfbayes.fitting.result.Fit.edges",
    "mrfbayes.fitting.result.Fit.read",
    "mrfbayes.fitting.result.Fit.summary",
    "mrfbayes.fitting.result.Fit.to_arviz",
    "mrfbayes.fitting.result.Fit.weights",
    "mrfbayes.hidden.result.Segmentation",
    "mrfbayes.hidden.result.Segmentation.edges",
    "mrfbayes.hidden.result.Segmentation.of",
    "mrfbayes.hidden.result.Segmentation.summary",
    "mrfbayes.model.distributions.Beta",
    "mrfbayes.model.distributions.Beta.encode",
    "mrfbayes.model.distributions.Cauchy",
    "mrfbayes.model.distributions.Dirichlet",
    "mrfbayes.model.distributions.Dirichlet.encode",
    "mrfbayes.model.distributions.Exchangeable",
    "mrfbayes.model.distributions.Exchangeable.encode",
    "mrfbayes.model.distributions.Exchangeable.precision",
    "mrfbayes.model.distributions.Logistic",
    "mrfbayes.model.distributions.Normal",
    "mrfbayes.model.distributions.Uniform.encode",
    "mrfbayes.model.distributions._OnLogOdds.encode",
    "mrfbayes.model.distributions.by_name",
    "mrfbayes.model.distributions.parse",
    "mrfbayes.model.result.Result.edges",
    "mrfbayes.model.result.Result.to_arviz",
    "mrfbayes.plots.centrality.order",
    "mrfbayes.priors.Custom",
    "mrfbayes.priors.Prior",
    "mrfbayes.priors.Prior.coin_log_densities",
    "mrfbayes.priors.Prior.fourth_w",
    "mrfbayes.priors.Prior.gradient_w",
    "mrfbayes.priors.Prior.hessian_w",
    "mrfbayes.priors.Prior.log_density",
    "mrfbayes.priors.Prior.log_density_w",
    "mrfbayes.priors.Prior.third_w",
    "mrfbayes.priors.by_part",
    "mrfbayes.priors.default_prior",
    "mrfbayes.priors.scaled_to",
    "mrfbayes.report.write.report",
    "mrfbayes.results.fits.Fits",
    "mrfbayes.results.fits.Fits.edges",
    "mrfbayes.results.fits.Fits.read",
    "mrfbayes.results.fits.Fits.status",
    "mrfbayes.results.fits.Fits.summary",
    "mrfbayes.results.posterior.Posterior",
    "mrfbayes.results.posterior.Posterior.centrality",
    "mrfbayes.results.posterior.Posterior.edges",
    "mrfbayes.results.posterior.Posterior.impute",
    "mrfbayes.results.posterior.Posterior.missing_information",
    "mrfbayes.results.posterior.Posterior.predict",
    "mrfbayes.results.posterior.Posterior.predictability",
    "mrfbayes.results.posterior.Posterior.stream",
    "mrfbayes.results.posterior.Posterior.summary",
    "mrfbayes.sklearn.markov_field.MarkovField",
    "mrfbayes.sklearn.markov_field.MarkovField.fit",
    "mrfbayes.sklearn.markov_field.MarkovField.get_feature_names_out",
    "mrfbayes.sklearn.markov_field.MarkovField.predict_proba",
    "mrfbayes.sklearn.markov_field.MarkovField.sample",
    "mrfbayes.sklearn.markov_field.MarkovField.score",
    "mrfbayes.sklearn.markov_field.MarkovField.score_samples",
    "mrfbayes.structure.groups.GroupComparison",
    "mrfbayes.structure.groups.GroupComparison.baseline",
    "mrfbayes.structure.groups.GroupComparison.edges",
    "mrfbayes.structure.groups.GroupComparison.global_strength",
    "mrfbayes.structure.groups.GroupComparison.group_posterior",
    "mrfbayes.structure.groups.GroupComparison.means",
    "mrfbayes.structure.groups.GroupComparison.summary",
    "mrfbayes.structure.select_effects.EffectSelection",
    "mrfbayes.structure.select_effects.EffectSelection.summary",
    "mrfbayes.structure.selection.Selection",
    "mrfbayes.structure.selection.Selection.averaged",
    "mrfbayes.structure.selection.Selection.edges",
    "mrfbayes.structure.selection.Selection.graphs",
    "mrfbayes.structure.selection.Selection.number_of_edges",
    "mrfbayes.structure.selection.Selection.summary",
    "mrfbayes.structure.selection.Selection.to_networkx",
    "mrfbayes.targets.targets.Target",
    "mrfbayes.targets.targets.Target.unpack",
    "mrfbayes.targets.targets.Target.value_and_gradient",
}


def members(owner):
    """Yield the public methods and properties of a class, each under the class of the package that defines it."""
    for name in dir(owner):
        place = next((base for base in owner.__mro__ if name in vars(base)), owner)
        if name.startswith("_") or not place.__module__.startswith("mrfbayes"):
            continue
        value = vars(place).get(name)
        if inspect.isfunction(value) or isinstance(
            value, (property, classmethod, staticmethod, functools.cached_property)
        ):
            yield f"{place.__module__}.{place.__qualname__}.{name}"


def public_names():
    values = [getattr(mb, name) for name in mb.__all__]
    for module in [importlib.import_module(f"mrfbayes.{name}") for name in MODULES]:
        values += [getattr(module, name) for name in getattr(module, "__all__", vars(module)) if name[0] != "_"]
    names = {}
    for value in values:
        if not (inspect.isfunction(value) or inspect.isclass(value)) or not value.__module__.startswith("mrfbayes"):
            continue
        names[f"{value.__module__}.{value.__qualname__}"] = None
        if inspect.isclass(value):
            names |= dict.fromkeys(members(value))
    return list(names)


def faults(name):
    """Return the checks that a name fails; fields of a class may be documented as attributes."""
    found = {code: text for code, text in validate(name)["errors"] if code in CHECKS}
    target = Validator._load_obj(name)
    if inspect.isclass(target) and "PR01" in found:
        document = NumpyDocString(inspect.getdoc(target) or "")
        described = {
            part for entry in document["Parameters"] + document["Attributes"] for part in entry.name.split(", ")
        }
        if set(inspect.signature(target).parameters) <= {part.strip("*") for part in described}:
            del found["PR01"]
    return found


NAMES = public_names()


@pytest.mark.parametrize("name", NAMES)
def test_docstring_is_numpydoc(name):
    if name in NOT_YET:
        assert faults(name), f"{name} is valid: remove it from NOT_YET"
    else:
        assert faults(name) == {}


def test_names_not_converted_yet_are_public():
    assert set(NAMES) >= NOT_YET
    assert len(NAMES) > 200


def test_a_wrong_docstring_is_refused():
    assert set(faults(f"{__name__}.undocumented_parameter")) == {"PR01", "RT01", "SS03"}


def undocumented_parameter(value):
    """Return the value

    Parameters
    ----------
    """
    return value


def with_examples():
    for name in NAMES:
        target = Validator._load_obj(name)
        if ">>>" in (inspect.getdoc(target) or ""):
            yield name


@pytest.mark.parametrize("name", list(with_examples()))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    document = inspect.getdoc(Validator._load_obj(name))
    test = doctest.DocTestParser().get_doctest(document, {}, name, None, None)
    messages = []
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=messages.append)
    assert result.failed == 0, "".join(messages)
