"""Published curves beside ours: circles where published, means where all replications are."""

import pandas as pd
from matplotlib.figure import Figure

from reproduction.figures import glance


def test_published_errors_stand_beside_the_means_of_all_replications():
    published = pd.DataFrame({"method": "macal", "labelled": [10, 20], "pehe": [3.0, 2.0]})
    own = pd.DataFrame(
        [("macal", 0, 10, 1.0), ("macal", 1, 10, 3.0), ("macal", 1, 20, 2.0), ("qhte", 0, 10, 9.0)],
        columns=["method", "replication", "labelled", "pehe"],
    )
    ax = glance.beside(published, own, Figure().add_subplot(), {"no effect": 4.0}, {"macal": (15.0, 1.0)})
    thin, other, mean, circles, level = (line.get_xydata().tolist() for line in ax.lines)
    assert (thin, other) == ([[10, 1]], [[10, 3], [20, 2]])
    assert (mean, circles) == ([[10, 2]], [[10, 3], [20, 2]])
    assert {height for _, height in level} == {4.0} and [text.get_text() for text in ax.texts] == ["MACAL", "no effect"]
