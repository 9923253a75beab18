"""Records lead back to a commit: what manifests say of the code, in real repositories, and what publishing asks."""

import shutil
import subprocess

import pytest
import torch

from macal import __main__ as command
from macal import models, results
from macal.campaigns import bundle, provenance, sweeps
from macal.campaigns.results import Record, write

PLAIN = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
NOWHERE = {"commit": None, "dirty": None}


def git(folder, *arguments):
    if not shutil.which("git"):
        pytest.skip("needs git")
    done = subprocess.run(["git", *PLAIN, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path):
    """A package in ``lib/`` of a repository with one commit."""
    package = tmp_path / "clone" / "lib" / "tool"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "style.txt").write_text("red")
    (package.parents[1] / "page.md").write_text("text")
    (package.parents[1] / ".gitignore").write_text("__pycache__/\n/.venv\n")
    git(package.parents[1], "init", "-q")
    git(package.parents[1], "add", "-A")
    git(package.parents[1], "commit", "-qm", "one")
    return package


def test_a_clean_checkout_is_its_commit(package):
    found = provenance.checkout_state(package)
    assert found == {"commit": git(package, "rev-parse", "HEAD"), "dirty": False} and len(found["commit"]) == 40
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.pyc").write_text("")  # ignored
    (package.parents[1] / "page.md").write_text("another text")  # outside lib/
    (package.parents[1] / "new.py").write_text("")
    assert provenance.checkout_state(package) == found


@pytest.mark.parametrize(
    "change",
    [
        lambda p: (p / "__init__.py").write_text("x = 1"),
        lambda p: (p / "__init__.py").rename(p / "renamed.py") and (p / "__init__.py").write_text(""),
        lambda p: (p / "style.txt").unlink(),
        lambda p: (p / "new.py").write_text(""),
        lambda p: (p.parent / "other").mkdir() or (p.parent / "other" / "new.py").write_text(""),
        lambda p: (p / "style.txt").write_text("blue") and git(p, "add", "style.txt"),
    ],
    ids=["changed", "added beside", "deleted", "untracked", "in another package", "staged"],
)
def test_every_change_of_the_code_counts(package, change):
    commit = git(package, "rev-parse", "HEAD")
    change(package)
    git(package, "config", "status.showUntrackedFiles", "no")
    assert provenance.checkout_state(package) == {"commit": commit, "dirty": True}


def test_an_installed_package_inside_a_checkout_has_none(package):
    installed = package.parents[1] / ".venv" / "site-packages" / "tool"
    shutil.copytree(package, installed)
    assert provenance.checkout_state(installed) == NOWHERE


def test_no_checkout_no_commit_no_answer(package, tmp_path, monkeypatch):
    shutil.copytree(package, tmp_path / "archive" / "lib" / "tool")
    assert provenance.checkout_state(tmp_path / "archive" / "lib" / "tool") == NOWHERE
    git(tmp_path / "archive", "init", "-q")
    git(tmp_path / "archive", "add", "-A")
    assert provenance.checkout_state(tmp_path / "archive" / "lib" / "tool") == NOWHERE  # nothing is committed yet
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))  # no git
        assert provenance.checkout_state(package) == NOWHERE

    def hang(*arguments, **options):
        raise subprocess.TimeoutExpired("git", 60)

    monkeypatch.setattr(subprocess, "run", hang)
    assert provenance.checkout_state(package) == NOWHERE


def test_a_hooks_environment_does_not_mislead(package, tmp_path, monkeypatch):
    expected = provenance.checkout_state(package)
    git(tmp_path, "init", "-q", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere" / "index"))
    assert provenance.checkout_state(package) == expected


def test_the_device_is_the_one_that_was_used(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: f"GPU at {place}")
    devices = {device: provenance.device_of(models.get("due", device=device)) for device in ("cpu", "auto", "cuda:1")}
    assert devices == {"cpu": "cpu", "auto": "GPU at cuda", "cuda:1": "GPU at cuda:1"}
    assert provenance.device_of(models.get("exact-gp")) == "cpu"


CLEAN = {"code": "a", "commit": "c" * 40, "dirty": False}
DIRTY = CLEAN | {"dirty": True}


def stored(store, *manifests):
    for k, about in enumerate(manifests):
        config = {"dataset": "toy", "protocol": "paper", "replication": k, "method": "macal"}
        write(Record(config, [{"step": 0, "pehe": 1.0}], [], {"seconds": 1.0} | about), store)


def test_what_no_commit_holds_is_published_on_demand_alone(tmp_path, capsys):
    store, out = tmp_path / "store", tmp_path / "out"
    stored(store, CLEAN, {}, NOWHERE, DIRTY, CLEAN | {"earlier": [DIRTY]})
    with pytest.raises(results.Uncommitted, match=r"2 of 5"):
        results.publish(store, "toy", out)
    assert not out.exists()
    call = ["publish", str(store), "toy", "--into", str(out)]
    assert command.main(call) == 1 and "--dirty" in capsys.readouterr().err
    assert command.main([*call, "--dirty"]) == 0 and "2 of 5" in capsys.readouterr().out
    found = results.origins(results.load("toy", out)).reset_index()
    assert found.values.tolist() == [["c" * 40, "no", 1, 1], ["c" * 40, "yes", 2, 2], ["unknown", "unknown", 2, 2]]


def test_a_chunk_names_all_code_that_ran_it(tmp_path, monkeypatch):
    spec = sweeps.Spec("toy", {"random": {}}, (0,), {"name": "exact-gp", "steps": 2}, n_queries=3, stage=2)
    (chunk,) = sweeps.chunks(spec)
    plain, stages = sweeps.loop.train, []

    def cut_off(*request):
        stages.append(1)
        if len(stages) == 2:
            raise KeyboardInterrupt
        return plain(*request)

    monkeypatch.setattr(sweeps.loop, "train", cut_off)
    monkeypatch.setattr(provenance, "origin", lambda: dict(DIRTY))
    with pytest.raises(KeyboardInterrupt):
        sweeps.run_chunk(chunk, tmp_path)
    monkeypatch.setattr(provenance, "origin", lambda: dict(CLEAN))
    assert sweeps.run_chunk(chunk, tmp_path) == "done"
    (record,) = results.read_all(tmp_path)
    assert record.manifest["earlier"] == [DIRTY] and record.manifest["dirty"] is False
    with pytest.raises(results.Uncommitted):
        results.publish(tmp_path, "toy", tmp_path / "out")


def test_a_bundle_knows_the_commit_that_it_was_packed_from(tmp_path, monkeypatch, origin):
    home = {"code": provenance.fingerprint(), "commit": "c" * 40, "dirty": False}
    monkeypatch.setattr(provenance, "origin", lambda: home)
    bundle.pack(sweeps.Spec("toy", {"random": {}}, (0,)), tmp_path / "pack")
    package = tmp_path / "pack" / "lib" / "macal"
    assert origin(package) == home
    (package / "__init__.py").write_text("changed there")
    origin.cache_clear()
    assert origin(package) == home | {"code": provenance.fingerprint(package), "dirty": True}


@pytest.mark.exhaustive
def test_every_recorded_campaign_leads_back_to_a_commit_with_its_code(tmp_path):
    """Of all manifests in the book's tables; where the whole history is there, the digest is taken of the commit."""
    made = {}
    for path in results.FOLDER.glob("*.parquet"):
        for record in results.load(path.stem).attrs["records"]:
            for one in (record["manifest"], *record["manifest"].get("earlier", ())):
                assert one.get("commit"), f"{path.stem}: {record['config']}"
                made.setdefault(one["commit"], set()).add(one["code"])
    assert len(made) > 20 and all(len(codes) == 1 for codes in made.values())
    need_whole_history()
    for commit, codes in made.items():
        git(results.FOLDER.parent, "archive", "-o", str(tmp_path / f"{commit}.tar"), commit, "lib/macal")
        shutil.unpack_archive(tmp_path / f"{commit}.tar", tmp_path / commit, filter="data")
        assert {provenance.fingerprint(tmp_path / commit / "lib" / "macal")} == codes, commit


def need_whole_history():
    try:
        shallow = git(provenance.PACKAGE, "rev-parse", "--is-shallow-repository") != "false"
    except subprocess.CalledProcessError:
        shallow = True
    if shallow:
        pytest.skip("needs the whole history of the book's repository")
