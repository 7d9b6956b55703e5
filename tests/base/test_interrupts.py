"""Ctrl-C is kept for the right moment, and left alone where it is not ours."""

import os
import signal

import pytest

from mrfbayes.base.interrupts import InterruptFlag


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_first_ctrl_c_waits_and_second_stops():
    with InterruptFlag() as interrupt:
        press()
        assert interrupt.raised
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_inner_flag_knows_an_earlier_ctrl_c():
    with InterruptFlag():
        press()
        with InterruptFlag() as inner:
            assert inner.raised


def test_inner_flag_keeps_its_interrupts():
    with InterruptFlag() as outer:
        with InterruptFlag() as inner:
            press()
        assert inner.raised
        assert not outer.raised


def test_background_job_keeps_ignoring_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with InterruptFlag() as interrupt:
            press()
            press()
            assert not interrupt.raised
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_foreign_signal_handler_is_left_unchanged(monkeypatch):
    """Python cannot name such a handler, and could not put it back."""
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    with InterruptFlag():
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
