"""Owns the start of the `chrono` command; everything else is left to `cli.main`."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first: a `json.py` of the project would be imported in place of Python's.
    del sys.path[0]


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    from chrono.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
