"""The paper, checked: its theory, the claims and their verdicts, the studies of single chapters, and what pages need.

Everything here may use :mod:`macal`, the tool; nothing there uses this.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reproduction.claims import verdicts

__all__ = ["verdicts"]


def __getattr__(name: str) -> Any:
    """Import the claims where they are asked for: pages and commands need little of them."""
    if name != "verdicts":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reproduction.claims import verdicts

    return verdicts
