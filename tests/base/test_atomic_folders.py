"""A folder of results is the old one or the new one, whatever happens while it is written."""

import errno
import os
import subprocess
import sys
import textwrap

import pytest

import mrfbayes as mb
from mrfbayes.base import atomic_folders
from mrfbayes.base.atomic_folders import replacing_folder

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
        from mrfbayes.base.atomic_folders import replacing_folder
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
from mrfbayes.base.atomic_folders import replacing_folder
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

    monkeypatch.setattr(atomic_folders.os, "rename", fail)
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
