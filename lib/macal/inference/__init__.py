"""What a labelled set allows one to say: estimates with intervals, labels that one may test with, and when to stop.

Chosen labels are no random sample. Drawn with known chances (:func:`inclusion`, :func:`draw`), they give the average
effect an interval that needs no model to be right (:func:`average_effect`).
"""

from macal.inference.sampling import draw, inclusion
from macal.inference.weighted import Estimate, average_effect, crossed_propensity, worth_for_ate

__all__ = ["Estimate", "average_effect", "crossed_propensity", "draw", "inclusion", "worth_for_ate"]
