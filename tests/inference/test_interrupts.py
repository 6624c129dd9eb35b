"""An interrupt ends a fit, whatever a sampler makes of it; draws that are short or not finite are refused."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pymc
import pytest

import bayesppl as bp
from bayesppl.inference import approximate, base, laplace, nuts
from bayesppl.inference.base import Draws, interrupts_raised, require_complete

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 2, size=(30, 2)), np.tile(["a", "b", "b"], 10)
# signals mean what they mean in a terminal, also where tests run in the background
TERMINAL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
FIT = """
import os, threading, warnings
import numpy as np
import bayesppl as bp

warnings.simplefilter("ignore", bp.ConvergenceWarning)
rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, size=(30, 2)), np.tile(["a", "b", "b"], 10)
clf = bp.BernoulliNB(inference=bp.NUTS(draws=50, tune=50, chains=2, random_state=1)).fit(X, y)
former, expected = dict(vars(clf)), clf.predict_proba(X)
for seconds in (0.02, 0.3, 1.0):
    for method in ("fit", "partial_fit"):
        clf.set_params(inference=INFERENCE)
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()  # which a signal may interrupt too
            getattr(clf, method)(X[:20], y[:20])
        except KeyboardInterrupt:
            print("interrupted")
        timer.cancel()
        assert {**vars(clf), "inference": None} == {**former, "inference": None}
        np.testing.assert_array_equal(clf.predict_proba(X), expected)
"""


@pytest.fixture
def in_a_terminal():
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def _points(shape, fault):
    """Points of a sampler that fails in this way."""
    points = np.zeros(shape)
    if fault == "short":
        return points[:, :-3]
    points[1 if shape[0] > 1 else 0, -2:] = {"nan": np.nan, "inf": np.inf}[fault]
    return points


def _fail(monkeypatch, fault):
    """Let every sampler and approximation return draws with this fault, or swallow a signal before it does."""

    def broken(shape):
        if fault == "interrupt":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return _points(shape, "nan")
        return _points(shape, fault)

    def of_nuts(self, density, compiled):
        return broken((self.chains, self.draws, len(density.centre))), {"diverging": np.zeros((2, 2), dtype=bool)}

    def of_laplace(pymc_model, names, points):
        sizes = {"class_weights": (2,), "probability": (2, 2)}
        values = broken((1, 20))[0]
        return {name: np.multiply.outer(values, np.ones(sizes[name])) for name in names}

    def of_smc(*_, **__):
        import xarray as xr

        values = broken((1, 20))
        variables = {"class_weights": (("k",), (2,)), "probability": (("k", "d"), (2, 2))}
        posterior = {
            name: (("chain", "draw", *dims), np.multiply.outer(values, np.ones(size)))
            for name, (dims, size) in variables.items()
        }
        evidence = xr.Dataset({"log_marginal_likelihood": (("chain", "stage"), np.zeros((1, 1)))})
        return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior), "sample_stats": evidence})

    def of_advi(*_, start, **__):
        points = {"point": SimpleNamespace(values=np.zeros((1, 20, len(start["point"]))))}
        return SimpleNamespace(hist=np.zeros(100), sample=lambda *_, **__: {"posterior": points})

    monkeypatch.setattr(nuts, "compile_density", lambda density, notify: None)
    monkeypatch.setattr(bp.NUTS, "run", of_nuts)
    monkeypatch.setattr(laplace, "constrain", of_laplace)
    monkeypatch.setattr(approximate, "constrain", of_laplace)
    monkeypatch.setattr(pymc, "fit", of_advi)
    monkeypatch.setattr(pymc, "sample_smc", of_smc)


@pytest.mark.parametrize(
    ("method", "fault", "error", "words"),
    [
        ("fit", "short", bp.IncompleteDrawsError, "asked for, so that nothing is fitted"),
        ("partial_fit", "nan", bp.IncompleteDrawsError, "are not finite, the first with nan in chain"),
        ("fit", "inf", bp.IncompleteDrawsError, "are not finite, the first with"),
        ("partial_fit", "interrupt", KeyboardInterrupt, None),
    ],
)
@pytest.mark.parametrize(
    "inference",
    [bp.NUTS(draws=20, chains=2), bp.Laplace(draws=20), bp.ADVI(draws=20), bp.SMC(draws=20, chains=1)],
    ids=lambda inference: type(inference).__name__,
)
def test_draws_that_are_no_posterior_leave_the_former_one(
    monkeypatch, in_a_terminal, inference, fault, error, words, method
):
    clf = bp.BernoulliNB().fit(X, Y)
    clf.inference = inference
    former = dict(vars(clf))
    _fail(monkeypatch, fault)
    with pytest.raises(error, match=words):
        getattr(clf, method)(X[:20], Y[:20])
    assert vars(clf) == former
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("module", "inference"),
    [
        pytest.param(nuts, bp.NUTS(draws=5, tune=5, chains=1), marks=pytest.mark.slow),
        (base, bp.Laplace(draws=5)),
        pytest.param(base, bp.ADVI(iterations=5, draws=5), marks=pytest.mark.slow),
    ],
    ids=["NUTS", "Laplace", "ADVI"],
)
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")
def test_an_interrupt_that_is_swallowed_while_the_model_is_built_ends_the_fit(
    monkeypatch, in_a_terminal, module, inference
):
    build = module.to_pymc

    def swallowing(*arguments):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return build(*arguments)

    monkeypatch.setattr(module, "to_pymc", swallowing)
    clf = bp.BernoulliNB().fit(X, Y)
    clf.inference = inference
    former = dict(vars(clf))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X[:20], Y[:20])
    assert vars(clf) == former


def test_the_refusal_names_parameter_place_and_value():
    samples = {"mean": np.zeros((2, 5, 3)), "variance": np.ones((2, 5))}
    require_complete("NUTS", Draws(samples, 2, 5, {}, {}))
    samples["variance"][1, 3:] = -np.inf
    with pytest.raises(bp.IncompleteDrawsError, match=r"2 of 10 draws of 'variance' .* -inf in chain 1, draw 3"):
        require_complete("NUTS", Draws(samples, 2, 5, {}, {}))
    for n_chains, n_draws in ((3, 5), (2, 6)):
        with pytest.raises(bp.IncompleteDrawsError, match=rf"2 x 5 draws of 'mean' where {n_chains} x {n_draws}"):
            require_complete("NUTS", Draws(samples, n_chains, n_draws, {}, {}))


def test_an_error_over_an_interrupt_is_an_interrupt(in_a_terminal):
    @interrupts_raised()
    def run():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("too few draws") from None

    with pytest.raises(KeyboardInterrupt):
        run()


def test_an_interrupt_within_a_callback_of_a_compiler_prints_no_traceback(in_a_terminal, capfd):
    @ctypes.CFUNCTYPE(None)
    def callback():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), interrupts_raised():
        callback()
    assert capfd.readouterr().err == ""


def test_what_was_half_made_is_deleted_without_a_word(in_a_terminal, capfd):
    """As objects of llvmlite, which fail to delete what they do not have yet."""

    class HalfMade:
        def __init__(self):
            signal.raise_signal(signal.SIGINT)
            self.pointer = 1

        def __del__(self):
            del self.pointer

    with pytest.raises(KeyboardInterrupt), interrupts_raised():
        HalfMade()
    assert capfd.readouterr().err == ""


def test_what_handles_signals_in_another_way_is_left_to_it():
    """As an event loop does, which cancels a task instead."""
    seen = []
    former = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interrupts_raised():
            signal.raise_signal(signal.SIGINT)
        assert seen == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts_raised():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, former)


def test_other_threads_are_left_alone():
    """Python sets no signal handlers in them."""
    done = []

    def work():
        with interrupts_raised():
            done.append(True)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def _run_interrupted(inference):
    script = TERMINAL + FIT.replace("INFERENCE", inference)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted"] * 6


@pytest.mark.slow
def test_signals_stop_nuts_at_any_moment():
    _run_interrupted("bp.NUTS(draws=300_000, chains=2, random_state=2)")


@pytest.mark.slow
def test_signals_stop_variational_inference_at_any_moment():
    _run_interrupted("bp.ADVI(iterations=10_000_000, random_state=2)")


COMMANDS = {
    "nuts": ["compare", "iris", "--inference", "nuts", "--draws", "1000000", "--out", "results"],
    "advi": [
        "fit",
        "rows.csv",
        "--target",
        "class",
        "--model",
        "gaussian-nb",
        "--inference",
        "advi",
        "--save",
        "results",
    ],
}


@pytest.mark.parametrize(
    ("inference", "seconds"),
    [
        ("nuts", 1.0),
        *(pytest.param("nuts", t, marks=pytest.mark.slow) for t in (0.0, 0.3, 3.0, 6.0, 12.0)),
        *(pytest.param("advi", t, marks=pytest.mark.slow) for t in (0.5, 2.0, 4.0, 8.0)),
    ],
)
def test_the_command_line_writes_nothing_and_says_so(tmp_path, inference, seconds):
    (tmp_path / "rows.csv").write_text("a,class\n" + "".join(f"{i % 9 / 4},{'xy'[i % 2]}\n" for i in range(40)))
    process = subprocess.Popen(
        [sys.executable, "-c", f"{TERMINAL}from bayesppl.cli import main\nmain({COMMANDS[inference]})"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert any("compiling" in line for line in process.stderr)  # the lines before it are read
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert err.split("\n")[-2] == "bayesppl: interrupted"
    if inference == "advi":
        assert len(err.split()) == 2
    assert "Traceback" not in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
