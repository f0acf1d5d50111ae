"""Owns the first instruction of the hook: `PY -I -S boot.py ADAPTER`. It exits 0 or 42, whatever happens.

42 is "blocked": 2 would also be what Python says where this file is missing (the installed command tells the two
apart). All else is left to `client`, which is loaded from its compiled form, because this file is compiled anew at
every call.
"""

import sys


def main() -> None:
    """Never returns."""
    try:
        from _frozen_importlib import module_from_spec
        from _frozen_importlib_external import spec_from_file_location

        here = __file__.rpartition("/")[0] or "."
        spec = spec_from_file_location("chrono_hook_client", here + "/client.py")
        assert spec is not None and spec.loader is not None
        client = module_from_spec(spec)
        spec.loader.exec_module(client)
        client.main(here, sys.argv[1:])
    except BaseException as error:
        refuse(error)
    refuse(None)


def refuse(error: "BaseException | None") -> None:
    """Blocks the call with the error as the reason. Never returns."""
    import os

    try:
        why = f"{type(error).__name__}: {error}" if error is not None else "it gave no answer"
        text = f"chrono: the guard failed ({why}), so this call is denied. Run chrono doctor\n"
        os.write(2, text.encode("utf-8", "backslashreplace"))
    finally:
        os._exit(42)


if __name__ == "__main__":
    main()
