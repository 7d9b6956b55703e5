"""What the server of `chaos.py` imports once, so that a process begins its script at once."""

import mrfbayes as mb
import mrfbayes.cli.app
import mrfbayes.report.write

for name in mb.__all__:
    getattr(mb, name)
