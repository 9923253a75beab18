"""Eighteen real tables: what is read of them."""

import numpy as np
import pytest
from needs import needs_data

from macal.datasets import files, real
from macal.registry import UnknownName

PEOPLE = (  # and how many are treated
    "rhc 5735 2184, college 3010 2053, letters 5593 364, hiv 2901 2222, lalonde 16437 185, "
    "insurance 1410 693, resume 4870 2435, star 5786 1738, jobs 899 600, colon 929 614, "
    "k401ksubs 9275 3637, catholic 7430 452, recid 1445 672, nmes1988 4406 3421, rotterdam 2982 339, "
    "bwght2 1722 147, hi 22272 11053, smokeban 10000 6098"
)
PEOPLE = {name: (int(n), int(treated)) for name, n, treated in map(str.split, PEOPLE.split(", "))}
# outcomes, what follows from the treatment or is it, names of people and places, dates
NEVER = {
    "rhc": {"Unnamed: 0", *"swang1 t3d30 dth30 death surv2md1 ptid sadmdte dschdte dthdte lstctdte".split()},
    "college": {"nearc4", "lwage", "educ", "exper"},
    "letters": {"leg_black", "responded"},
    "hiv": {"any", "got", "tinc", "villnum"},
    "lalonde": {"treat", "re78", "data_id"},
    "insurance": {"intensive", "takeup_survey", "address", "village"},
    "resume": {"call", "ethnicity", "name"},
    "star": {"stark", "readk", "mathk", "star1", "read1", "lunch1", "schoolidk", "systemk"},
    "jobs": {"treat", "depress2", "job_seek", "work1", "comply", "control", "job_dich", "job_disc"},
    "colon": {"rx", "status", "time", "node4", "etype", "id", "study"},
    "k401ksubs": {"e401k", "nettfa", "p401k", "incsq", "agesq"},
    "catholic": {"cathhs", "math12", "read12", "hsgrad", "id"},
    "recid": {"workprg", "ldurat", "durat", "cens", "follow", "tserved", "rules", "super"},
    "nmes1988": {"insurance", "visits", "nvisits", "ovisits", "novisits", "emergency", "hospital", "medicaid"},
    "rotterdam": {"hormon", "death", "dtime", "rtime", "recur", "chemo", "pid"},
    "bwght2": {"cigs", "bwght", "lbwght", "lbw", "vlbw", "omaps", "fmaps", "npvis", "monpre", "drink"},
    "hi": {"hhi", "whrswk", "whi", "hhi2", "wght"},
    "smokeban": {"ban", "smoker"},
}


@needs_data("tables")
@pytest.mark.parametrize("name", real.TABLES)
def test_outcomes_and_treatments_are_no_covariates(name):
    table, about = real.people(name), real.TABLES[name]
    assert (len(table.t), table.t.sum()) == PEOPLE[name]
    own = {column.removesuffix(" missing") for column in table.columns}
    assert own == {*about.numbers.split(), *about.categories.split()} and not own & NEVER[name]
    x = table.covariates(np.arange(len(table.t)))
    assert len(x) == len(table.t) and np.isfinite(x).all()
    assert not any(np.array_equal(np.unique(column), [0, 1]) and (column == table.t).all() for column in x.T)
    assert {*table.sources} == {f"tables/{file}" for file in about.files} <= {*files.GROUPS["tables"]}
    assert np.isnan(table.y).sum() == (67 if name == "hiv" else 0)
    assert (table.clusters is not None) == bool(about.clusters)


@needs_data("tables")
def test_gaps_are_filled_and_told_and_nobody_without_an_arm_is_kept():
    table = real.people("rhc")
    weight = table.columns["wtkilo1"]
    gone = table.columns["wtkilo1 missing"].to_numpy()
    assert gone.sum() == 515 and weight.min() > 0 and np.unique(weight[gone]).size == 1
    assert weight[gone][0] == np.median(weight[~gone])
    assert (table.columns["cat2"] == "missing").sum() == 4535 and table.columns["urin1 missing"].sum() == 3028
    with pytest.raises(UnknownName, match="unknown table 'lalond' .*lalonde"):
        real.people("lalond")
