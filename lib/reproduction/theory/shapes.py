"""Named array types of the theory: ``n`` units of a pool, ``steps`` of a campaign."""

import numpy as np
from jaxtyping import Float, Int, Real

PoolGram = Float[np.ndarray, "n n"]
PerStep = Float[np.ndarray, "steps"]
Targets = Float[np.ndarray, "g d"]
PerTarget = Float[np.ndarray, "g"]
Places = Float[np.ndarray, "_"]  # on a line
Coefficients = Float[np.ndarray, "4"]  # of the rule of placement
Law = Float[np.ndarray, "x v v 2"]
ConditionalEffects = Float[np.ndarray, "x"]
OutcomeValues = Float[np.ndarray, "v"]
PairSide = Float[np.ndarray, "k d"]  # one unit of each pair
Weights = Float[np.ndarray, "n m"]
AtTarget = Float[np.ndarray, "n"]
Labelled = Float[np.ndarray, "m"]
LabelledIndices = Int[np.ndarray, "m"]
Draws = Float[np.ndarray, "r"]
Steps = Real[np.ndarray, "_"]
