"""From data to a posterior: `sample` and the functions that call it."""
