"""The formulas that the theory chapters check: small pure functions in float64, each with its source beside it.

The paper, wherever these modules speak of it: H. Wen, T. Chen, G. Ye, L. K. Chai, S. Sadiq and H. Yin, "Progressive
Generalization Risk Reduction for Data-Efficient Causal Effect Estimation", ACM SIGKDD Conference on Knowledge Discovery
and Data Mining, 2025.
"""
