"""How pages run: a command that fails ends the page, a warning is a line without a path."""

c = get_config()  # noqa: F821
c.InteractiveShell.system_raise_on_error = True
c.IPKernelApp.log_level = "ERROR"  # else every page says that its kernel listens on this machine, unencrypted
c.IPKernelApp.exec_lines = [
    "import os",
    "os.environ['TERM'] = 'dumb'",  # commands print no colours: those of a terminal are hard to read on a page
    "del os",
    "import warnings",
    r"warnings.formatwarning = lambda text, kind, *place: f'{kind.__name__}: {text}\n'",
    "warnings.filterwarnings('ignore', module='distributed')",  # that there is no network
    "del warnings",
    "from mrfbayes.base import budget",
    "budget.NOTICE_SECONDS = float('inf')",  # whether a page compiles depends on the machine that builds it
    "del budget",
]
