"""Files are written whole or not at all, with the permissions of any file, and a full disk is said by name."""

import errno
import fcntl
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


@pytest.mark.parametrize("error", [OSError(errno.EBUSY, "busy"), SystemExit(143)])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_where_one_file_cannot_be_replaced_none_is(tmp_path, monkeypatch, error, which):
    """An error, or a signal, at each of three files: one that was there, one that was not, and the last."""
    there, new, last = (tmp_path / name for name in ("there", "new", "last"))
    there.write_bytes(b"old"), last.write_bytes(b"old"), there.chmod(0o640)
    plain, calls = os.replace, []

    def replace(draft, place):
        calls.append(place)
        if len(calls) == which + 1:
            raise error
        plain(draft, place)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(type(error)):
        atomic.write({there: b"1", new: b"2", last: b"3"})
    assert there.read_bytes() == last.read_bytes() == b"old" and there.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last", "there"]


def test_a_signal_after_the_last_file_undoes_nothing(tmp_path, monkeypatch):
    one, two, plain = tmp_path / "one", tmp_path / "two", os.replace

    def replace(draft, place):
        plain(draft, place)
        if place == two:
            raise SystemExit(143)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(SystemExit):
        atomic.write({one: b"1", two: b"2"})
    assert one.read_bytes() == b"1" and two.read_bytes() == b"2"


def test_what_a_file_cannot_replace_is_refused_before_any_is_written(tmp_path):
    one, folder, link, pipe = (tmp_path / name for name in ("one", "folder", "link", "pipe"))
    one.write_bytes(b"old"), folder.mkdir(), os.link(one, link), os.mkfifo(pipe)
    for wrong in (folder, link, one, pipe):
        with pytest.raises(OSError, match=f"'{wrong}'"):
            atomic.write_step({tmp_path / "new": b"1", wrong: b"2"})
    with pytest.raises(IsADirectoryError, match=f"'{folder}'"):
        atomic.write({tmp_path / "new": b"1", folder: b"2"})
    assert not (tmp_path / "new").exists() and link.read_bytes() == b"old"
    link.unlink()
    atomic.write_step({one: b"new"})


def test_drafts_that_nobody_holds_are_cleared(tmp_path):
    left, held, other = (tmp_path / name for name in (f".{'a' * 32}.tmp", f".{'b' * 32}.tmp", ".mine.tmp"))
    for path in (left, held, other):
        path.write_bytes(b"half")
    with held.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        atomic.write_step({tmp_path / "one": b"1"})
    assert {path.name for path in tmp_path.iterdir()} == {"one", held.name, other.name}


def test_a_draft_that_was_cleared_before_it_was_held_is_made_anew(tmp_path, monkeypatch):
    plain, cleared = fcntl.flock, []

    def late(handle, how):
        if not cleared:
            cleared.extend(tmp_path.glob(".*.tmp"))
            cleared[0].unlink()
        plain(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    atomic.write({tmp_path / "one": b"1"})
    assert cleared and [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_written_where_links_lead(tmp_path, there):
    """Through a link to a link, to a file in another folder that is there or not, and through a linked folder."""
    (tmp_path / "far").mkdir()
    place, link, other = tmp_path / "far" / "one", tmp_path / "link", tmp_path / "other"
    if there:
        place.write_bytes(b"old")
    link.symlink_to("far/one")
    other.symlink_to(link)
    (tmp_path / "folder").symlink_to("far")
    atomic.write({other: b"new", tmp_path / "folder" / "two": b"2"})
    assert link.is_symlink() and other.is_symlink() and place.read_bytes() == b"new"
    assert sorted(path.name for path in place.parent.iterdir()) == ["one", "two"]
    assert atomic.real(other) == atomic.real(place) == place


def test_a_lock_that_cannot_be_made_is_named_by_its_folder(tmp_path):
    (tmp_path / ".lock").mkdir()
    with pytest.raises(OSError, match=f"'{tmp_path}'"), atomic.locked(tmp_path / ".lock"):
        pass


def test_links_in_a_circle_are_refused_by_name(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two), two.symlink_to(one)
    with pytest.raises(OSError, match=f"'{two}'"):
        atomic.write({tmp_path / "three": b"3", two: b"2"})
    assert one.is_symlink() and two.is_symlink() and not (tmp_path / "three").exists()
