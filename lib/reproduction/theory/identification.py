"""When observed outcomes reveal a causal effect (Proposition 1 of the paper), on populations that can be enumerated.

A population is its exact joint law ``p[x, i, j, t]``: covariate value x, outcome ``values[i]`` without and
``values[j]`` with treatment, treatment t.

Reference: J. Pearl, "Causal Diagrams for Empirical Research", Biometrika 82(4), 1995 (the front door).
"""

import numpy as np

from reproduction.theory.shapes import ConditionalEffects, Law, OutcomeValues

LINE = (0.7, 1.3)  # intercept and slope of the effect in counterexample (c)


def effect(p: Law, values: OutcomeValues) -> ConditionalEffects:
    """True effect at each covariate value, E[Y1 - Y0 | x]."""
    px = p.sum(axis=(1, 2, 3))
    return (np.einsum("xijt,j->x", p, values) - np.einsum("xijt,i->x", p, values)) / px


def adjusted_contrast(p: Law, values: OutcomeValues) -> ConditionalEffects:
    """What data can show at each covariate value, E[Y | x, T=1] - E[Y | x, T=0]; NaN where an arm has no mass."""
    mass = p.sum(axis=(1, 2))
    observed = np.stack([np.einsum("xij,i->x", p[..., 0], values), np.einsum("xij,j->x", p[..., 1], values)], axis=1)
    mean = np.divide(observed, mass, out=np.full_like(mass, np.nan), where=mass > 0)
    return mean[:, 1] - mean[:, 0]


def unconfounded_population(rng: np.random.Generator, n_x: int = 4, n_values: int = 3) -> tuple[Law, OutcomeValues]:
    """Draw a population that meets the assumptions: a random law of (Y0, Y1) and a random propensity at each x."""
    px = rng.dirichlet(np.ones(n_x))
    outcomes = rng.dirichlet(np.ones(n_values**2), size=n_x).reshape(n_x, n_values, n_values)
    e = rng.uniform(0.05, 0.95, n_x)
    return px[:, None, None, None] * outcomes[..., None] * np.stack([1 - e, e], axis=1)[:, None, None, :], rng.normal(
        size=n_values
    )


def spread_by_treatment() -> tuple[Law, OutcomeValues]:
    """Counterexample (a): confounded given x, and identified by adjustment all the same.

    Outcomes spread three times as wide among the treated, with the same mean: two covariate values; Y0 = Y1 - 1 is +-1
    among controls and +-3 among the treated.
    """
    values = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    at = {v: k for k, v in enumerate(values)}
    p = np.zeros((2, 8, 8, 2))
    for x, e in enumerate((0.3, 0.8)):
        for t, spread, share in ((0, 1.0, 1 - e), (1, 3.0, e)):
            for noise in (-spread, spread):
                p[x, at[noise], at[noise + 1], t] = 0.5 * share / 2
    return p, values


def front_door() -> dict[str, float]:
    """Counterexample (b): T and Y share an unobserved cause U, and the mediator M identifies the effect.

    U -> T, U -> Y, T -> M -> Y, all binary but Y = 1.5 M + 2 U.

    Returns:
        ``truth``, ``unadjusted`` contrast and ``front_door`` estimate of the average effect, all exact.
    """
    p_u, p_t1, p_m1 = np.array([0.5, 0.5]), np.array([0.2, 0.8]), np.array([0.3, 0.7])
    p_t = np.stack([1 - p_t1, p_t1])  # (t, u)
    p_m = np.stack([1 - p_m1, p_m1])  # (m, t)
    y = 1.5 * np.arange(2)[:, None] + 2.0 * np.arange(2)[None, :]  # (m, u)
    joint = np.einsum("u,tu,mt->tmu", p_u, p_t, p_m)
    truth = np.einsum("u,mt,mu->t", p_u, p_m, y)
    observed = np.einsum("tmu,mu->t", joint, y) / joint.sum(axis=(1, 2))
    y_given_tm = np.einsum("tmu,mu->tm", joint, y) / joint.sum(axis=2)
    adjusted = np.einsum("mt,s,sm->t", p_m, joint.sum(axis=(1, 2)), y_given_tm)
    return {
        name: float(v[1] - v[0]) for name, v in (("truth", truth), ("unadjusted", observed), ("front_door", adjusted))
    }


def line() -> np.ndarray:
    """Counterexample (c): positivity fails at every x, T = 1 exactly where x > 0, and a linear model finds the effect.

    Returns:
        Intercept and slope of the effect, estimated of 200 units on [-1, 1] without noise; the truth is :data:`LINE`.
    """
    x = np.linspace(-1, 1, 200)
    t = (x > 0).astype(float)
    design = np.stack([np.ones(len(x)), x, t, t * x], axis=1)
    return np.linalg.lstsq(design, 1 + 2 * x + t * (LINE[0] + LINE[1] * x), rcond=None)[0][2:]


def no_overlap() -> float:
    """Largest error of the two coefficients that :func:`line` estimates."""
    return float(np.abs(line() - LINE).max())
