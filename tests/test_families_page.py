"""docs/families.md states the meaning of every public family."""

from pathlib import Path

import pytest

import bayesppl as bp
from bayesppl import families

PAGE = (Path(__file__).parents[1] / "docs" / "families.md").read_text(encoding="utf-8")
PUBLIC = [name for name in families.__all__ if name not in {"REGISTRY", "Evidence", "Family"}]


@pytest.mark.parametrize("name", PUBLIC)
def test_family_is_described(name):
    assert callable(getattr(bp, name))
    overview = [line for line in PAGE.splitlines() if line.startswith(f"| [`{name}`](#")]
    assert overview
    anchors = {
        heading.lstrip("# ").lower().replace(",", "").replace(" ", "-")
        for heading in PAGE.splitlines()
        if heading.startswith(("## ", "### "))
    }
    for line in overview:
        assert line.split("(#")[1].split(")")[0] in anchors, line
