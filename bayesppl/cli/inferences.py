"""How commands find a posterior, and under which prior."""

from __future__ import annotations

from typing import Any

import click

#: Inferences by name, and what takes long about them.
INFERENCES: dict[str, str | None] = {
    "closed_form": None,
    "auto": None,
    "nuts": "NUTS: compiling the model, which takes from ten seconds to minutes, then sampling {chains} chains",
    "laplace": "Laplace: searching the mode",
    "advi": "ADVI: compiling the model, then approximating the posterior",
    "fullrank_advi": "full-rank ADVI: compiling the model, then approximating the posterior",
    "smc": "SMC: compiling the model, then tempering the prior into the posterior",
}

INFERENCE_OPTION = click.option(
    "--inference",
    type=click.Choice(list(INFERENCES)),
    default="closed_form",
    show_default=True,
    help="How the posterior is found.",
)
PRIOR_OPTION = click.option(
    "--prior",
    metavar="NAME|NUMBER",
    help="Prior of the parameters: a name, such as jeffreys, for Gaussian models; a concentration, such as 0.5, for "
    "models of probabilities.",
)
TUNE_OPTION = click.option(
    "--tune", is_flag=True, help="Choose the hyperparameters of the prior by the evidence of the rows of the fit."
)
_CALIBRATIONS = ("temperature", "weights")
CALIBRATE_OPTION = click.option(
    "--calibrate",
    type=click.Choice(_CALIBRATIONS),
    help="Trust densities as far as exact leave-one-out allows, so that probabilities are honest where columns depend on "
    "each other: all of them alike (temperature, where nothing follows --calibrate), or every column by itself (weights).",
)


class Calibrating(click.Command):
    """A command with ``--calibrate``: a word after it is its value only if it names a calibration, and DATA otherwise."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Arguments in which every bare ``--calibrate`` has the value that it stands for."""
        followed = zip(args, [*args[1:], ""], strict=True)
        return super().parse_args(
            ctx,
            [
                f"{word}=temperature" if word == "--calibrate" and after not in _CALIBRATIONS else word
                for word, after in followed
            ],
        )


def calibration_of(option: str | None) -> dict[str, Any]:
    """The argument of estimators that calibrates them, if it is wanted."""
    return {} if option is None else {"calibration": option}


def inference_of(name: str, draws: int, chains: int, seed: int) -> Any:
    """An inference by name; NUTS with these settings."""
    from bayesppl.inference import NUTS

    return NUTS(draws=draws // chains, chains=chains, random_state=seed) if name == "nuts" else name


def slow_step(name: str, chains: int = 4) -> str | None:
    """What is being waited for, where an inference takes longer than a moment."""
    message = INFERENCES[name]
    return None if message is None else message.format(chains=chains)
