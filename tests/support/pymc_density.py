"""Log density of a fitted classifier's PyMC model, at one point and without a compiler."""

from pytensor.compile.mode import Mode


def pymc_log_density(classifier, likelihood, point):
    """log p(θ, y, x) of ``classifier.to_pymc(likelihood)``, whose free variables are the keys of ``point``."""
    model = classifier.to_pymc(likelihood)
    assert {variable.name for variable in model.free_RVs} == set(point)
    values = {}
    for variable in model.free_RVs:
        transform = model.rvs_to_transforms[variable]
        value = point[variable.name]
        if transform is not None:
            value = transform.forward(value, *variable.owner.inputs).eval()
        values[model.rvs_to_values[variable].name] = value
    mode = Mode(linker="py", optimizer="fast_compile")
    return float(model.compile_logp(jacobian=False, mode=mode)(values))
