"""Which tests need raw files, and are skipped where they are not: a clone has those of IBM, MNIST and ACIC 2016."""

import pytest

from macal import files
from macal.datasets import DATASETS


def needs_data(*groups):
    """Skip, with the reason, where files of ``groups`` are missing."""
    missing = files.missing(*groups)
    reason = f"needs {', '.join(missing)}; macal.datasets.files.require({', '.join(map(repr, groups))}) downloads them"
    return pytest.mark.skipif(bool(missing), reason=reason)


def each_dataset(*names):
    """These data sets, or all, each skipped where its raw files are missing."""
    return [pytest.param(name, marks=needs_data(*DATASETS[name].files)) for name in names or DATASETS]
