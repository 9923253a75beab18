"""Campaigns: choose, reveal, fit, judge; grids of them that survive interruption; and the records that they leave."""

from macal.campaigns.loop import begin, evaluate, run, run_all, schedule
from macal.campaigns.sweeps import Spec, sweep

__all__ = ["Spec", "begin", "evaluate", "run", "run_all", "schedule", "sweep"]
