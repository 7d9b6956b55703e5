"""Kernels of reading and counting observations."""
