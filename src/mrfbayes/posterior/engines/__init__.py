"""Engines: how draws are made of a method that is ready. One file and one row of the registry each."""
