"""Thumbnails of pages: a card for every page of a pattern, or for every object of a page, with its first picture.

.. code-block:: rst

   .. gallery:: _notebooks/*
   .. gallery:: api/plots
      :objects:
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import filter as matching
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective


class gallery(nodes.General, nodes.Element):
    """Stands for the cards until all pages have been read."""


class Gallery(SphinxDirective):
    """Cards of the pages that match a pattern, or of the objects that a page describes."""

    required_arguments = 1
    option_spec: ClassVar = {"objects": directives.flag}

    def run(self) -> list[nodes.Node]:
        """A placeholder."""
        return [gallery(pattern=self.arguments[0], objects="objects" in self.options)]


def fill(app: Any, doctree: Any, page: str) -> None:
    """Put the cards in place."""
    for place in list(doctree.findall(gallery)):
        cards = nodes.container(classes=["cards", "gallery"])
        for source in sorted(matching(app.env.found_docs, place["pattern"])):
            address = app.builder.get_relative_uri(page, source)
            for title, anchor, picture in _entries(app.env, source, of_objects=place["objects"]):
                cards += _card(title, address + anchor, picture)
        place.replace_self(cards)


def _entries(env: Any, page: str, *, of_objects: bool) -> Iterator[tuple[str, str, Any]]:
    """Title, anchor and first picture of a page, or of the objects on it."""
    tree = env.get_doctree(page)
    if not of_objects:
        yield env.titles[page].astext(), "", next(iter(tree.findall(nodes.image)), None)
        return
    for found in tree.findall(addnodes.desc):
        anchor = found[0]["ids"][0]
        yield anchor.rpartition(".")[2], f"#{anchor}", next(iter(found.findall(nodes.image)), None)


def _card(title: str, address: str, picture: Any) -> nodes.container:
    link = nodes.reference("", "", refuri=address, internal=True)
    if picture is not None:
        link += nodes.image(uri=picture["uri"], candidates=dict(picture["candidates"]), alt="")
    link += nodes.inline(text=title)
    return nodes.container("", nodes.paragraph("", "", link), classes=["card"])


def setup(app: Any) -> dict[str, bool]:
    """Register the above."""
    app.add_node(gallery)
    app.add_directive("gallery", Gallery)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
