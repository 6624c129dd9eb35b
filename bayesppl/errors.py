"""The errors and warnings a user may want to catch by name."""


class UndefinedEstimateError(ValueError):
    """An estimate (maximum likelihood, mode or mean) does not exist for these data and this prior."""


class ImproperError(ValueError):
    """A prior or posterior does not integrate to one, and the request needs it to."""


class ImpossibleRowWarning(UserWarning):
    """A row has probability zero under every class; its class weights were returned."""


class ModelFileError(ValueError):
    """A file does not hold a model that this version of bayesppl can read."""


class ConvergenceWarning(UserWarning):
    """Draws that cannot be trusted yet: chains disagree, are too short, or met places they could not explore."""


class NotConjugateError(ValueError):
    """The request needs a closed form, and this prior has none."""
