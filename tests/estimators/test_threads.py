"""A fit may be questioned from many threads while it is fitted anew: every answer is that of one state or of the
other."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

import bayesppl as bp

Table = tuple[np.ndarray, np.ndarray]

RNG = np.random.default_rng(0)
#: Two tables that differ in columns and classes, so that an answer from parts of both would fail or be wrong.
FEW = RNG.normal(size=(40, 2)), np.arange(40) % 2
MANY = RNG.normal(size=(60, 5)), np.arange(60) % 4


def together(*works: Callable[[], None]) -> list[BaseException]:
    """What went wrong in these works, each in a thread of its own."""
    failed: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def during_refits(clf: bp.GaussianNB, refits: tuple[Table, Table], ask: Callable[[], None]) -> list[BaseException]:
    """What went wrong while two threads ask, again and again, and a third fits these tables in turn."""
    done = threading.Event()

    def refit() -> None:
        try:
            for turn in range(6):
                clf.fit(*refits[turn % 2])
        finally:
            done.set()

    def keep_asking() -> None:
        while not done.is_set():
            ask()

    return together(refit, keep_asking, keep_asking)


@pytest.mark.parametrize("rule", ["predictive", "mle"])
def test_a_state_is_held_while_the_estimator_learns_another(rule: str) -> None:
    """What ``fitted_`` was when a question began stays what it is asked of."""
    clf = bp.GaussianNB(rule=rule).fit(*FEW)
    expected = clf.predict_joint_log_proba(FEW[0])
    held = clf.fitted_

    def ask() -> None:
        np.testing.assert_array_equal(held.log_joint(FEW[0]), expected)

    assert not during_refits(clf, (MANY, FEW), ask)


def test_predictions_during_a_refit_are_those_before_or_after() -> None:
    first, second = FEW[1], 1 - FEW[1]
    clf = bp.GaussianNB()
    after = clf.fit(FEW[0], second).predict_proba(FEW[0])
    before = clf.fit(FEW[0], first).predict_proba(FEW[0])

    def ask() -> None:
        found = clf.predict_proba(FEW[0])
        assert np.array_equal(found, before) or np.array_equal(found, after)

    assert not during_refits(clf, ((FEW[0], second), (FEW[0], first)), ask)


def test_a_refit_with_other_columns_is_refused_in_words_or_answered() -> None:
    clf, refusals = bp.GaussianNB().fit(*FEW), list[str]()

    def ask() -> None:
        try:
            found = clf.predict_proba(FEW[0])
        except ValueError as refusal:
            refusals.append(str(refusal))
        else:
            assert found.shape == (40, 2)

    assert not during_refits(clf, (MANY, FEW), ask)
    assert all("feature" in text or "column" in text for text in refusals)


def test_batches_from_several_threads_are_whole_under_a_lock() -> None:
    """``partial_fit`` reads, adds and replaces: a lock of the caller makes that one step."""
    clf, lock = bp.GaussianNB().partial_fit(FEW[0][:2], FEW[1][:2], classes=[0, 1]), threading.Lock()

    def learn() -> None:
        for start in range(0, 40, 4):
            with lock:
                clf.partial_fit(FEW[0][start : start + 4], FEW[1][start : start + 4])

    assert not together(learn, learn, learn)
    assert clf.class_count_.sum() == 2 + 3 * 40
