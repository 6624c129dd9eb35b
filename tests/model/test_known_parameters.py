"""Densities given parameters that a user writes down."""

import re

import numpy as np
import pytest

import bayesppl as bp

MODEL = bp.GenerativeModel(bp.Gaussian("diag"), (0.2, 0.8), ("big", "low"))
WEIGHTS, MEAN, VARIANCE = np.array([0.2, 0.8]), np.array([[20.0], [2.0]]), np.array([[64.0], [1.0]])


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ({"class_weights": WEIGHTS, "mean": MEAN}, "theta['variance'] must be an array"),
        (
            {"class_weights": WEIGHTS, "mean": MEAN[:, 0], "variance": VARIANCE},
            "theta['mean'] must be an array with the axes ('class', 'feature'), found one of shape (2,)",
        ),
        (
            {"class_weights": WEIGHTS, "mean": np.zeros((3, 2)), "variance": np.ones((3, 2))},
            "theta['mean'] has the axes ('class', 'feature') and the shape (3, 2): 3 entries along 'class'",
        ),
        (
            {"class_weights": WEIGHTS, "mean": np.zeros((2, 3)), "variance": np.ones((2, 2))},
            "theta['variance'] has the axes ('class', 'feature') and the shape (2, 2): 2 entries along 'feature'",
        ),
        (
            {"class_weights": [0.2, 0.8], "mean": MEAN, "variance": VARIANCE},
            "theta['class_weights'] must be an array with the axes ('class',), found [0.2, 0.8]",
        ),
    ],
)
def test_other_parameters_are_refused(theta, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MODEL.log_joint(theta)
