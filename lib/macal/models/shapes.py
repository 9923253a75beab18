"""Tensor types of the models: ``b`` models of ``n`` units, ``k`` numbers to a point; without ``b``, one model."""

import torch
from jaxtyping import Float, Int

Points = Float[torch.Tensor, "n k"]
Treatments = Int[torch.Tensor, "n"]
Values = Float[torch.Tensor, "n"]
BatchedFeatures = Float[torch.Tensor, "b n k"]
PerUnit = Float[torch.Tensor, "b n"]
PerUnitArms = Int[torch.Tensor, "b n"]
PerModel = Float[torch.Tensor, "b"]
FeatureMaps = Float[torch.Tensor, "n _ _ _"]  # channels, height, width
