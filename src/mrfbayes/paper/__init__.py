"""Section 3 of Liu & Zheng, run to its end: cells, their store, and the tables, figures and verdicts made from them.

The study uses public names of the package only. `constants` and `study.toml` have what the paper prints, `tasks`
has the cells of a run and runs one, `journal` distributes them over processes and keeps those that are finished;
`claims`, `judges`, `tables`, `figures` and `page` read them.
"""
