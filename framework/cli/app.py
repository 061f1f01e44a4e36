"""The command line: parses words, runs the command, and prints errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from framework.cli.commands import COMMANDS, GROUPS
from framework.cli.exits import close_stdout, code_of, epilog, forget, listen, word_of
from framework.cli.usage import is_usage_error, unknown_command, usage_error, usage_fault
from framework.errors import FrameworkError

if TYPE_CHECKING:
    from framework.cli.render.errors import OutputOptions

__all__ = ["is_place", "main", "option_value", "with_default_command", "words_below"]


_SUFFIXES: Final = (".yml", ".yaml", ".json")
_HELP: Final = {"-h", "--help", "--version"}

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def with_default_command(words: list[str], commands: Collection[str]) -> list[str]:
    """Return the words with `run` inserted if they name a spec but no command.

    `-C FOLDER` stays first. Options may precede the spec: `-t prod flights.pipeline.yml`.
    """
    skip = _global_words(words)
    front, rest = words[:skip], words[skip:]
    if not rest or rest[0] in commands or rest[0] in _HELP:
        return words
    folder = Path(front[-1].removeprefix("-C")) if front else Path()
    if is_place(rest[0], folder) or (
        rest[0].startswith("-") and any(word.endswith(_SUFFIXES) for word in rest[1:])
    ):
        return [*front, "run", *rest]
    return words


def is_place(word: str, folder: Path) -> bool:
    """Return whether a word is a path, by its form or because it exists."""
    if word.startswith("-"):
        return False
    return word.endswith(_SUFFIXES) or "/" in word or (folder / word).exists()


def option_value(words: list[str], name: str) -> str | None:
    """Return the value of `--name VALUE` or `--name=VALUE`, the last one; None without."""
    found = None
    for number, word in enumerate(words):
        if word == name and number + 1 < len(words):
            found = words[number + 1]
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def _global_words(words: list[str]) -> int:
    """Return the number of words of `-C FOLDER`: 2, 1 if written as one word, or 0."""
    if words[:1] == ["-C"]:
        return 2
    return 1 if words and words[0].startswith("-C") else 0


class _Command(TyperCommand):
    """A command whose help omits the Python types of arguments."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options."""
        sections: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for each in self.get_params(ctx):
            name, text = each.get_help_record(ctx) or ("", "")
            if each.param_type_name == "argument":
                name = name.partition(" <")[0]
            sections[each.param_type_name].append((name, text))
        for kind, rows in sections.items():
            if rows:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(rows)


class _Commands(TyperGroup):
    """A group whose commands are imported on first use.

    `front` is the prefix of its commands' names: "", or a word of `GROUPS` and a space.
    """

    front: str = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of the table."""
        del ctx
        return list(words_below(self.front))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command or the group of that name, or None."""
        del ctx
        name = f"{self.front}{cmd_name}"
        if name in GROUPS:
            return _group(name)
        if name not in COMMANDS:
            return None
        found = COMMANDS[name]
        one = typer.Typer(add_completion=False, rich_markup_mode=None)
        decorate = one.command(
            name=cmd_name,
            cls=_Command,
            short_help=found.summary,
            epilog=epilog(),
            context_settings=_SETTINGS,
        )
        decorate(found.load())
        return typer.main.get_command(one)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and the remaining words.

        Raises:
            SpecError: `usage/unknown-command`.
        """
        if args and args[0] not in words_below(self.front) and not args[0].startswith("-"):
            raise unknown_command(args[0], words_below(self.front), self.front)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any of them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(words_below(self.front).items()))


def words_below(front: str) -> dict[str, str]:
    """Return the words that may follow `front`, each with its summary, in order."""
    found: dict[str, str] = {}
    for name, command in COMMANDS.items():
        if name.startswith(front):
            word, _, more = name.removeprefix(front).partition(" ")
            found[word] = GROUPS[f"{front}{word}"] if more else command.summary
    return found


def _group(name: str) -> Any:
    """Return the group of a first word."""
    app = typer.Typer(
        cls=_Commands,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog=epilog(),
        context_settings=_SETTINGS,
    )
    app.callback(help=GROUPS[name])(_nothing)
    group: Any = typer.main.get_command(app)
    group.front = f"{name} "
    return group


def _nothing() -> None:
    """Do nothing before the command of a group."""


_app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=epilog(),
    context_settings=_SETTINGS,
)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        sys.stdout.write(f"run-pipeline {version('lakestrap')}\n")
        raise typer.Exit


@_app.callback()
def _root(
    directory: Annotated[
        Path,
        typer.Option(
            "-C", metavar="FOLDER", help="Run as if started in this folder.", show_default=False
        ),
    ] = Path(),
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Adopt Parquet as Apache Hudi tables and keep them, from YAML specs.

    `run-pipeline SPEC` means `run-pipeline run SPEC`. A folder means all specs below it.
    """
    del show_version
    try:
        os.chdir(directory)
    except OSError as error:
        raise usage_error("folder", f"-C {directory}: {error.strerror}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; errors are printed on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    forget()
    listen()
    try:
        code = _invoke(with_default_command(words, words_below("")))
        sys.stdout.flush()
    except BrokenPipeError:
        return close_stdout()
    except KeyboardInterrupt as stop:
        return _interrupted(stop, words)
    except Exception as error:  # noqa: BLE001  the last resort, reported as such
        return _failed(error, words)
    return code


def _invoke(words: list[str]) -> int:
    """Run a command without the library's own handling of errors and interruptions."""
    group = typer.main.get_command(_app)
    try:
        with group.make_context("run-pipeline", words) as context:
            result = group.invoke(context)
    except typer.Exit as done:
        return int(done.exit_code)
    return result if isinstance(result, int) else 0


def _interrupted(stop: KeyboardInterrupt, words: list[str]) -> int:
    """Report an interruption with the state that it left."""
    from framework.cli.render.errors import report_interrupted

    notes = list(getattr(stop, "__notes__", []))
    return report_interrupted(word_of(stop), code_of(stop), notes, _output_options(words))


def _failed(error: Exception, words: list[str]) -> int:
    """Print an error; the library's own refusals would exit with 2, which here means changes."""
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error}\n")
        return 1
    if is_usage_error(error):
        error = usage_fault(error)
    from framework.cli.render.errors import fail, fail_unexpected

    if isinstance(error, FrameworkError):
        return fail(error, _output_options(words))
    return fail_unexpected(error, _output_options(words))


def _output_options(words: list[str]) -> OutputOptions:
    """Return the requested output form, best effort, from argv."""
    from framework.cli.render.errors import OutputOptions

    return OutputOptions(
        json_result=option_value(words, "--format") == "json",
        json_log=option_value(words, "--log-format") == "json",
    )
