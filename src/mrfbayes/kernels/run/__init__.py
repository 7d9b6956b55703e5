"""Compiled chains."""
