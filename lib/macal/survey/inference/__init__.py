"""What a labelled set allows one to say: estimates with intervals, labels that one may test with, and when to stop.

Chosen labels are no random sample. Drawn with known chances (:func:`inclusion`, :func:`draw`, :func:`draw_balanced`),
they give the average effect of everybody, of the treated, of the overlap population and of groups intervals that need
no outcome model to be right, also where some refuse (:func:`average_effect`, :func:`group_effects`);
:func:`refusal_doubt` says what refusals could hide.
Intervals that hold at every look are widened (:func:`at_a_look`, :func:`at_any_look`). A fitted Gaussian
process gives every effect an interval (:class:`EffectBelief`) and says before a round is bought what it will leave open
(:func:`posterior_sd`). A :class:`StoppingRule` ends a campaign. Whether answers show that effects differ at
all, :func:`effect_variation` says.
"""

from macal.survey.inference.balanced import draw_balanced
from macal.survey.inference.beliefs import EffectBelief, PosteriorSd, posterior_sd
from macal.survey.inference.looks import at_a_look, at_any_look, look_multiples, spent
from macal.survey.inference.ranks import rank_bounds
from macal.survey.inference.refusals import RefusalDoubt, refusal_doubt
from macal.survey.inference.sampling import draw, inclusion
from macal.survey.inference.stopping import StoppingRule
from macal.survey.inference.targets import Survey, average_effect, group_effects, worth_for
from macal.survey.inference.variation import EffectVariation, effect_variation
from macal.survey.inference.weighted import Estimate, crossed_propensity, worth_for_ate

__all__ = [
    "EffectBelief",
    "EffectVariation",
    "Estimate",
    "PosteriorSd",
    "RefusalDoubt",
    "StoppingRule",
    "Survey",
    "at_a_look",
    "at_any_look",
    "average_effect",
    "crossed_propensity",
    "draw",
    "draw_balanced",
    "effect_variation",
    "group_effects",
    "inclusion",
    "look_multiples",
    "posterior_sd",
    "rank_bounds",
    "refusal_doubt",
    "spent",
    "worth_for",
    "worth_for_ate",
]
