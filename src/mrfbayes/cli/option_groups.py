"""Options that commands share, in groups: a command takes a group as one argument, typer sees its options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_type_hints

import typer

from mrfbayes.cli.options import (
    Columns,
    Complete,
    Coupling,
    CouplingChoice,
    DataFile,
    Delimiter,
    Fields,
    FieldsChoice,
    Graph,
    Grid,
    Levels,
    MergeEdges,
    Missing,
    MissingChoice,
    PriorChoice,
    Reading,
    SeedChoice,
    States,
    StatesChoice,
    Tied,
    TiedChoice,
    Weights,
    Without,
    build_model,
)

if TYPE_CHECKING:
    from mrfbayes.cli.outputs import Kept
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model
    from mrfbayes.posterior.posterior import Posterior

RUN = "Run"


@dataclass(frozen=True)
class FieldOptions:
    """The options that describe a field without data."""

    grid: Grid = ""
    graph: Graph = None
    fields: Fields = False
    tied: Tied = "no"
    states: States = 2
    coupling: Coupling = "agreement"
    merge_edges: MergeEdges = False

    def model(self, columns: list[str] | None = None) -> Model:
        """The field; the complete graph of ``columns`` where they are given."""
        is_complete = columns is not None
        kind = (self.fields, self.tied, self.states, self.coupling)
        return build_model(self.grid, self.graph, is_complete, *kind, columns, self.merge_edges)


@dataclass(frozen=True)
class ReadingOptions:
    """The options that say how a data file is read."""

    levels: Levels = None
    delimiter: Delimiter = None
    missing: MissingChoice = "refuse"
    missing_drop: Missing = False
    weights: Weights = None

    @property
    def reading(self) -> Reading:
        """These options, checked as far as they can be without the file."""
        return Reading.of(self.levels, self.delimiter, self.missing, self.missing_drop, self.weights)


@dataclass(frozen=True)
class DataOptions:
    """A data file and the field of its columns, as far as the options say."""

    data: DataFile
    complete: Complete = False
    graph: Graph = None
    grid: Grid = ""
    columns: Columns = None
    without: Without = None
    coupling: CouplingChoice = None
    fields: FieldsChoice = None
    tied: TiedChoice = None
    states: StatesChoice = None

    def understood(self, reading: Reading) -> tuple[Model, object, list[str]]:
        """The model, the data to count, and what to say about both."""
        from mrfbayes.cli.defaults import ModelOptions, data_and_model

        kind = (self.fields, self.tied, self.states, self.coupling)
        chosen = (tuple(self.columns or ()), tuple(self.without or ()))
        return data_and_model(self.data, ModelOptions(self.grid, self.graph, self.complete, *kind, *chosen), reading)

    def counted(self, read: ReadingOptions, json: bool) -> tuple[Statistics, list[str]]:
        """The data, counted for the model, after the states were shown; and what to say about both."""
        from mrfbayes.cli.show import quiet_warnings, show_states

        reading = read.reading
        model, x, lines = self.understood(reading)
        with quiet_warnings():
            statistics = reading.count(model, x)
            show_states(statistics.levels, json)
        return statistics, lines


@dataclass(frozen=True)
class SamplingOptions:
    """The options of `mrfbayes.sample` that the command line has."""

    prior: PriorChoice = "uniform"
    method: Annotated[str, typer.Option(help="See `mrfbayes methods`.", rich_help_panel=RUN)] = "auto"
    steps: Annotated[int | None, typer.Option(help="Steps per chain after warm-up.", rich_help_panel=RUN)] = None
    warmup: Annotated[int | None, typer.Option(help="Steps of warm-up.", rich_help_panel=RUN)] = None
    chains: Annotated[int, typer.Option(help="Chains.", rich_help_panel=RUN)] = 4
    workers: Annotated[int, typer.Option(help="Processes.", rich_help_panel=RUN)] = 1
    seconds: Annotated[float | None, typer.Option(help="Time budget of the sampling.", rich_help_panel=RUN)] = None
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which a killed run goes on.", rich_help_panel=RUN)
    ] = None
    rng: SeedChoice = 0

    def sample(self, statistics: Statistics, out: Path | None, overwrite: bool) -> tuple[Posterior, Kept]:
        """The posterior, saved to ``out``; once there are draws, Ctrl-C waits until they are saved."""
        import mrfbayes as mb
        from mrfbayes.base.interrupts import InterruptFlag
        from mrfbayes.cli.outputs import keep

        with InterruptFlag() as interrupt:
            with interrupt.allowed():
                posterior = mb.sample(
                    statistics.model,
                    statistics,
                    self.method,
                    steps=self.steps,
                    warmup=self.warmup,
                    chains=self.chains,
                    prior=self.prior,
                    workers=self.workers,
                    seconds=self.seconds,
                    checkpoint=self.checkpoint,
                    rng=self.rng,
                )
            return posterior, keep(posterior, out, overwrite)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer has to see it: every argument that is a group of options becomes those options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            found = _parameters(groups[parameter.name])
        else:
            found = [parameter.replace(annotation=hints[parameter.name])]
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in found]

    @functools.wraps(command)
    def run(**given: object) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        each.replace(annotation=hints[each.name])
        for each in inspect.signature(group).parameters.values()
        if each.name in hints
    ]
