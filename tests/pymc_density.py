"""Log density of a fitted classifier's PyMC model, at one point and without a compiler."""

from pytensor.compile.mode import Mode


def pymc_log_density(classifier, likelihood, point):
    """log p(θ, y, x) of ``classifier.to_pymc(likelihood)``, whose free variables are the keys of ``point``."""
    model = classifier.to_pymc(likelihood)
    assert {variable.name for variable in model.free_RVs} == set(point)
    values = {}
    for variable in model.free_RVs:
        transform = model.rvs_to_transforms[variable]
        value = model.rvs_to_values[variable]
        values[value.name] = transform.forward(point[variable.name], *variable.owner.inputs).eval()
    mode = Mode(linker="py", optimizer="fast_compile")
    return float(model.compile_logp(jacobian=False, mode=mode)(values))
