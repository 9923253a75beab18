"""From a table of people and a budget to a plan of whom to ask: money, quotas, clusters, refusals.

A *unit* is who can be asked, at a *cost*. *Demands* bound who may be in a plan. A :class:`Planner` makes the *plan*, by
a criterion's gain per cost, takes the answers, and plans anew; the campaign is one file.
"""

from macal.survey.conflicts import Conflict
from macal.survey.constraints import Quota
from macal.survey.estimates import Findings
from macal.survey.planner import Doubt, Planner

__all__ = ["Conflict", "Doubt", "Findings", "Planner", "Quota"]
