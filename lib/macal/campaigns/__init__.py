"""Campaigns: choose, reveal, fit, judge; grids of them that survive interruption; and the records that they leave."""

from macal import optional
from macal.campaigns.campaign import begin, schedule
from macal.campaigns.evaluation import SURFACES, evaluate, train
from macal.campaigns.loop import run, run_all
from macal.campaigns.spec import Spec
from macal.campaigns.sweeps import sweep

__all__ = ["SURFACES", "Spec", "begin", "evaluate", "run", "run_all", "schedule", "sweep", "train"]

__getattr__ = optional.attributes(__name__, {})  # its other modules
