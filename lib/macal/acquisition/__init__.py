"""Criteria by name, and MACAL's whole campaign in one call."""

from macal import optional
from macal.acquisition.base import Belief, Criterion, PoolState, Restriction
from macal.acquisition.catalogue import CRITERIA, DEFAULT, get, names
from macal.acquisition.plans import plan, plan_batches

__all__ = ["CRITERIA", "DEFAULT", "Belief", "Criterion", "PoolState", "Restriction"]
__all__ += ["from_features", "get", "names", "plan", "plan_batches"]

__getattr__ = optional.attributes(__name__, {"from_features": "macal.acquisition.features"})  # it needs PyTorch
