"""Colours of classes stay apart for readers with any kind of colour vision, simulated (Machado et al. 2009)."""

import numpy as np
import pytest

from bayesppl.plots.style import colour

#: From linear RGB as seen by most to linear RGB as seen without one kind of cone, at full severity.
VISION = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(colours, vision):
    """CIE L*a*b* of colours under a kind of vision: (n_colours, 3)."""
    coded = np.array([[int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)] for text in colours])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    x = np.clip(linear @ VISION[vision].T, 0, 1) @ TO_XYZ.T / WHITE
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("n_classes", "apart"), [(3, 50), (4, 35), (6, 25), (8, 20), (10, 14)])
def test_colours_of_classes_are_apart(vision, n_classes, apart):
    places = lab([colour(k) for k in range(n_classes)], vision)
    distance = np.linalg.norm(places[:, None] - places, axis=-1)[np.triu_indices(n_classes, 1)]
    assert distance.min() > apart


def test_lines_are_seen_on_white():
    for vision in VISION:
        assert lab([colour(k) for k in range(10)], vision)[:, 0].max() < 85
