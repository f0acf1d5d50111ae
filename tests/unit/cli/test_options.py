"""Claims about options that come as values: the command line sees each field, the verb sees the value."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from chrono.cli.options import gathered


@dataclass(frozen=True)
class Wanted:
    much: Annotated[bool, typer.Option("--much", help="More of it.")] = False
    name: Annotated[str, typer.Option("--name", "-n", metavar="NAME")] = "nobody"


def run_it(
    ctx: typer.Context, wanted: Wanted, number: Annotated[int, typer.Argument()], json: Annotated[bool, "plain"] = False
) -> int:
    """Do it.

    At length.
    """
    print(ctx.info_name is not None, wanted, number, json)
    return 0


def _run(*words: str) -> str:
    app = typer.Typer()
    app.command()(gathered(run_it))
    return CliRunner().invoke(app, words, catch_exceptions=False).output


def test_fields_are_options_and_arrive_as_one_value() -> None:
    assert _run("--much", "-n", "x", "7", "--json").strip() == "True Wanted(much=True, name='x') 7 True"


def test_a_field_that_is_not_given_has_its_default() -> None:
    assert _run("7").strip() == "True Wanted(much=False, name='nobody') 7 False"


def test_the_help_is_that_of_fields_and_function() -> None:
    shown = _run("--help")
    assert "More of it." in shown and "At length." in shown and "wanted" not in shown


def test_the_signature_is_flat_for_whoever_asks() -> None:
    assert list(inspect.signature(gathered(run_it)).parameters) == ["ctx", "number", "much", "name", "json"]
