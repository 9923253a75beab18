"""Survey plans from a table and a budget: costs, quotas, clusters, nonresponse.

A *unit* can be surveyed at a *cost*; *constraints* bound who is in a plan. A :class:`Planner` makes the *plan*, takes
answers and plans again; the campaign is one file.
"""

from macal.survey.conflicts import Conflict
from macal.survey.constraints import Quota
from macal.survey.estimates import Findings
from macal.survey.planner import Doubt, Planner

__all__ = ["Conflict", "Doubt", "Findings", "Planner", "Quota"]
