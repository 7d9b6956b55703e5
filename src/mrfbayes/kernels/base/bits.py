"""Bits of words that several bit-sliced kernels count and spread."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel

_U1, _U2, _U3, _U4, _U6, _U12, _U24, _U56 = (np.uint64(k) for k in (1, 2, 3, 4, 6, 12, 24, 56))


@kernel(forceinline=True)
def popcount(word):
    """Number of ones in a uint64, as a uint64; LLVM turns this idiom into the machine's own instruction."""
    word = word - ((word >> _U1) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> _U2) & np.uint64(0x3333333333333333))
    word = (word + (word >> _U4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> _U56


@kernel(forceinline=True)
def spread_digits(digits):
    """Bits 0..15 of a uint64 to positions 0, 4, ..., 60: one binary digit of each of four numbers fits in a nibble."""
    digits = (digits | (digits << _U24)) & np.uint64(0x000000FF000000FF)
    digits = (digits | (digits << _U12)) & np.uint64(0x000F000F000F000F)
    digits = (digits | (digits << _U6)) & np.uint64(0x0303030303030303)
    return (digits | (digits << _U3)) & np.uint64(0x1111111111111111)
