"""Named array types: the letters of the notation table, checked at run time in the tests.

``n`` units, ``d`` covariates, ``m`` labelled units, ``k`` picked units, ``p`` features, ``s`` posterior samples or
proxies, ``r`` constraints, ``h`` strata. The last axis of ``Pair`` and of ``PairCov`` holds the two potential outcomes,
control first. ``Cross`` is a kernel between units and labelled units, ``Gram`` among the latter.
"""

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8, UInt64

Covariates = Float[np.ndarray, "n d"]
Centres = Float[np.ndarray, "m d"]
Arms = Int[np.ndarray, "n"]
Outcomes = Float[np.ndarray, "n"]
Indices = Int[np.ndarray, "k"]
Rows = Int[np.ndarray, "p"]
Images = UInt8[np.ndarray, "n d"]
Levels = Float[np.ndarray, "256"]
Distances = Float[np.ndarray, "n"]
Features = Float[np.ndarray, "n p"]
Cross = Float[np.ndarray, "n m"]
Gram = Float[np.ndarray, "m m"]
Variances = Float[np.ndarray, "n"]
Pair = Float[np.ndarray, "n 2"]
PairCov = Float[np.ndarray, "n 2 2"]
Money = Float[np.ndarray, "n"]
Limits = Float[np.ndarray, "r"]
Mask = Bool[np.ndarray, "n"]
PerArm = Float[np.ndarray, "arms"]
PerStratum = Float[np.ndarray, "h"]
Counts = Int[np.ndarray, "h"]
Totals = Float[np.ndarray, "_"]
Proxies = Float[np.ndarray, "n s"]
PerCentre = Float[np.ndarray, "m"]
CentreArms = Int[np.ndarray, "m"]
UnitIndices = Int[np.ndarray, "_"]  # by their place in the pool
Hashes = UInt64[np.ndarray, "n"]
Covariances = Float[np.ndarray, "_ _"]
Score = Float[np.ndarray, "*shape"]
PerArmChance = Float[np.ndarray, "n arms"]
