"""Chapters run with other parameters than their own: few labels, little money, other seeds and data sets."""

import pytest

from reproduction import book

pytestmark = pytest.mark.exhaustive

OTHER = {
    "acquired": {"seed": 7, "perplexity": 2.0},  # a replication of which a method is not recorded
    "alpha": {"datasets": "ibm"},
    "average": {"answers": 500, "price": 12.0},
    "bias_variance": {"seed": 3},
    "data": {"seed": 2, "replications": 3},
    "enough": {"budget": 100, "batch_size": 50},
    "cmnist": {"version": "text", "methods": "macal,random", "n_images": 500},
    "greedy": {"seed": 1},
    "ibm": {"version": "text", "replications": "0-4", "n_labels": 200},
    "ihdp": {"version": "text", "live_replications": 3},
    "pairing": {"seed": 3},
    "paper_code": {"replications": 3},
    "problem": {"seed": 3},
    "own_data": {"budget": 1200.0, "missing": 0.5, "n_rounds": 6, "n_starts": 2},  # the money is spent before
    "plan_my_survey": {"budget": 12000.0, "missing": 0.5},
    "risk_bound": {"seed": 3},
    "round_trips": {"n_labels": 141, "batch_size": 85},
}


@pytest.mark.parametrize("name", OTHER)
def test_a_page_holds_for_other_parameters(name, tmp_path):
    (tmp_path / "notebooks").symlink_to(book.ROOT / "notebooks")
    assert book.rerun(name, OTHER[name], tmp_path).is_file()
