"""Pure tasks in processes: the same outcomes as here, also where processes die on the way."""

import os
import signal
from pathlib import Path

import pytest

from mrfbayes.base.errors import InputError, SamplingError
from mrfbayes.run import pools
from mrfbayes.run.pools import PRELOADED, Job, begin_worker, check_workers, process_pool, run_jobs


def square(number, folder, fatal=()):
    """A task that kills its process as often as ``fatal`` says for its number, and fails on 13."""
    marks = sorted(Path(folder).glob(f"{number}-*"))
    if len(marks) < dict(fatal).get(number, 0):
        (Path(folder) / f"{number}-{len(marks)}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 13:
        raise ValueError("unlucky")
    return number**2


def outcomes(folder, workers, numbers, fatal=()):
    jobs = [Job(str(number), (number, str(folder), fatal)) for number in numbers]
    return dict(run_jobs(square, jobs, workers))


def test_workers_are_forked_with_what_each_would_import():
    """A name that is gone would be passed over in silence, and every worker begin a second later."""
    with process_pool(1, begin_worker) as pool:
        loaded = pool.submit(eval, "[*__import__('sys').modules]").result()
    assert set(PRELOADED) <= set(loaded)


def test_here_an_error_is_an_outcome(tmp_path):
    found = outcomes(tmp_path, 1, [12, 13, 14])
    assert isinstance(found.pop("13"), ValueError)
    assert found == {"12": 144, "14": 196}


def test_dead_processes_cost_no_results(tmp_path):
    """One task kills its process once, one does it always, one raises: only the last two have no value."""
    found = outcomes(tmp_path, 2, range(11, 19), fatal=((12, 1), (15, 99)))
    assert isinstance(found.pop("13"), ValueError)
    lost = found.pop("15")
    assert isinstance(lost, SamplingError)
    assert "is there enough memory for it?" in str(lost)
    assert found == {str(n): n**2 for n in (11, 12, 14, 16, 17, 18)}
    assert len(list(tmp_path.glob("12-*"))) == 1
    assert 1 < len(list(tmp_path.glob("15-*"))) <= pools.LIVES + pools.TRIES_ALONE


def test_no_job_starts_after_a_stop_request(tmp_path):
    begun = iter([True, True, False])
    jobs = [Job(str(n), (n, str(tmp_path))) for n in range(5)]
    assert list(run_jobs(square, jobs, 1, lambda: next(begun))) == [("0", 0), ("1", 1)]


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, None, "two", "", object()])
def test_workers_that_mean_nothing_are_refused(workers):
    with pytest.raises(InputError, match=r"workers = .*whole number, at least 1.*Dask client.*tcp://"):
        check_workers(workers)


def test_valid_workers_are_accepted():
    assert [check_workers(w) for w in (1, 4, "tcp://10.0.0.1:8786", "node7:8786")] == [
        *(1, 4, "tcp://10.0.0.1:8786", "node7:8786")
    ]
