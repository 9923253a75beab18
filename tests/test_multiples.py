"""Small multiples show each method's own replications, beside MACAL's."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from reproduction.figures import multiples


def test_each_panel_shows_one_method_beside_macal():
    rows = [(m, n, r, 1.0 + i) for i, m in enumerate(("random", "qhte", "macal")) for n in (10, 20) for r in (0, 1, 2)]
    table = pd.DataFrame(rows, columns=["method", "labelled", "replication", "pehe"])
    table = table[(table.method != "qhte") | (table.replication < 2)]
    figure, axes = plt.subplots(1, 3)
    own, other, left = multiples.against_random(table, ["macal", "qhte"], axes)
    assert [ax.get_title() for ax in (own, other)] == ["MACAL, n = 3", "QHTE, n = 2"]
    assert [line.get_label() for line in other.lines[:2]] == ["MACAL", "QHTE"]
    np.testing.assert_allclose(other.lines[1].get_ydata(), np.log(2))
    assert len(own.collections) == len(other.collections) == 1 and not left.get_visible()
    plt.close(figure)
