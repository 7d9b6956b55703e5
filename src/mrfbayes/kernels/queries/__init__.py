"""Compiled parts of queries: log weights of many configurations."""
