"""One self-contained page about a posterior: what was asked, what came out, and how far to trust it."""
