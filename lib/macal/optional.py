"""Packages that single functions need, and that a plain installation lacks."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needed(package: str, purpose: str) -> Iterator[None]:
    """Say, where an import within fails, what to install and what for.

    Args:
        package: its name for pip.
        purpose: what needs it.

    Raises:
        ImportError: the package is missing, or broken.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{purpose} need the package {package}: pip install {package} ({error})") from error
