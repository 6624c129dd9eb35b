"""Options that several commands share: the form of files, columns and rows, inference."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any, NamedTuple

import click

from bayesppl.cli.files import Dialect

# Headings of the help, and the options below each; others stand below "Options".
_GROUPS = {
    "Files": ("sep", "decimal", "encoding", "na_values", "thousands"),
    "Columns and rows": (
        "target",
        "drop",
        "keep",
        "categorical",
        "missing",
        "unlabelled",
        "most_rows",
        "binarize",
    ),
    "Model": ("model", "integers", "prior", "tune", "calibrate", "rule", "inference"),
}

#: Inferences by name, and what takes long about them.
INFERENCES: dict[str, str | None] = {
    "closed_form": None,
    "auto": None,
    "nuts": "NUTS: compiling the model, which takes from ten seconds to minutes, then sampling {chains} chains",
    "laplace": "Laplace: searching the mode",
    "advi": "ADVI: compiling the model, then approximating the posterior",
    "fullrank_advi": "full-rank ADVI: compiling the model, then approximating the posterior",
    "em": None,
    "gibbs": "Gibbs sampling: completing rows and drawing parameters in turn, {chains} chains",
    "smc": "SMC: compiling the model, then tempering the prior into the posterior",
}

#: Inferences that complete rows which lack a label, or cells that sums need.
COMPLETING = ("em", "gibbs")

_CALIBRATIONS = ("temperature", "weights")


class Chosen(NamedTuple):
    """Which columns are features, and which of them hold levels."""

    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()


class Grouped(click.Command):
    """A command whose help lists options in groups, and whose bare ``--calibrate`` has a value.

    A word after ``--calibrate`` is its value only if it names a calibration, and DATA otherwise.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group under its heading."""
        records = {parameter.name: parameter.get_help_record(ctx) for parameter in self.get_params(ctx)}
        headings = {name: heading for heading, names in _GROUPS.items() for name in names}
        for heading in (*_GROUPS, "Options"):
            found = [rec for name, rec in records.items() if rec and headings.get(str(name), "Options") == heading]
            if found:
                with formatter.section(heading):
                    formatter.write_dl(found)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments in which every bare ``--calibrate`` has the value that it stands for."""
        return super().parse_args(
            ctx,
            [
                f"{word}=temperature" if word == "--calibrate" and after not in _CALIBRATIONS else word
                for word, after in pairwise([*args, ""])
            ],
        )


def csv_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a text file, which reach it as ``dialect``."""

    @click.option(
        "--sep", help="Separator of the columns of a CSV file; 'tab' for tabs, as a .tsv file has.  [default: ,]"
    )
    @click.option("--decimal", default=".", show_default=True, help="Decimal mark in the numbers of a CSV file.")
    @click.option("--encoding", default="utf-8", show_default=True, help="Text encoding of a CSV file.")
    @click.option(
        "--na-values",
        metavar="TEXT",
        multiple=True,
        help="What stands for a missing cell besides empty cells, NA, NaN, nan, N/A, n/a, NULL, null, None, <NA> "
        "and #N/A, such as 'n.a.' or ?; may be repeated.",
    )
    @click.option(
        "--thousands",
        metavar="MARK",
        help="Mark between thousands in the numbers of a CSV file; ' ' is any space.",
    )
    @wraps(command)
    def with_dialect(
        *args: Any,
        sep: str | None,
        decimal: str,
        encoding: str,
        na_values: tuple[str, ...],
        thousands: str | None,
        **options: Any,
    ) -> None:
        dialect = Dialect("\t" if sep == "tab" else sep or "", decimal, encoding, na_values, thousands)
        _check_dialect(dialect)
        command(*args, dialect=dialect, **options)

    return with_dialect


def _check_dialect(dialect: Dialect) -> None:
    marks = {"--sep": dialect.sep or None, "--decimal": dialect.decimal, "--thousands": dialect.thousands}
    for option, mark in marks.items():
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '"\r\n'):
            raise ValueError(
                f"{option} {mark!r} must be a single character, and no letter, digit, quotation mark or line end"
            )
    if dialect.thousands == dialect.decimal:
        raise ValueError(f"--thousands and --decimal are both {dialect.decimal!r}; each needs a mark of its own")
    try:
        "".encode(dialect.encoding)
    except LookupError:
        raise ValueError(
            f"there is no --encoding {dialect.encoding!r}; utf-8, latin-1 and utf-16 are common ones"
        ) from None


def column_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose columns, which reach it as ``chosen``."""

    @click.option("--drop", metavar="COLUMN", multiple=True, help="Leave a column out; may be repeated.")
    @click.option(
        "--only",
        "--keep",
        "keep",
        metavar="COLUMN",
        multiple=True,
        help="Use this column as a feature and no others; may be repeated.",
    )
    @click.option(
        "--categorical",
        metavar="COLUMN",
        multiple=True,
        help="Take the values of a column for levels, whatever they look like, as --model mixed-nb does with "
        "text; may be repeated.",
    )
    @wraps(command)
    def with_columns(
        *args: Any, drop: tuple[str, ...], keep: tuple[str, ...], categorical: tuple[str, ...], **options: Any
    ) -> None:
        kept = tuple(name for name in dict.fromkeys(keep) if name not in drop)
        if keep and not kept:
            raise ValueError("--drop leaves out all columns of --only, so that none is used; name others")
        levels = tuple(name for name in categorical if name not in drop)
        command(*args, chosen=Chosen(drop, kept, levels), **options)

    return with_columns


#: Options about rows.
MISSING_OPTION = click.option(
    "--missing",
    type=click.Choice(["skip", "refuse"]),
    default="skip",
    show_default=True,
    help="What to do about empty cells: leave them out of the likelihood, or stop.",
)
UNLABELLED_OPTION = click.option(
    "--unlabelled",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="What to do about rows without a label: stop, or leave them out.",
)
LEARNED_UNLABELLED_OPTION = click.option(
    "--unlabelled",
    type=click.Choice(["refuse", "drop", "learn"]),
    default="refuse",
    show_default=True,
    help="What to do about rows without a label: stop, leave them out, or learn from them too (all rows in "
    "memory, with --inference em or gibbs).",
)
MOST_ROWS_OPTION = click.option(
    "--most-rows",
    type=click.IntRange(min=100),
    default=100_000,
    show_default=True,
    help="Rows of a larger file that --model auto draws at random; it leaves each of them out in turn. Other "
    "models take all rows.",
)

#: Options about the posterior.
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
    help="Prior of the parameters: a name, such as jeffreys, for Gaussian models; a concentration, such as 0.5, "
    "for models of probabilities; overall, of all rows, for Bernoulli and multinomial models.",
)
TUNE_OPTION = click.option(
    "--tune", is_flag=True, help="Choose the hyperparameters of the prior by the evidence of the rows of the fit."
)
CALIBRATE_OPTION = click.option(
    "--calibrate",
    type=click.Choice(_CALIBRATIONS),
    help="Trust densities as far as exact leave-one-out allows, so that probabilities are honest where columns "
    "depend on each other: all of them alike (temperature, where nothing follows --calibrate), or every column "
    "by itself (weights).",
)
SEED_OPTION = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed of whatever is drawn: splits, draws of the posterior and the bootstrap.",
)


def slow_step(name: str, chains: int = 4) -> str | None:
    """Describe what is being waited for, where an inference takes longer than a moment."""
    message = INFERENCES[name]
    return None if message is None else message.format(chains=chains)
