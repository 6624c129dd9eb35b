"""Rules and models compared, learning curves, calibration, and checks of families."""
