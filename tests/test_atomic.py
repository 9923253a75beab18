"""Files are written whole or not at all, with the permissions of any file, and a full disk is said by name."""

import errno
import os

import pytest

from macal.storage import atomic


def full(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_files_are_written_into_new_folders_with_usual_permissions(tmp_path, umask):
    path = tmp_path / "new" / "one"
    atomic.write({path: b"1"})
    atomic.write({path: b"2", tmp_path / "two": b"3"})
    assert path.read_bytes() == b"2" and (tmp_path / "two").read_bytes() == b"3"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_said_by_the_name_of_the_file_and_leaves_the_old_one(tmp_path, monkeypatch, call):
    path = tmp_path / "one"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        atomic.write({path: b"new"})
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_where_one_file_cannot_be_written_none_is(tmp_path, monkeypatch):
    one, two = tmp_path / "one", tmp_path / "two"
    plain, calls = os.fsync, []
    monkeypatch.setattr(os, "fsync", lambda handle: full() if calls else calls.append(plain(handle)))
    with pytest.raises(OSError, match=f"'{two}'"):
        atomic.write({one: b"1", two: b"2"})
    assert not list(tmp_path.iterdir())
