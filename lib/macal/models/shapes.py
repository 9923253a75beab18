"""Tensor types of the models: ``b`` models of ``n`` units, ``k`` numbers to a point; without ``b``, one model."""

import torch
from jaxtyping import Float, Int, Shaped

Points = Float[torch.Tensor, "n k"]
Treatments = Int[torch.Tensor, "n"]
Values = Float[torch.Tensor, "n"]
BatchedFeatures = Float[torch.Tensor, "b n k"]
PerUnit = Float[torch.Tensor, "b n"]
PerUnitArms = Int[torch.Tensor, "b n"]
PerModel = Float[torch.Tensor, "b"]
FeatureMaps = Float[torch.Tensor, "n _ _ _"]  # channels, height, width
Order = Int[torch.Tensor, "b steps batch"]
Marks = Shaped[torch.Tensor, "b"]
Lengths = Float[torch.Tensor, "a"]
Tensor = Float[torch.Tensor, "..."]
Matrix = Float[torch.Tensor, "n p"]
Raw = Float[torch.Tensor, "b 4"]  # mean, then output scale, length scale and noise variance before the softplus
Square = Float[torch.Tensor, "b w w"]
