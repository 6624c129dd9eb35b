"""Families and priors as a notebook shows them."""

import xml.etree.ElementTree as ET
from dataclasses import fields

import numpy as np
import pytest

import bayesppl as bp
from bayesppl.conjugate import Conjugate
from bayesppl.families import Family

DECLARED = [
    bp.Gaussian("full"),
    bp.LogNormal(),
    bp.Product({"size": (["length", "<b>"], bp.Gaussian()), "kind": (["island"], bp.Categorical())}),
    bp.families.ZeroInflated(bp.Poisson()),
    bp.Beta(2.0, 0.5),
    bp.Dirichlet([1.0, 2.0, 3.0]),
    bp.NormalInverseWishart(),
    bp.LKJ(1.0, sd=None),
]


def cells(value: Family | Conjugate) -> dict[str, str]:
    table = ET.fromstring(value._repr_html_())  # refuses what is not closed, or not escaped
    return {row.find("th").text: row.find("td").text for row in table.findall("tr")}


@pytest.mark.parametrize("value", DECLARED, ids=lambda value: type(value).__name__)
def test_every_argument_has_its_line(value):
    assert ET.fromstring(value._repr_html_()).findtext("caption/b") == type(value).__name__
    shown = {field.name for field in fields(value) if field.repr}
    assert cells(value).keys() == shown


def test_values_are_those_of_the_declaration():
    assert cells(bp.Beta(2.0, 0.5)) == {"alpha": "2.0", "beta": "0.5"}
    assert "'<b>'" in cells(DECLARED[2])["blocks"]


def test_a_large_array_is_shown_by_its_shape():
    rng = np.random.default_rng(0)
    fitted = bp.QuadraticDiscriminantAnalysis().fit(rng.normal(size=(60, 5)), np.repeat(["a", "b"], 30))
    parts = cells(fitted.posterior_.prior)["parts"]
    assert "<2 x 5 x 5 numbers from" in parts
    assert len(parts) < 500
