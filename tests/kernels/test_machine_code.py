"""A cache of compiled code that is damaged, or cannot be written, costs a compilation and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

LOOPS = """
import numpy as np
from bayesppl.kernels.compiled import log_products
loop = log_products.loop(2_000_000_000)
out = np.empty((1, 3))
loop(np.ones((3, 2)), np.zeros((1, 2)), np.ones((1, 2)), 1e300, out)
print(out.tolist())
"""


@pytest.mark.parametrize(
    ("suffix", "content"),
    [("nbi", b"\x80\x05"), ("nbc", b"\x80\x05"), ("nbc", b"\x80\x04cbayesppl.absent\nname\n.")],
    ids=["index cut", "code cut", "module moved"],
)
def test_a_damaged_cache_is_compiled_in_memory(content: bytes, suffix: str, tmp_path: Path) -> None:
    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", LOOPS],
            env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    expected = run()
    assert expected == "[[3.0, 3.0, 3.0]]"
    files = list(tmp_path.rglob(f"*.{suffix}"))
    assert files
    for file in files:
        file.write_bytes(content)
    assert run() == expected
