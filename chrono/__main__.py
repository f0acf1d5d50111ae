"""Owns the start of the `chrono` command; everything else is left to `cli.main`."""

import gc
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first: a `json.py` of the project would be imported in place of Python's.
    del sys.path[0]


NEW_VALUES = 50_000
"""Only after so many new values, in place of 700, is garbage looked for that goes round in a circle. There is hardly
any here, and looking for it was a tenth of starting a command and a third of a long list."""


def hold_streams() -> None:
    """Puts the null device where a standard stream is closed (`chrono run … >&-`): a file of ours that is opened next
    would get its number, and everything that a command prints."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
            os.set_inheritable(fd, True)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    gc.set_threshold(NEW_VALUES, 20, 50)
    hold_streams()
    from chrono.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
