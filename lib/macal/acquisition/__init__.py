"""Criteria by name, and MACAL's whole campaign in one call."""

from macal import lazy
from macal.acquisition.base import Criterion, PoolState
from macal.acquisition.catalogue import CRITERIA, DEFAULT, get, names
from macal.acquisition.plans import plan, plan_batches

__all__ = ["CRITERIA", "DEFAULT", "Criterion", "PoolState", "from_features", "get", "names", "plan", "plan_batches"]

__getattr__ = lazy.attributes(__name__, {"from_features": "macal.acquisition.features"})  # it needs PyTorch
