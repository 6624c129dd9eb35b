"""Put the tables of a folder of results into the documentation: ``python -m benchmarks.page DIR docs``.

The page holds all prose, and a line ``<!-- table NAME -->`` before and ``<!-- end -->`` after each table.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_TABLE = re.compile(r"(<!-- table (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main(results: str, docs: str) -> None:
    """Replace every table for which there are results in ``docs/benchmarks.md``."""

    def replaced(found: re.Match[str]) -> str:
        table = Path(results) / f"{found[2]}.md"
        return f"{found[1]}\n{table.read_text().strip()}\n\n" if table.exists() else found[0]

    page = Path(docs) / "benchmarks.md"
    page.write_text(_TABLE.sub(replaced, page.read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
