"""Campaigns: choose, reveal, fit, judge; grids of them that survive interruption; and the records that they leave."""

from macal.campaigns.loop import begin, evaluate, run, run_all, schedule
from macal.campaigns.spec import Spec
from macal.campaigns.sweeps import sweep

__all__ = ["Spec", "begin", "evaluate", "run", "run_all", "schedule", "sweep"]
