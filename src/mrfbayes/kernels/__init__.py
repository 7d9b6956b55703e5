"""Compiled mathematics on raw arrays. Nothing here validates: callers do, once, before."""
