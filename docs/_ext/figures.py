"""Figures of the examples: code that draws is run while building, and its picture stands under it.

Examples are written once, as the tests run them. With ``DOCS_EXECUTE=1`` those of a page that draws something, and
those of the functions in ``bayesppl.plots``, are handed to matplotlib's plot directive.
"""

from __future__ import annotations

import doctest
import re
from typing import Any

_EXAMPLE = re.compile(r"^```python\n(>>> .*?)\n+```$", re.DOTALL | re.MULTILINE)

# Calls that leave a figure to show.
_DRAWS = re.compile(r"\bplot_\w+\(|\bplt\.subplots\(")


def draw_examples(app: Any, page: str, source: list[str]) -> None:
    """Examples of a page as plot directives, if one of them draws; they share their names, as in the tests."""
    examples = _EXAMPLE.findall(source[0])
    if not any(_DRAWS.search(code) for code in examples):
        return
    last = max(i for i, code in enumerate(examples) if _DRAWS.search(code))
    numbers = iter(range(len(examples)))

    def directive(found: re.Match[str]) -> str:
        number = next(numbers)
        if number > last or "Traceback (most recent" in found[1]:
            return found[0]
        options = {
            "context": "reset" if number == 0 else "close-figs",
            "format": "doctest",
            "include-source": "true",
            "filename-prefix": f"{page.replace('/', '-')}-{number}",
        }
        if not _DRAWS.search(found[1]):
            options["nofigs"] = ""
        return "\n".join(["```{eval-rst}", *_plot(options, found[1]), "```"])

    source[0] = _EXAMPLE.sub(directive, source[0])


def draw_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The picture of the example in the docstring of a plot."""
    if what != "function" or not name.startswith("bayesppl.plots."):
        return
    code = "".join(example.source for example in doctest.DocTestParser().get_examples(obj.__doc__ or ""))
    if code:
        shown = {"context": "reset", "include-source": "false", "filename-prefix": name.replace(".", "-")}
        lines += ["", *_plot(shown, code.rstrip()), ""]


def _plot(options: dict[str, str], code: str) -> list[str]:
    head = [f"   :{name}: {value}".rstrip() for name, value in options.items()]
    return [".. plot::", *head, "", *(f"   {line}".rstrip() for line in code.splitlines())]


def setup(app: Any) -> dict[str, bool]:
    """Register the above."""
    app.setup_extension("matplotlib.sphinxext.plot_directive")
    app.connect("source-read", draw_examples, priority=600)  # after the examples have been closed
    app.connect("autodoc-process-docstring", draw_docstring, priority=600)  # after the sections have been read
    return {"parallel_read_safe": False}
