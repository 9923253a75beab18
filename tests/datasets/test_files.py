"""Raw files, found, downloaded and verified, against a real server on this machine; nothing half-written is used."""

import gzip
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from macal import files
from macal.datasets import ibm
from reproduction import book

NAME = "test/numbers.csv"
CONTENT = b"sample_id,y\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(50_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PACKED = gzip.compress(CONTENT, mtime=0)
BODIES = {
    "/good": CONTENT,
    "/packed": PACKED,
    "/packed-otherwise": gzip.compress(CONTENT, 1, mtime=5),
    "/flipped": CONTENT[:1000] + bytes([CONTENT[1000] ^ 1]) + CONTENT[1001:],
    "/truncated": CONTENT[:-7],
    "/packed-truncated": PACKED[:-9],
    "/packed-flipped": PACKED[:5000] + bytes([PACKED[5000] ^ 1]) + PACKED[5001:],
    "/empty": b"",
}


class Handler(BaseHTTPRequestHandler):
    """Serves ``BODIES``, and everything that can go wrong on the way."""

    def do_GET(self):
        server = self.server
        server.requests.append(self.path)
        if self.path == "/flaky" and server.requests.count("/flaky") < 3:
            return self.send_error(503)
        if self.path == "/stalls":
            self.announce(len(CONTENT))
            self.wfile.write(CONTENT[:200_000])
            self.wfile.flush()
            server.reached.set()
            return server.released.wait(30)
        if self.path == "/together":
            server.barrier.wait(60)
        if self.path == "/dies":  # the connection ends before the announced length
            self.announce(len(CONTENT))
            return self.wfile.write(CONTENT[: len(CONTENT) // 2])
        body = CONTENT if self.path in ("/together", "/flaky") else BODIES.get(self.path)
        if body is None:
            return self.send_error(404)
        self.announce(len(body))
        return self.wfile.write(body)

    def announce(self, length):
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.barrier = [], threading.Barrier(2)
    server.reached, server.released = threading.Event(), threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The three places where files are looked for, all empty."""
    found = {name: tmp_path / name for name in ("named", "project", "cache")}
    found["named"].mkdir()
    monkeypatch.setenv("MACAL_DATA", str(found["named"]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(found["cache"]))
    monkeypatch.setattr(files, "PROJECT_DATA", found["project"])
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    found["cache"] = files.cache()
    return found


@pytest.fixture
def sources(folders, monkeypatch):
    """Say which addresses the file has."""

    def register(*urls):
        monkeypatch.setitem(files.FILES, NAME, files.Source(SHA256, urls))
        monkeypatch.setitem(files.GROUPS, "test", (NAME,))

    return register


def put(folder, content=CONTENT):
    (folder / NAME).parent.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_bytes(content)


def everything_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", ["/good", "/packed", "/packed-otherwise", "/flaky"])
def test_a_download_is_verified_kept_and_not_repeated(server, sources, folders, path, capfd):
    sources(server.url + path)
    assert files.missing("test") == [NAME]
    assert files.read(NAME) == CONTENT
    assert "100%" in capfd.readouterr().err
    assert everything_in(folders["cache"]) == [NAME] and files.missing("test") == []
    asked = len(server.requests)
    assert files.read(NAME) == CONTENT and len(server.requests) == asked == (3 if path == "/flaky" else 1)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/flipped", "content has SHA-256"),
        ("/truncated", "content has SHA-256"),
        ("/empty", "content has SHA-256"),
        ("/packed-truncated", "damaged gzip file"),
        ("/packed-flipped", "damaged gzip file|content has SHA-256"),
        ("/404", "404 Client Error"),
        ("/dies", "IncompleteRead|Connection broken"),
    ],
)
def test_a_bad_download_is_retried_refused_and_leaves_nothing(server, sources, folders, path, reason):
    sources(server.url + path)
    with pytest.raises(files.DataUnavailable, match=reason) as caught:
        files.read(NAME)
    assert len(server.requests) == 1 + files.RETRIES
    assert everything_in(folders["cache"]) == [] and files.missing("test") == [NAME]
    assert all(hint in str(caught.value) for hint in (NAME, server.url + path, "MACAL_DATA", SHA256))


@pytest.mark.parametrize("path", ["/404", "/flipped", "/dies"])
def test_the_next_source_is_tried(server, sources, path):
    sources(server.url + path, server.url + "/good")
    files.require("test")
    assert files.read(NAME) == CONTENT


def test_folders_are_searched_in_order(sources, folders):
    sources()
    for name in ("cache", "project", "named"):
        put(folders[name])
        assert files.find(NAME) == folders[name] / NAME
    assert files.read(NAME) == CONTENT


@pytest.mark.parametrize("name", ["named", "project", "cache"])
def test_a_folder_may_hold_a_file_packed(sources, folders, name):
    sources()
    (folders[name] / "test").mkdir(parents=True)
    packed = folders[name] / f"{NAME}.gz"
    packed.write_bytes(PACKED)
    assert files.find(NAME) == packed and files.missing("test") == []
    assert files.read(NAME) == CONTENT
    packed.write_bytes(gzip.compress(BODIES["/flipped"]))
    with pytest.raises(files.ChecksumError, match=re.escape(str(packed))):
        files.read(NAME)


def test_what_is_in_data_is_declared_and_whole_and_nothing_that_pages_read_is_missing():
    data = book.ROOT / "data"
    terms = {"README.md", "LICENSE.txt", "SHA256SUMS"}
    summed = (line.split() for line in (data / "tables" / "SHA256SUMS").read_text().splitlines())
    declared = {name: source.sha256 for name, source in files.FILES.items()}
    assert {f"tables/{name}": sha256 for sha256, name in summed} == {n: declared[n] for n in files.GROUPS["tables"]}
    held = {path.relative_to(data).as_posix(): path for path in data.rglob("*") if path.is_file()}
    found = {name if name in declared else name.removesuffix(".gz"): path for name, path in held.items()}
    found = {name: path for name, path in found.items() if path.name not in terms}
    assert found.keys() <= declared.keys()
    for name, path in found.items():
        files.verified(path.read_bytes(), declared[name], str(path))
    assert found.keys() == {name for group in ("ibm", "mnist", "acic", "tables") for name in files.GROUPS[group]}
    assert sum(path.stat().st_size for path in held.values()) < 20e6


@pytest.mark.parametrize("wrong", ["absent", "a file"])
@pytest.mark.parametrize("look", [files.read, lambda _: files.require("test"), lambda _: files.missing("test")])
def test_a_wrong_folder_is_said_before_another_is_looked_at(sources, folders, tmp_path, monkeypatch, wrong, look):
    sources()
    put(folders["project"])
    (tmp_path / "a file").touch()
    named = str(tmp_path / wrong)
    monkeypatch.setenv("MACAL_DATA", named)
    with pytest.raises(ValueError, match=f"^MACAL_DATA={named!r} "):
        look(NAME)


@pytest.mark.parametrize("name", ["named", "project", "cache"])
@pytest.mark.parametrize("path", ["/flipped", "/truncated", "/packed-truncated"])
@pytest.mark.parametrize("use", [files.read, lambda _: files.require("test")])
def test_a_damaged_file_is_refused_and_left_alone(server, sources, folders, name, path, use):
    sources(server.url + "/good")
    put(folders[name], BODIES[path])
    where = re.escape(str(folders[name] / NAME))
    with pytest.raises(files.ChecksumError, match=where) as caught:
        use(NAME)
    assert path.startswith("/packed") or re.search(f"[0-9a-f]{{12}}.*expected {SHA256[:12]}", str(caught.value))
    assert (folders[name] / NAME).read_bytes() == BODIES[path] and server.requests == []


def test_a_bomb_is_refused_before_it_fills_the_memory(sources, folders):
    sources()
    put(folders["named"], gzip.compress(bytes(2**24)) * 64)  # 1 MiB that unpacks to 1 GiB
    tracemalloc.start()
    with pytest.raises(files.ChecksumError, match=f"larger than 256 MiB.*{NAME}"):
        files.read(NAME)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * files.LIMIT  # from Python 3.12 on, gzip unpacks larger pieces


@pytest.fixture
def read_only(folders, monkeypatch):
    """A cache, and a function that takes away the right to write to it, even from root."""
    import requests  # noqa: F401  # imported now, since another user may not be able to read it

    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        monkeypatch.delenv("MACAL_DATA")
        monkeypatch.setattr(files, "PROJECT_DATA", folder / "absent")
        monkeypatch.setattr(files, "cache", lambda: folder)
        yield folder, lambda: (folder.chmod(0o555), user == 0 and os.seteuid(65534))
        os.seteuid(user)
        folder.chmod(0o755)


def test_a_read_only_cache_is_named(server, sources, read_only):
    sources(server.url + "/good")
    folder, close = read_only
    close()
    with pytest.raises(files.DataUnavailable, match=f"Permission denied.*{folder}"):
        files.read(NAME)
    assert everything_in(folder) == [] and server.requests == []


def reader(url, folders):
    """Another process that reads the file."""
    code = (
        "import sys; from pathlib import Path; from macal import files\n"
        f"files.PROJECT_DATA = Path({str(folders['project'])!r})\n"
        f"files.FILES[{NAME!r}] = files.Source({SHA256!r}, ({url!r},))\n"
        f"sys.exit(len(files.read({NAME!r})) != {len(CONTENT)})"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)


@pytest.mark.exhaustive
def test_two_processes_download_at_once(server, sources, folders):
    readers = [reader(server.url + "/together", folders) for _ in range(2)]
    assert [(r.communicate()[1][-500:] and r.returncode) for r in readers] == [0, 0]
    assert server.requests == ["/together"] * 2 and everything_in(folders["cache"]) == [NAME]
    assert (folders["cache"] / NAME).read_bytes() == CONTENT


def test_a_process_that_dies_leaves_nothing_that_is_used(server, sources, folders):
    victim = reader(server.url + "/stalls", folders)
    assert server.reached.wait(60)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    sources(server.url + "/good")
    assert files.missing("test") == [NAME]
    assert files.read(NAME) == CONTENT


def test_unknown_names():
    with pytest.raises(ValueError, match="'ibm/covariates.parquet'"):
        files.read("ibm/covariate.parquet")
    with pytest.raises(ValueError, match="'mnist'"):
        files.require("minst")


def test_every_source_is_pinned():
    for name, source in files.FILES.items():
        assert re.fullmatch("[0-9a-f]{64}", source.sha256), name
        for url in source.urls:
            assert url.startswith("https://") and url.endswith(Path(name).name)
            assert "github" not in url or re.search("/[0-9a-f]{40}/", url)
    assert len(ibm.LBIDD_INSTANCES) == 10
    assert {name for group in files.GROUPS.values() for name in group} <= {*files.FILES}


@pytest.mark.parametrize("name", ["ibm", "cmnist"])
def test_without_files_loading_says_what_would_do(folders, monkeypatch, name):
    from macal import datasets

    for registered in files.FILES:
        monkeypatch.setitem(files.FILES, registered, files.Source("0" * 64, ()))
    datasets.ibm.table.cache_clear()
    datasets.cmnist.digits.cache_clear()
    with pytest.raises(files.DataUnavailable, match="MACAL_DATA"):
        datasets.load(name)
