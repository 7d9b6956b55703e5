"""Kernels that sample a field."""
