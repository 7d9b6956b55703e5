"""Compiled loops of hidden fields."""
