"""The command line: ``mrfbayes demo``, ``mrfbayes sample`` and the rest. ``mrfbayes --help`` lists them."""

from __future__ import annotations

import sys

INPUT_STATUS, COST_STATUS, INTERRUPT_STATUS = 2, 3, 130


def main() -> None:
    """Run the command line; a problem with the input is one line and exit status 2, with the cost 3."""
    from mrfbayes.base.errors import CostError, InputError, SamplingError
    from mrfbayes.cli.app import app

    try:
        app()
    except InputError as error:
        _complain(str(error), INPUT_STATUS)
    except CostError as error:
        _complain(str(error), COST_STATUS)
    except SamplingError as error:
        _complain(str(error), 1)
    except KeyboardInterrupt:
        _complain("stopped by Ctrl-C before there was anything to keep.", INTERRUPT_STATUS)


def _complain(text: str, status: int) -> None:
    from mrfbayes.cli.text import safe

    print(f"mrfbayes: {safe(text)}", file=sys.stderr)
    raise SystemExit(status)
