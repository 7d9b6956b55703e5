"""What every room may use and what uses nothing of ours: errors, checks of arguments, random streams, progress."""
