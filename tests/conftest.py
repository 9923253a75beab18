"""Settings shared by all tests."""

import pytest
import torch
from hypothesis import settings
from jaxtyping import config, install_import_hook

# array shapes and types are checked wherever the library states them
install_import_hook(["macal", "reproduction"], "beartype.beartype")

torch.set_num_threads(1)  # as many test processes run as there are cores

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture
def unchecked(monkeypatch):
    """Check no types: values of wrong ones reach the library, and thousands of small calls take half the time."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
