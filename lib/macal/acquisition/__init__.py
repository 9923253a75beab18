"""Criteria by name, and MACAL's whole campaign in one call."""

from macal.acquisition.base import Criterion, PoolState
from macal.acquisition.catalogue import CRITERIA, DEFAULT, get, names
from macal.acquisition.features import from_features
from macal.acquisition.plans import plan, plan_batches

__all__ = ["CRITERIA", "DEFAULT", "Criterion", "PoolState", "from_features", "get", "names", "plan", "plan_batches"]
