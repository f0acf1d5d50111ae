"""What type checkers see of the facade; at run time `__init__.py` resolves the same names lazily."""

from chrono.errors import ChronoError as ChronoError
from chrono.workspace.api import Workspace as Workspace
from chrono.workspace.assess import assess as assess
from chrono.workspace.transaction import Transaction as Transaction

__version__: str
__all__ = ["ChronoError", "Transaction", "Workspace", "__version__", "assess"]
