"""chrono stands between an AI coding agent and the machine.

This facade owns the public names and resolves them lazily (PEP 562), so that `import chrono` costs nothing.
"""

__version__ = "0.1.0"

# name -> module that defines it; type checkers read __init__.pyi
_PUBLIC: dict[str, str] = {
    "ChronoError": "chrono.errors",
    "Transaction": "chrono.workspace.transaction",
    "Workspace": "chrono.workspace.api",
    "assess": "chrono.workspace.assess",
}

__all__ = ["ChronoError", "Transaction", "Workspace", "__version__", "assess"]


def __getattr__(name: str) -> object:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'chrono' has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
