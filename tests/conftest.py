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
    """Let values of wrong types reach the library, as they do outside of tests."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def origin(monkeypatch):
    """Let tests record and publish from a working tree with changes; return what tells the origin of the code."""
    from macal.campaigns import provenance

    plain = provenance.origin
    monkeypatch.setattr(provenance, "origin", lambda: dict(provenance.UNKNOWN))
    return plain
