"""Kernels of estimation."""
