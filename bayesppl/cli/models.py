"""The models that commands take, by name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, get_args

import click

from bayesppl.cli.terminal import is_number

#: Chooses among models of one kind or another by itself.
AUTO = "auto"

MODELS = {
    AUTO: "AutoClassifier",
    "gaussian-nb": "GaussianNB",
    "lda": "LinearDiscriminantAnalysis",
    "qda": "QuadraticDiscriminantAnalysis",
    "bernoulli-nb": "BernoulliNB",
    "categorical-nb": "CategoricalNB",
    "multinomial-nb": "MultinomialNB",
    "dirichlet-multinomial-nb": "DirichletMultinomialNB",
    "poisson-nb": "PoissonNB",
    "mixed-nb": "MixedNB",
    "location": "LocationModel",
    "tree-nb": "TreeNB",
}

# Arguments of Python that messages name with a value, and the options that stand for them.
_OPTIONS = {
    "rule": "--rule",
    "inference": "--inference",
    "prior": "--prior",
    "unlabelled": "--unlabelled",
    "calibration": "--calibrate",
    "integers": "--integers",
}

# What else of Python messages name, and what to write instead.
_OTHERS = {
    r" \(truth values by .*?, or model levels with bayesppl\.Categorical": "",
    **{rf"bayesppl\.{estimator}\b(?!\(\)\))": f"--model {model}" for model, estimator in MODELS.items()},
    r"bayesppl\.Categorical\(\)": "--model categorical-nb",
    r"bayesppl\.Categorical\b": "--categorical COLUMN",
    r"bayesppl\.Gaussian\('tied'\)": "--model lda",
    r"bayesppl\.Gaussian\(prior='jeffreys'\)": "--model gaussian-nb --prior jeffreys",
    r"; use Gaussian\('tied_diag', 'sparse'\)": ": no --model has that",
    r", or (pass|declare) a bayesppl\.\w+": "",
    r" \(labels too, with unlabelled='learn'\)": "",  # of fit alone
    r", as by X\['column'\]\.fillna\('missing'\)": "",
    r"integers=(?!')": "--integers",
    r"^integers (makes|names) ": r"--integers \1 ",
    r"Convert it, as in X\[.*": "Write such a column as integers: in pandas, by astype('Int64'), or as text",
    r" unseen='error' .*": "",
    r", as in MixedNB\(blocks=…\)": "",
    r"unlabelled_weight='loo'": "--unlabelled drop",
    r"pass labels as integers or strings": "write labels as words, such as v1.5",
    r"drop them, or pass unlabelled_label=-1 to what has this parameter;.*": (
        "empty such cells and pass --unlabelled drop"
    ),
}

#: Models that read text as levels; the others need numbers.
OF_LEVELS = (AUTO, "categorical-nb", "mixed-nb", "location", "tree-nb")
MODELS_OF_NUMBERS = frozenset(MODELS).difference(OF_LEVELS)


def model_option[F: Callable[..., Any]](default: str | None, shown: str | bool = True) -> Callable[[F], F]:
    """Make the option that names a model; its default is shown as given."""
    return click.option(
        "--model",
        type=click.Choice(list(MODELS)),
        default=default,
        show_default=shown,
        help="The model; auto combines several.",
    )


INTEGERS_OPTION = click.option(
    "--integers",
    multiple=True,
    metavar="FAMILY|COLUMN=FAMILY",
    help="What --model mixed-nb takes columns of whole numbers for: gaussian, poisson or categorical. For all of "
    "them, or one by one, such as --integers age=gaussian --integers visits=poisson.",
)


def make(
    model: str,
    integers: Sequence[str],
    prior: str | None = None,
    *,
    tune: bool = False,
    rule: str = "predictive",
    inference: Any = "closed_form",
    calibration: str | None = None,
    categorical: Sequence[str] = (),
    seed: int = 0,
    draws: int | None = None,
    chains: int = 1,
) -> Any:
    """Make the classifier of a model's name, which draws so often in all, over so many chains if it has any."""
    import bayesppl as bp
    from bayesppl.inference import choose

    if categorical and model in MODELS_OF_NUMBERS:
        raise ValueError(
            f"--categorical {categorical[0]!r}: --model {model} has no levels; choose --model mixed-nb, or leave "
            f"the column out with --drop {categorical[0]!r}"
        )
    if model == AUTO:
        options = {
            "--integers": bool(integers),
            "--rule": rule != "predictive",
            "--inference": inference != "closed_form",
            "--prior": prior is not None,
            "--tune": tune,
            "--calibrate": calibration is not None,
        }
        given = [option for option, is_given in options.items() if is_given]
        if given:
            raise ValueError(
                f"{given[0]} is for one declared model, and --model auto combines several; name a --model"
            )
        return bp.AutoClassifier()
    how: Any = choose(inference)
    settings = {"random_state": seed}
    if draws is not None:
        settings |= {"draws": draws // chains if hasattr(how, "chains") else draws, "chains": chains}
    taken = {name: value for name, value in settings.items() if hasattr(how, name)}
    how = replace(how, **taken) if taken else inference
    arguments: dict[str, Any] = {"rule": rule, "inference": how, "calibration": calibration}
    if prior is not None:
        arguments |= _prior(model, prior)
    if model in ("mixed-nb", "location"):
        arguments["integers"] = _integers(integers)
    elif integers:
        raise ValueError(f"--integers {integers[0]} is for --model mixed-nb or location, found --model {model}")
    return getattr(bp, MODELS[model])(**arguments)


def _prior(model: str, prior: str) -> dict[str, Any]:
    """Declare a prior: Gaussian models take a name, models of probabilities a concentration."""
    import bayesppl as bp

    if model in ("gaussian-nb", "lda", "qda"):
        return {"prior": prior}
    if model not in ("bernoulli-nb", "categorical-nb", "multinomial-nb"):
        raise ValueError(
            f"--prior is for Gaussian, Bernoulli, categorical and multinomial models, found --model {model}"
        )
    if prior == "overall" and model != "categorical-nb":
        return {"probability": prior}
    if not is_number(prior):
        raise ValueError(
            f"--prior {prior!r} is not for --model {model}; give a number"
            + ("" if model == "categorical-nb" else ", or overall")
        )
    number = float(prior)
    return {"probability": bp.Beta(number, number) if model == "bernoulli-nb" else bp.Dirichlet(number)}


def in_options(message: str) -> str:
    """Name options of the command line in a message of the package, where it names arguments of Python."""
    for python, option in _OTHERS.items():
        message = re.sub(python, option, message)
    values = r"'[\w.-]+'(?:(?:,| or|, or) '[\w.-]+')*"
    return re.sub(rf"\b({'|'.join(_OPTIONS)})=({values})", _as_option, message)


def _as_option(argument: re.Match[str]) -> str:
    return f"{_OPTIONS[argument[1]]} {argument[2].replace("'", '')}"


def undeclared(columns: Sequence[Hashable]) -> str:
    """Describe what to do about columns of whole numbers that may be one thing or another."""
    from bayesppl.data.names import listed

    return (
        "whole numbers may be measurements, counts or codes, and nothing declares which these columns hold: "
        f"{listed(columns)}. Pass --integers gaussian, poisson or categorical (--model location: gaussian or "
        f"categorical) for all of them, or one by one, as in --integers {shlex.quote(f'{columns[0]}=gaussian')}"
    )


def _integers(choices: Sequence[str]) -> Any:
    """Read one family for all columns of whole numbers, one for each by name, or None."""
    from bayesppl.families.choosing.infer_families import IntegerFamily

    for choice in choices:
        if choice.rpartition("=")[2] not in get_args(IntegerFamily):
            raise ValueError(
                f"--integers {choice} names none of {', '.join(get_args(IntegerFamily))}; write one of them for "
                "all columns of whole numbers, or COLUMN=FAMILY for each"
            )
    if not any("=" in choice for choice in choices):
        if len(choices) > 1:
            raise ValueError(
                f"--integers {choices[1]} after --integers {choices[0]}: give one family for all columns of whole "
                "numbers, or COLUMN=FAMILY for each"
            )
        return choices[0] if choices else None
    pairs = [choice.rpartition("=") for choice in choices]
    unnamed = [family for column, _, family in pairs if not column]
    if unnamed:
        raise ValueError(f"--integers {unnamed[0]} names no column; write COLUMN={unnamed[0]} for each column")
    found = {column: family for column, _, family in pairs}
    if len(found) < len(pairs):
        raise ValueError(f"--integers {' --integers '.join(choices)} names a column twice; keep one of them")
    return found
