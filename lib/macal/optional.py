"""Packages that single functions need, and that a plain installation lacks."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needed(package: str, purpose: str) -> Iterator[None]:
    """Say, where an import within fails, what to install by pip and what for: ImportError."""
    try:
        yield
    except ImportError as error:
        noun = "packages" if " " in package else "package"
        raise ImportError(f"{purpose} need the {noun} {package}: pip install {package} ({error})") from error
