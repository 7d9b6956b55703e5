"""A study of 200 people in a file, and what `mrfbayes fit` made of it: shared by all tests of commands."""

import numpy as np
import pandas as pd
import pytest

from command_line import invoke


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(3)
    tired = rng.integers(0, 2, 200)
    worried = np.where(rng.random(200) < 0.85, tired, 1 - tired)
    table = pd.DataFrame({"id": np.arange(200), "tired": tired, "worried": worried, "sad": rng.integers(0, 2, 200)})
    table["never"] = (np.arange(200) == 7).astype(int)
    table.to_csv(path / "answers.csv", index=False)
    return path


@pytest.fixture(scope="session")
def fitted(study):
    return invoke("fit", study / "answers.csv", "--drop", "id", "--drop", "never", "--out", study / "out")


@pytest.fixture(scope="session")
def grouped(study):
    table = pd.read_csv(study / "answers.csv").drop(columns=["id", "never"])
    table["who"] = np.where(np.arange(200) < 90, "old", "young")
    table.to_csv(study / "grouped.csv", index=False)
    return study / "grouped.csv"


@pytest.fixture(scope="session")
def searched(grouped, study):
    return invoke("fit", grouped, "--select", "--group", "who", "--out", study / "structure")
