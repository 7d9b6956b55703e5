"""Compiled parts of the search over graphs: one-dimensional conditionals, blocks of moves, and the engines."""
