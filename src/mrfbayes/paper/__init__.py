"""Section 3 of Liu & Zheng, run to its end: cells, their store, and the tables, figures and verdicts made from them.

The study uses public names of the package only. `constants` and `study.toml` have what the paper prints, `profiles` the
cells of a run, `tasks` runs one, `journal` keeps those that are finished, `runner` distributes them over processes;
`results`, `judges`, `claims`, `tables`, `figures` and `page` read them.
"""
