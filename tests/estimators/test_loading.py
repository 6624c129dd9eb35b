"""Which estimators a file can describe."""

import bayesppl as bp
from bayesppl.estimators.loading import ESTIMATORS
from bayesppl.estimators.shell import Shell


def test_files_describe_every_estimator():
    public = {name: getattr(bp, name) for name in dir(bp)}
    estimators = {name: cls for name, cls in public.items() if isinstance(cls, type) and issubclass(cls, Shell)}
    assert estimators == ESTIMATORS
