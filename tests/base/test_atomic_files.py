"""Files are there whole or not at all; targets that cannot be written are refused before any work."""

import errno
import os
import re
import stat
import subprocess
import sys
import textwrap

import pytest

import mrfbayes as mb
from mrfbayes.base.atomic_files import check_targets, replacing, write_bytes, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path):
    write_text(tmp_path / "a.txt", "grüß")
    assert (tmp_path / "a.txt").read_bytes() == "grüß".encode()
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_files_are_replaced_only_with_overwrite(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(mb.InputError, match=r"a\.txt exists: .*overwrite=True"):
        write_text(path, "new")
    assert path.read_text() == "old"
    write_text(path, "new", overwrite=True)
    assert path.read_text() == "new"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "a.txt"

    def write():
        with replacing(path) as file:
            file.write(b"mine")
            path.write_text("theirs")

    with pytest.raises(mb.OutputError, match="made by someone else meanwhile"):
        write()
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_exception_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write():
        with replacing(path, overwrite=True) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="Windows opens no folders")
def test_the_content_is_on_the_disk_before_its_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    kind = {True: "folder", False: "file"}
    monkeypatch.setattr(os, "fsync", lambda fd: order.append(kind[stat.S_ISDIR(os.fstat(fd).st_mode)]) or fsync(fd))
    monkeypatch.setattr(os, "replace", lambda *names: order.append("name") or replace(*names))
    write_text(tmp_path / "a.txt", "new", overwrite=True)
    assert order == ["file", "name", "folder"]


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, where):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, where, full)
    with pytest.raises(mb.OutputError, match=r"a\.txt.*No space left on device"):
        write_text(path, "new", overwrite=True)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_limit_on_the_size_of_files_leaves_what_was_there(tmp_path):
    """The system's own refusal in the middle of a write, in a process of its own."""
    (tmp_path / "a.bin").write_bytes(b"old")
    code = f"""
    import resource
    from mrfbayes.base.atomic_files import write_bytes
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        write_bytes({str(tmp_path / "a.bin")!r}, bytes(1_000_000), overwrite=True)
    except OSError as error:
        print(type(error).__name__, error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.stdout.startswith("OutputError"), done.stderr
    assert "File too large" in done.stdout
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_link_a_folder_and_a_device_are_refused(tmp_path):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(mb.InputError, match="is a link to file"):
        write_text(tmp_path / "link", "new", overwrite=True)
    with pytest.raises(mb.InputError, match="is a folder"):
        write_text(tmp_path, "new", overwrite=True)
    with pytest.raises(mb.InputError, match="is not a regular file"):
        write_text("/dev/null", "new", overwrite=True)
    assert (tmp_path / "file").read_text() == "precious"


def test_good_targets_pass_and_leave_nothing(tmp_path):
    (tmp_path / "run").write_bytes(b"checkpoint")
    (tmp_path / "x.csv").write_text("a,b")
    check_targets(
        {"out": tmp_path / "out.nc", "csv": None},
        continued={"checkpoint": tmp_path / "run"},
        inputs={"x": tmp_path / "x.csv", "y": [1, 2]},
    )
    assert names(tmp_path) == ["run", "x.csv"]


def test_unusable_targets_are_refused_by_argument(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(mb.InputError, match=r"out .*no/r\.nc: there is no folder .*no: make it first"):
        check_targets({"out": tmp_path / "no" / "r.nc"})
    with pytest.raises(mb.InputError, match=r"out .*cannot be written \(Not a directory\)"):
        check_targets({"out": tmp_path / "file" / "r.nc"})
    with pytest.raises(mb.InputError, match=r"out .*file exists: .*--overwrite"):
        check_targets({"out": tmp_path / "file"}, permission="--overwrite")
    with pytest.raises(mb.InputError, match=r"out .*cannot be written \(File name too long\)"):
        check_targets({"out": tmp_path / ("n" * 300)})
    with pytest.raises(mb.InputError, match="out = 5: give the path of a file"):
        check_targets({"out": 5})
    with pytest.raises(mb.InputError, match="not the path of a file"):
        check_targets({"out": "a\0b"})
    with pytest.raises(mb.InputError, match=r"checkpoint .* is a folder"):
        check_targets(continued={"checkpoint": tmp_path})

    def read_only(*arguments, **settings):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("builtins.open", read_only)
    with pytest.raises(mb.InputError, match=r"out .*Read-only file system"):
        check_targets({"out": tmp_path / "r.nc"})


def test_one_file_for_two_purposes_is_refused(tmp_path):
    data = tmp_path / "x.csv"
    data.write_text("a,b")
    os.link(data, tmp_path / "again.csv")
    for path in (data, tmp_path / "again.csv", tmp_path / "." / "x.csv"):
        with pytest.raises(mb.InputError, match="out and data are the same file"):
            check_targets({"out": path}, inputs={"data": data}, overwrite=True)
    with pytest.raises(mb.InputError, match="out and checkpoint are the same file"):
        check_targets({"out": tmp_path / "r"}, continued={"checkpoint": tmp_path / "r"}, overwrite=True)
    with pytest.raises(mb.InputError, match="checkpoint and data are the same file"):
        check_targets(continued={"checkpoint": data}, inputs={"data": data})
    assert data.read_text() == "a,b"


def test_bytes_and_memoryviews_are_written(tmp_path):
    write_bytes(tmp_path / "a", memoryview(b"abc"))
    assert (tmp_path / "a").read_bytes() == b"abc"


def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path, monkeypatch):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    monkeypatch.chdir(inside)
    whole = re.escape(str(outside / "r.nc"))
    with pytest.raises(
        mb.InputError, match=rf"out \.\./outside/r\.nc leads out .* by '\.\.': .* the whole path, {whole}"
    ):
        check_targets({"out": "../outside/r.nc"})
    with pytest.raises(mb.InputError, match=rf"out link/r\.nc leads out .* by a link: .* the whole path, {whole}"):
        check_targets({"out": "link/r.nc"})
    with pytest.raises(mb.InputError, match=r"write the path without '\.\.'"):
        check_targets({"out": inside / ".." / "outside" / "r.nc"})
    for fine in ("r.nc", "./r.nc", "../inside/r.nc", str(outside / "r.nc")):
        check_targets({"out": fine})
    assert not list(outside.iterdir())
