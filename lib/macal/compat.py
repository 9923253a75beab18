"""What an older Python lacks."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

if sys.version_info >= (3, 12):
    from typing import override
else:

    def override(method: Method, /) -> Method:
        """Mark a method that does what the class above it says, which has its docstring."""
        return method


__all__ = ["override"]
