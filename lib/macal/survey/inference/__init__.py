"""Inference from labelled sets: probability samples, weighted estimates with intervals, and stopping.

Probability samples (:func:`inclusion_probabilities`, :func:`draw_sample`, :func:`draw_balanced`) give effects in target
populations and groups intervals that need no outcome model, also under nonresponse (:func:`average_effect`,
:func:`group_effects`, :func:`nonresponse_sensitivity`), or at several looks (:func:`group_sequential_interval`,
:func:`anytime_valid_interval`). Gaussian processes give individual intervals (:class:`EffectPosterior`), in advance too
(:func:`posterior_sd`); :func:`heterogeneity_test` tests if effects vary, and :class:`StoppingRule` ends a campaign.
"""

from macal.survey.inference.balanced import draw_balanced
from macal.survey.inference.heterogeneity import HeterogeneityTest, heterogeneity_test
from macal.survey.inference.nonresponse import NonresponseSensitivity, nonresponse_sensitivity
from macal.survey.inference.posterior_effects import EffectPosterior, PosteriorSd, posterior_sd
from macal.survey.inference.ranks import rank_bounds
from macal.survey.inference.sampling import draw_sample, inclusion_probabilities
from macal.survey.inference.sequential import (
    alpha_spent,
    anytime_valid_interval,
    critical_values,
    group_sequential_interval,
)
from macal.survey.inference.stopping import StoppingRule
from macal.survey.inference.targets import Survey, average_effect, group_effects, size_measure
from macal.survey.inference.weighted import Estimate, ate_size_measure, crossfit_propensity

__all__ = [
    "EffectPosterior",
    "HeterogeneityTest",
    "Estimate",
    "PosteriorSd",
    "NonresponseSensitivity",
    "StoppingRule",
    "Survey",
    "group_sequential_interval",
    "anytime_valid_interval",
    "average_effect",
    "crossfit_propensity",
    "draw_sample",
    "draw_balanced",
    "heterogeneity_test",
    "group_effects",
    "inclusion_probabilities",
    "critical_values",
    "posterior_sd",
    "rank_bounds",
    "nonresponse_sensitivity",
    "alpha_spent",
    "size_measure",
    "ate_size_measure",
]
