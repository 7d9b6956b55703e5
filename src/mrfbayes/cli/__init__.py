"""The command line: ``mrfbayes demo``, ``mrfbayes sample`` and the rest. ``mrfbayes --help`` lists them."""

from __future__ import annotations

import gc
import sys
from typing import Any, NoReturn

KEPT_OBJECTS = 10_000  # new ones before garbage is looked for: nearly all of them stay, and 700 took a tenth of `fit`
FAILURE_STATUS, INPUT_STATUS, COST_STATUS, INTERRUPT_STATUS = 1, 2, 3, 130


def main() -> None:
    """Run the command line. A problem is one line and an exit status.

    2: the input or the way it was asked for; 3: the cost; 130: Ctrl-C, also where a partial result was kept; 1:
    anything else that went wrong on the way, such as a full disk.
    """
    from mrfbayes.base.errors import CostError, InputError, OutputError, SamplingError
    from mrfbayes.base.plain_text import print_anywhere
    from mrfbayes.cli.app import Interrupted, app

    print_anywhere()
    gc.set_threshold(KEPT_OBJECTS)
    try:
        status = app(standalone_mode=False)
    except (Interrupted, KeyboardInterrupt) as stop:
        # `python -m` ends by the signal, not by a status, if Ctrl-C came inside exec(); a later one clears that.
        exec("")
        _complain(f"stopped by Ctrl-C: {str(stop) or 'there was nothing to keep yet.'}", INTERRUPT_STATUS)
    except (InputError, CostError, SamplingError, OutputError) as error:
        statuses = {InputError: INPUT_STATUS, CostError: COST_STATUS}
        _complain(str(error), next((s for kind, s in statuses.items() if isinstance(error, kind)), FAILURE_STATUS))
    except MemoryError as error:
        _complain(f"there is not enough memory ({error}): see mrfbayes cost.", COST_STATUS)
    except FileNotFoundError as error:  # of what is read: all that is written goes through OutputError
        _complain(f"{error.filename or 'a file'}: no such file.", INPUT_STATUS)
    except OSError as error:
        _complain(f"{error.filename or 'the system'}: {error.strerror or error}.", FAILURE_STATUS)
    except Exception as error:
        _usage(error)
        raise
    raise SystemExit(status if isinstance(status, int) else 0)


def _usage(error: Any) -> None:
    """Typer's own complaints, in one line; its help where there is nothing else to say."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        raise SystemExit(INPUT_STATUS)
    if hasattr(error, "format_message"):
        place = getattr(getattr(error, "ctx", None), "command_path", "mrfbayes")
        text = error.format_message().removesuffix(".")
        _complain(f"{text} (see {place} --help).", INPUT_STATUS)


def _complain(text: str, status: int) -> NoReturn:
    from mrfbayes.base.plain_text import visible

    for line in text.split("\n"):  # a file with several problems has a line for each
        print(f"mrfbayes: {visible(line)}", file=sys.stderr)
    raise SystemExit(status)
