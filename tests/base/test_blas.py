"""One BLAS thread inside a block, and as many as before after the last of several that overlap."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mrfbayes.base.blas import one_blas_thread


def threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    """Whatever the machine and its settings, BLAS begins with two threads."""
    with one_blas_thread():
        pass  # now all libraries of BLAS are loaded
    with threadpool_limits(2, user_api="blas"):
        yield


def test_overlapping_blocks_share_one_limit(two_threads):
    assert threads() == {2}
    with one_blas_thread():
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {1}  # the inner block does not take the limit back
    assert threads() == {2}


def test_an_error_takes_the_limit_back(two_threads):
    @one_blas_thread()
    def fails():
        assert threads() == {1}
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fails()
    assert threads() == {2}
