"""Random numbers inside kernels: SFC64 on a bare array, so that the state is checkpointed like any other.

A state is a (4,) uint64 array made by `base.random_streams.kernel_state`; it yields the raw stream of NumPy's own
``SFC64``. One state per chain or particle group, never shared between threads.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel

_ONE = np.uint64(1)
_U3, _U8, _U9, _U11, _U12, _U24, _U40 = (np.uint64(k) for k in (3, 8, 9, 11, 12, 24, 40))
_LAYER_MASK = np.uint64(0xFF)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@kernel(forceinline=True)
def sfc64(a, b, c, counter):
    """One round of Doty-Humphrey's SFC64: 64 random bits, and a, b, c after it; the caller counts the rounds."""
    word = a + b + counter
    return word, b ^ (b >> _U11), c + (c << _U3), ((c << _U24) | (c >> _U40)) + word


@kernel(inline="always")
def next_word(state):
    """Next 64 random bits."""
    word, state[0], state[1], state[2] = sfc64(state[0], state[1], state[2], state[3])
    state[3] += _ONE
    return word


@kernel
def uniform(state):
    """Uniform on [0, 1), 53 bits."""
    return np.float64(next_word(state) >> _U11) * _TO_UNIT


@kernel
def below(state, bound):
    """Uniform integer in 0..bound-1; bound < 2^31, so the bias of the multiplication is below 2^-33."""
    return np.int64(np.float64(next_word(state) >> _U11) * _TO_UNIT * bound)


# Ziggurat of Marsaglia & Tsang (2000) with 256 layers of equal area under exp(-x^2/2).
_LAYERS = 256
_TAIL = 3.6541528853610088  # start of the tail for 256 layers
_RABS = float(2**52)


def _ziggurat_tables():
    density = [math.exp(-0.5 * _TAIL * _TAIL)]
    tail_area = math.sqrt(math.pi / 2) * math.erfc(_TAIL / math.sqrt(2))
    area = _TAIL * density[0] + tail_area
    edge = [area / density[0], _TAIL]
    for _ in range(_LAYERS - 2):
        height = math.exp(-0.5 * edge[-1] ** 2) + area / edge[-1]
        edge.append(math.sqrt(-2.0 * math.log(height)))
    edge.append(0.0)
    right = np.array(edge[:_LAYERS])
    inner = np.array(edge[1:])
    threshold = (inner / right * _RABS).astype(np.uint64)
    return right / _RABS, threshold, np.exp(-0.5 * np.array(edge) ** 2)


_SCALE, _THRESHOLD, _HEIGHT = _ziggurat_tables()
_SIGN_BIT = np.uint64(1 << 8)


@kernel
def _normal_rare(state, layer, x):
    """Outside the rectangles: a wedge (accepted or not) or the tail. Returns (accepted, |x|)."""
    if layer == 0:
        while True:
            a = -math.log1p(-uniform(state)) / _TAIL
            b = -math.log1p(-uniform(state))
            if b + b > a * a:
                return True, _TAIL + a
    low, high = _HEIGHT[layer], _HEIGHT[layer + 1]
    return low + (high - low) * uniform(state) < math.exp(-0.5 * x * x), x


@kernel
def normal(state):
    """Standard normal."""
    while True:
        word = next_word(state)
        layer = np.int64(word & _LAYER_MASK)
        magnitude = word >> _U12
        x = np.float64(magnitude) * _SCALE[layer]
        accepted = magnitude < _THRESHOLD[layer]
        if not accepted:
            accepted, x = _normal_rare(state, layer, x)
        if accepted:
            return -x if word & _SIGN_BIT else x


@kernel
def fill_normal(state, out):
    """Fill a (k,) array with standard normals: the stream of `normal`, with the state kept in registers."""
    a, b, c, counter = state[0], state[1], state[2], state[3]
    for i in range(out.size):
        while True:
            word, a, b, c = sfc64(a, b, c, counter)
            counter += _ONE
            layer = np.int64(word & _LAYER_MASK)
            magnitude = word >> _U12
            x = np.float64(magnitude) * _SCALE[layer]
            accepted = magnitude < _THRESHOLD[layer]
            if not accepted:
                state[0], state[1], state[2], state[3] = a, b, c, counter
                accepted, x = _normal_rare(state, layer, x)
                a, b, c, counter = state[0], state[1], state[2], state[3]
            if accepted:
                out[i] = -x if word & _SIGN_BIT else x
                break
    state[0], state[1], state[2], state[3] = a, b, c, counter
