"""Which tests need raw files that a fresh clone does not have."""

import os

import pytest

from macal import files
from macal.datasets import DATASETS


def needs_data(*groups):
    """Skip, with the reason, where files of ``groups`` are missing; under MACAL_REQUIRE_DATA=1 run, and fail."""
    missing = files.missing(*groups)
    reason = f"needs {', '.join(missing)}; macal.datasets.files.require({', '.join(map(repr, groups))}) downloads them"
    return pytest.mark.skipif(bool(missing) and os.environ.get("MACAL_REQUIRE_DATA") != "1", reason=reason)


def each_dataset(*names):
    """These data sets, or all, each skipped where its raw files are missing."""
    return [pytest.param(name, marks=needs_data(*DATASETS[name].files)) for name in names or DATASETS]
