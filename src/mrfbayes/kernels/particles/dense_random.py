"""Uniform numbers and exponentials in single precision for the lanes of `mrfbayes.kernels.particles.dense`."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import next_word, sfc64

LANES = 64  # chains whose numbers are made together: four registers of 16 floats
STREAMS = 16  # generators side by side
STREAM_WORDS = 3 * STREAMS + 1

_ONE = np.uint64(1)
_U8, _U40 = np.uint64(8), np.uint64(40)
_LOW = np.uint64(0xFFFFFFFF)
_UNIT = np.float32(1.0)
_TO_UNIT = np.float32(2.0**-24)
_HALF_STEP = np.float32(2.0**-25)  # keeps numbers off 0

_LOG2_E = np.float32(1.4426950408889634)
_ROUND = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to the nearest integer
_LOG2_HIGH = np.float32(0.693359375)  # log 2 to nine bits: its multiples are exact
_LOG2_LOW = np.float32(-2.12194440054691e-4)
_BIAS, _FRACTION = np.int32(127), np.int32(23)
# (exp(r) - 1 - r) / r^2 on |r| <= log(2) / 2 at Chebyshev nodes, error 1e-8 after multiplication by r^2
_E0, _E1, _E2, _E3, _E4 = (
    np.float32(value) for value in (0.5, 0.166665767, 0.0416665542, 0.00836323288, 0.00139262508)
)


@kernel(inline="always")
def exp32(x):
    """Exponential of a float32 within -80 and 80 (not checked), to about 2e-7 relative."""
    k = (x * _LOG2_E + _ROUND) - _ROUND
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    tail = _E0 + r * (_E1 + r * (_E2 + r * (_E3 + r * _E4)))
    power = np.int32((np.int32(k) + _BIAS) << _FRACTION).view(np.float32)
    return (_UNIT + (r + r * r * tail)) * power


@kernel
def start_streams(state, streams):
    """Every row of ``streams`` (k, STREAM_WORDS): generators seeded with 192 bits of ``state`` each and warmed up."""
    scratch = np.empty(LANES, np.float32)
    for row in range(streams.shape[0]):
        for k in range(3 * STREAMS):
            streams[row, k] = next_word(state)
        streams[row, 3 * STREAMS] = _ONE
        for _ in range(12 * 2 * STREAMS // LANES):
            fill_uniform32(streams[row], scratch)


@kernel
def fill_uniform32(stream, out):
    """`LANES` uniform numbers inside (0, 1] with 24 bits: SFC64 generators side by side, two numbers per word."""
    counter = stream[3 * STREAMS]
    for k in range(STREAMS):
        a, b, c = stream[k], stream[k + STREAMS], stream[k + 2 * STREAMS]
        step = counter
        for t in range(LANES // (2 * STREAMS)):
            word, a, b, c = sfc64(a, b, c, step)
            step += _ONE
            high, low = np.int32(word >> _U40), np.int32((word & _LOW) >> _U8)
            out[k + STREAMS * 2 * t] = np.float32(high) * _TO_UNIT + _HALF_STEP
            out[k + STREAMS * (2 * t + 1)] = np.float32(low) * _TO_UNIT + _HALF_STEP
        stream[k], stream[k + STREAMS], stream[k + 2 * STREAMS] = a, b, c
    stream[3 * STREAMS] = counter + np.uint64(LANES // (2 * STREAMS))
