"""Where a review goes: one format on standard output, any others to files, and the exit code."""

from __future__ import annotations

import io
import json
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bot.cli import json_output, report_formats, review_text
from bot.cli.console import Detail, out, print_json
from bot.cli.local import FailOn, Format
from bot.cli.review_report import report_of
from bot.cli.terminal import Terminal, visible
from bot.local import LocalReview
from memory.errors import StoreError
from workers.errors import ApprenticeError, BadInput


def printed_as(format_: Format | None, *, as_json: bool) -> Format:
    """The format for standard output. Raises BadInput for `--json` beside another one."""
    if as_json and format_ not in (None, Format.JSON):
        raise BadInput(f"--json is --format json; leave it out, or --format {format_}")
    return Format.JSON if as_json else format_ or Format.TEXT


def files_of(given: Sequence[str]) -> Mapping[Path, Format]:
    """The files to write, each with its format. Raises BadInput, before anything is reviewed."""
    files: dict[Path, Format] = {}
    for each in given:
        name, _, file = each.partition("=")
        if name not in list(Format) or not file:
            raise BadInput(f"--report {each!r}: give FORMAT=FILE, with one of {', '.join(Format)}")
        path = Path(file).absolute()
        if path in files or path.is_dir() or not path.parent.is_dir():
            why = "is given twice" if path in files else "is a directory" if path.is_dir() else "has no directory"
            raise BadInput(f"--report {each!r}: the file {why}")
        files[path] = Format(name)
    return files


@contextmanager
def failure_in(printed: Format) -> Iterator[None]:
    """GitHub's runner learns why nothing could be reviewed, beside the line on standard error."""
    try:
        yield
    except (ApprenticeError, StoreError) as error:
        if printed is Format.GITHUB:
            sys.stdout.write(report_formats.cannot_run(str(error)))
        raise


def write(
    result: LocalReview,
    printed: Format,
    files: Mapping[Path, Format],
    fail_on: FailOn,
    *,
    seconds: float = 0.0,
    detail: Detail = Detail.USUAL,
) -> int:
    """Write the review in every format that is asked for; its exit code. Raises BadInput for a file that cannot be written.

    `seconds` and `detail` are for the text on standard output; a file has the time, and nothing is left out of it.
    """
    code = report_of(result).exit_code(fail_on)
    for path, format_ in files.items():
        try:
            _write(path, rendered(result, format_, code, seconds=seconds))
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror}") from None
    if printed is Format.TEXT:
        review_text.print_reviewed(result, out, seconds=seconds, detail=detail)
    elif printed is Format.JSON:
        print_json(json_output.reviewed_json(result))
    else:
        sys.stdout.write(rendered(result, printed, code))
    return code


def _write(path: Path, text: str) -> None:
    """At once, or not at all; a link of this name is replaced and not followed, because a checkout may have brought it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def rendered(result: LocalReview, format_: Format, code: int, *, seconds: float = 0.0) -> str:
    """The whole review in one format."""
    match format_:
        case Format.TEXT:
            text = io.StringIO()
            plain = Terminal(file=text, highlight=False, emoji=False, soft_wrap=True)
            review_text.print_reviewed(result, plain, seconds=seconds, detail=Detail.ALL)
            return text.getvalue()
        case Format.JSON:
            return visible(json.dumps(json_output.reviewed_json(result), indent=2, ensure_ascii=False)) + "\n"
        case Format.SARIF:
            return report_formats.sarif(report_of(result), code)
        case Format.RDJSONL:
            return report_formats.rdjsonl(report_of(result))
        case Format.GITHUB:
            return report_formats.github(report_of(result))
