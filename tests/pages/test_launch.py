"""Binder's button, where the repository has a public address, and what Binder then installs."""

import shutil
import subprocess
import tomllib
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

from reproduction import site
from reproduction.book import ROOT

PROJECT = "https://github.com/someone/book"


@pytest.mark.parametrize(
    ("remote", "known"),
    [
        ("https://github.com/someone/book.git\n", PROJECT),
        ("https://someone:secret@github.com/someone/book/", PROJECT),
        ("git@github.com:someone/book.git", PROJECT),
        ("ssh://git@gitlab.com/someone/my.book", "https://gitlab.com/someone/my.book"),
        ("", ""),
        ("/home/someone/book", ""),
        ("https://git.example.org/someone/book.git", ""),
        ("https://example.org/github.com/someone/book", ""),
    ],
)
def test_the_address_of_a_public_repository_is_read_from_a_remote(remote, known):
    assert site.address(remote) == known


@pytest.mark.exhaustive
@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
@pytest.mark.parametrize(
    ("configured", "origin", "url"),
    [("", PROJECT, PROJECT), (PROJECT, "https://github.com/other/fork", PROJECT), ("", "/home/someone/book", "")],
)
def test_what_is_configured_comes_before_the_origin(monkeypatch, tmp_path, configured, origin, url):
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "remote", "add", "origin", origin], check=True)
    monkeypatch.setattr(site, "ROOT", tmp_path)
    before = {"repository_url": configured, "launch_buttons": {"thebe": False}}
    config = SimpleNamespace(html_theme_options=dict(before))
    site.offer_binder(None, config)
    assert config.html_theme_options["repository_url"] == url
    assert ("binderhub_url" in config.html_theme_options["launch_buttons"]) == bool(url)
    assert url or config.html_theme_options == before


def test_binder_installs_the_pins_the_lock_and_the_project():
    lines = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    options = dict(line.split() for line in lines if not line.startswith("#"))
    # pip counts files from the one that names them, and folders from where it runs
    assert (ROOT / "binder" / options.pop("-r")).resolve() == ROOT / "requirements.txt"
    assert (ROOT / "binder" / options.pop("-c")).resolve() == ROOT / "requirements.lock"
    assert options == {"-e": "."}
    name, version = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip().split("-")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert name == "python" and version in SpecifierSet(project["requires-python"])
