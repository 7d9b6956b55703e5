"""Modules that every package may use and that import none of them: errors, checks, random streams, files, progress."""
