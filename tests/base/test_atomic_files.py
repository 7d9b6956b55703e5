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
from mrfbayes.base import atomic_files
from mrfbayes.base.atomic_files import check_targets, replacing, replacing_folder, write_bytes, write_text


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


NAMES = ("result", "report", "extra")
OLD = {"result": "old", "report": "old", "extra": "old", "notes": "mine"}
NEW = {"result": "new", "report": "new", "notes": "mine"}


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.is_dir() else None


def make_old(folder):
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text)


def fill(folder):
    with replacing_folder(folder, NAMES) as part:
        (part / "result").write_text("new")
        (part / "report").write_text("new")


def test_a_new_folder_appears_whole(tmp_path):
    with replacing_folder(tmp_path / "a", NAMES) as part:
        (part / "result").write_text("new")
        assert not (tmp_path / "a").exists()
    assert contents(tmp_path / "a") == {"result": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_old_folder_is_replaced_and_the_users_files_stay(tmp_path):
    make_old(tmp_path / "a")
    fill(tmp_path / "a")
    assert contents(tmp_path / "a") == NEW  # "extra" belonged to the old result
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), mb.OutputError("full"), mb.InputError("no"), ValueError("?")])
def test_a_failure_keeps_the_old_folder_and_what_was_finished(tmp_path, error):
    make_old(tmp_path / "a")

    def fail():
        with replacing_folder(tmp_path / "a", NAMES) as part:
            (part / "result").write_text("new")
            raise error

    for suffix in ("", "-2"):
        with pytest.raises(type(error)) as found:
            fail()
        assert contents(tmp_path / "a") == OLD
        assert contents(tmp_path / f"a-unfinished{suffix}") == {"result": "new"}
        assert (f"a-unfinished{suffix}" in str(found.value)) == (type(error) is not ValueError)


def test_a_failure_before_the_first_file_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), replacing_folder(tmp_path / "a", NAMES):
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_a_second_process_is_refused_and_the_place_is_free_afterwards(tmp_path):
    script = textwrap.dedent(
        f"""
        import sys
        from mrfbayes.base.atomic_files import replacing_folder
        with replacing_folder({str(tmp_path / "a")!r}, []) as part:
            (part / "result").write_text("theirs")
            print("holds", flush=True)
            sys.stdin.read()
        """
    )
    other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "holds\n"
    with pytest.raises(mb.InputError, match=r"folder .*a is in use by another process"):
        fill(tmp_path / "a")
    other.communicate(timeout=60)
    assert other.returncode == 0
    assert contents(tmp_path / "a") == {"result": "theirs"}
    fill(tmp_path / "a")
    assert contents(tmp_path / "a") == {"result": "new", "report": "new"}


KILLED = """
import os, sys
count = 0
def deadly(name):
    call = getattr(os, name)
    def at_point(*arguments, **settings):
        global count
        count += 1
        if count == int(sys.argv[2]):
            os._exit(9)
        return call(*arguments, **settings)
    setattr(os, name, at_point)
for name in ("rename", "mkdir", "unlink", "rmdir", "fsync"):
    deadly(name)
from pathlib import Path
from mrfbayes.base.atomic_files import replacing_folder
with replacing_folder(sys.argv[1], ("result", "report", "extra")) as part:
    for name in ("result", "report"):
        with open(part / name, "x") as file:
            file.write("new")
            os.fsync(file.fileno())
"""


@pytest.mark.parametrize("has_old", [True, False])
def test_killed_at_any_point_the_folder_is_old_or_new(tmp_path, has_old):
    seen = []
    for point in range(1, 40):
        folder = tmp_path / str(point) / "a"
        folder.parent.mkdir()
        if has_old:
            make_old(folder)
        done = subprocess.run([sys.executable, "-c", KILLED, folder, str(point)], timeout=60)
        now = contents(folder)
        files = {name: text for name, text in (now or {}).items() if name != "notes"}
        assert set(files.values()) in ({"old"}, {"new"}, set())
        assert set(files) in ({"result", "report", "extra"}, {"result", "report"}, set())
        seen.append(now is None)
        fill(folder)  # the next run finds nothing in its way, and the user's file in its place
        assert contents(folder) == (NEW if has_old else {"result": "new", "report": "new"})
        others = {path.name for path in folder.parent.iterdir()} - {"a"}
        assert all(name.startswith("a-unfinished") for name in others)
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert point > 6
    assert sum(seen) <= (1 if has_old else point)


def test_a_failed_rename_puts_the_old_folder_back(tmp_path, monkeypatch):
    make_old(tmp_path / "a")
    rename = os.rename

    def fail(source, goal):
        if str(source).endswith("-part") and str(goal).endswith("/a"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(source, goal)

    monkeypatch.setattr(atomic_files.os, "rename", fail)
    with pytest.raises(mb.OutputError, match="a-unfinished"):
        fill(tmp_path / "a")
    assert contents(tmp_path / "a") == OLD
    assert contents(tmp_path / "a-unfinished") == {"result": "new", "report": "new"}


def test_files_links_and_the_present_folder_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with (
            pytest.raises(mb.InputError, match=f"--out .*{name} is a {name}"),
            replacing_folder(tmp_path / name, [], "--out"),
        ):
            pass
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mb.InputError, match=r"--out \. is the present folder"), replacing_folder(".", [], "--out"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]
