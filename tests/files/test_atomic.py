"""Files appear complete or not at all, with the permissions they should have, and nothing is left beside them."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bayesppl.files import replacing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and locks are those of POSIX")

KILLED = """
import sys, time
from bayesppl.files import replacing
with replacing(sys.argv[1]) as work:
    work.write_text("half")
    print(work, flush=True)
    time.sleep(100)
"""


def start(path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that is in the middle of writing, and the path it writes to."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_killed_process_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_text("before")
    process, work = start(path)
    try:
        with replacing(path) as own:  # while the other is still at it
            own.write_text("whole")
        assert work.exists()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert path.read_text() == "whole"
    assert work.name.startswith(".model.npz-")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "model.nc"
    path.write_text("before")
    path.chmod(mode)
    with replacing(path) as work:
        work.write_text("after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_gets_the_usual_permissions(umask: int, tmp_path: Path) -> None:
    """In a process of its own, for the umask is one of the whole process."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom bayesppl.files import replacing\n"
        f"os.umask({umask})\nfolder = Path(sys.argv[1])\n"
        "with replacing(folder / 'file') as work:\n    work.write_text('x')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


def test_the_umask_of_the_process_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(_: int) -> int:
        raise AssertionError("the umask of the whole process was changed")

    monkeypatch.setattr(os, "umask", changed)
    failed: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for turn in range(20):
                with replacing(tmp_path / name) as work:
                    work.write_text(f"{turn}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["one", "other"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "model.nc", tmp_path / "latest.nc"
    path.write_text("before")
    link.symlink_to(path)
    with replacing(link) as work:
        work.write_text("after")
    assert link.is_symlink()
    assert path.read_text() == "after"


def test_only_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(ValueError, match="not a file that could be replaced"), replacing(tmp_path / name):
            pass
    with pytest.raises(FileNotFoundError, match="create it first"), replacing(tmp_path / "absent" / "file"):
        pass


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), sync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths))[1])
    with replacing(tmp_path / "file") as work:
        work.write_text("x")
    assert done == ["sync", "replace", "sync"]
