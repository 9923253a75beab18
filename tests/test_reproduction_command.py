"""The command that repeats the studies behind chapters' tables."""

import pandas as pd
import pytest

from reproduction import __main__ as command


def test_record_runs_the_study_of_a_table(monkeypatch, capsys, tmp_path):
    asked = []
    table = pd.DataFrame({"pehe": [1.0]})
    monkeypatch.setitem(command.RECORDED, "toy", lambda *n, **options: asked.append((*n, *options.values())) or table)
    into = ["--into", str(tmp_path)]
    assert command.main(["record", "toy", "--replications", "2", "--replace", *into]) == 0
    assert command.main(["record", "toy", *into]) == 0
    assert asked == [(2, tmp_path, True, False), (tmp_path, False, False)] and "toy: 1 rows" in capsys.readouterr().out
    for number in ("0", "-1"):
        assert command.main(["record", "toy", "--replications", number, *into]) == 1
        assert "replications must be an integer of at least 1, got" in capsys.readouterr().err
    assert command.main(["record", "toy", "--replications", "2"]) == 1  # the book's own table
    assert "toy.parquet exists" in capsys.readouterr().err and len(asked) == 2
    with pytest.raises(SystemExit):
        command.main(["record", "toi"])
