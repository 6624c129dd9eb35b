"""``bayesppl reproduce``: published numbers recomputed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bayesppl.cli.files import require_place

if TYPE_CHECKING:
    from bayesppl.reproduce import Inputs


@click.command(short_help="Recompute published results.")
@click.option("--only", multiple=True, metavar="ID", help="Check this claim only; may be given several times.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--mnist",
    metavar="PATH|openml",
    help="The MNIST digits: a folder of the original files, a CSV file, or 'openml' to download them.",
)
@click.option(
    "--sms",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="The SMS Spam Collection: its file, or the folder that holds it.",
)
@click.option(
    "--newsgroups",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="20 Newsgroups by date: 20news-bydate.tar.gz, or the folder that holds it.",
)
@click.option(
    "--car",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="The car evaluation data of UCI: car.data, or the folder that holds it.",
)
@click.option(
    "--study",
    "studies",
    multiple=True,
    type=click.Choice(
        [
            "energy",
            "spam",
            "newsgroups",
            "boundaries",
            "iris",
            "height-weight",
            "digits",
            "aitchison",
            "ng-jordan",
            "domingos-pazzani",
            "bnclassify",
        ]
    ),
    help="Run this experiment instead of the claims; may be given several times.",
)
@click.option(
    "--list", "lists", is_flag=True, help="List the sources, their claims and the studies, and compute nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the report and its figures.",
)
def reproduce(
    only: tuple[str, ...],
    seed: int,
    mnist: str | None,
    sms: Path | None,
    newsgroups: Path | None,
    car: Path | None,
    studies: tuple[str, ...],
    lists: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Recompute the numbers of five published introductions and compare them.

    Every claim is computed through the package and gets a verdict: agrees, agrees after rounding, agrees within
    sampling error, erratum (with the corrected value and the reason), measured (a time) or not run. The exit
    status is 1 if anything that should agree does not.

    With --study, an experiment that the texts only describe, or a published result: tables, and with --out also
    files with a picture.
    """
    if lists:
        if only:
            raise ValueError("--list lists all claims: leave out --only")
        _list(as_json)
        return
    for option, path in (("--sms", sms), ("--newsgroups", newsgroups), ("--car", car)):
        if path is not None and not studies:
            raise ValueError(f"{option} is for a --study; the claims need no such file, leave it out")
    if only and studies:
        raise ValueError(f"--only {only[0]!r} is for claims, and --study {studies[0]!r} runs none; leave one out")
    if mnist not in (None, "openml") and not Path(mnist).exists():
        raise ValueError(f"--mnist {mnist!r} is neither a file nor a folder; 'openml' downloads the digits")
    if out is not None:
        require_place("--out", out, is_folder=True)
    from bayesppl.reproduce import Inputs
    from bayesppl.reproduce import reproduce as recompute

    if studies:
        _run_studies(studies, Inputs(seed, mnist, sms, newsgroups, car), as_json, out)
        return
    found = recompute(only, seed, mnist)
    click.echo(found.to_json() if as_json else found.to_text())
    for file in found.write(out) if out is not None else ():
        click.echo(f"wrote {file}", err=True)
    if found.failed:
        click.echo(f"bayesppl: {', '.join(outcome.claim.id for outcome in found.failed)} should agree", err=True)
        raise SystemExit(1)


def _list(as_json: bool) -> None:
    from textwrap import fill

    from bayesppl.reproduce import CLAIMS
    from bayesppl.reproduce.claims import SOURCES
    from bayesppl.reproduce.studies import STUDIES

    claims_of = {name: [claim.id for claim in CLAIMS if claim.source.split()[0] == name] for name in SOURCES}
    if as_json:
        sources = {name: {"reference": SOURCES[name], "claims": claims} for name, claims in claims_of.items()}
        studies = {study.name: study.question for study in STUDIES.values()}
        click.echo(json.dumps({"sources": sources, "studies": studies}, indent=2, ensure_ascii=False))
        return
    for name, reference in SOURCES.items():
        claims = claims_of[name]
        click.echo(fill(f"{name}: {reference}", 80, subsequent_indent="    ", break_on_hyphens=False))
        if claims:
            click.echo(fill(f"claims {', '.join(claims)}", 80, initial_indent="    ", subsequent_indent="    "))
    click.echo("\nstudies, for --study:")
    for study in STUDIES.values():
        click.echo(fill(f"{study.name}: {study.question}", 80, subsequent_indent="    ", break_on_hyphens=False))


def _run_studies(names: tuple[str, ...], inputs: Inputs, as_json: bool, out: Path | None) -> None:
    from bayesppl.reproduce.studies import STUDIES

    chosen = [STUDIES[name] for name in names]
    for study in chosen:
        study.check(inputs)
    found = {}
    for study in chosen:
        tables = study.tables(inputs)
        found[study.name] = {title: table.to_dict("records") for title, table in tables.items()}
        if not as_json:
            click.echo(study.to_markdown(tables))
        for file in study.write(out, inputs, tables) if out is not None else ():
            click.echo(f"wrote {file}", err=True)
    if as_json:
        click.echo(json.dumps({"seed": inputs.seed, "studies": found}, indent=2, ensure_ascii=False))
