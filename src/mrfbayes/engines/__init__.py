"""Engines: how draws are made from a target; one file and one registry row each."""
