"""Section 3 of Liu & Zheng, run to its end: cells, their store, and the tables, figures and verdicts made from them.

Nothing here reaches behind the public interface of the package: `settings` says what is run, `tasks` runs one cell,
`store` keeps what is finished, `runner` spreads cells over processes, `summary`, `tables`, `figures` and `claims` read.
"""
