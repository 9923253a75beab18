"""Named array types of the theory: ``n`` units of a pool, ``steps`` of a campaign."""

import numpy as np
from jaxtyping import Float

PoolGram = Float[np.ndarray, "n n"]
PerStep = Float[np.ndarray, "steps"]
