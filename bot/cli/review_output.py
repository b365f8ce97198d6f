"""Where a review goes, and its text: what the tests say, then the findings by what a pull request's review does with them.

It goes to standard output in one format, and to files in any others.
"""

import io
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from bot.cli import json_output, report_formats
from bot.cli.console import Detail, FailOn, Format, out, print_json, writing
from bot.cli.fix_output import SHOWN, print_code, print_proof, print_question, print_some, unusual
from bot.cli.review_report import lines_of, report_of
from bot.cli.terminal import Terminal
from bot.local import LocalReview
from memory.errors import StoreError
from memory.export import write_atomically
from memory.model import Action, Finding, Proof, Suggestion
from workers.errors import ApprenticeError, BadInput
from workers.messages import tests
from workers.messages.markdown import counted
from workers.messages.review import fixing_command

HIDDEN = "to hide"
PLACES = {
    "to post beside the code": (Action.INLINE, Action.INLINE_SUGGESTION),
    "to list in the summary": (Action.SUMMARY,),
    HIDDEN: (Action.HOLD,),
}
"""What a pull request's review would do with a finding."""

MAX_OF_A_PLACE = 20


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
    """Write the review in every format that is asked for; its exit code. Ends where a file cannot be written.

    `seconds` and `detail` are for the text on standard output; a file has the time, and nothing is left out of it.
    """
    code = report_of(result).exit_code(fail_on)
    for path, format_ in files.items():
        with writing(path):
            # a link of this name is replaced and not followed, because a checkout may have brought it
            write_atomically(path, rendered(result, format_, code, seconds=seconds))
    if printed is Format.TEXT:
        print_reviewed(result, out, seconds=seconds, detail=detail)
    elif printed is Format.JSON:
        print_json(json_output.reviewed_json(result))
    else:
        sys.stdout.write(rendered(result, printed, code))
    return code


def rendered(result: LocalReview, format_: Format, code: int, *, seconds: float = 0.0) -> str:
    match format_:
        case Format.TEXT:
            text = io.StringIO()
            plain = Terminal(file=text, highlight=False, emoji=False, soft_wrap=True)
            print_reviewed(result, plain, seconds=seconds, detail=Detail.ALL)
            return text.getvalue()
        case Format.JSON:
            return report_formats.json_text(json_output.reviewed_json(result), indent=2)
        case Format.SARIF:
            return report_formats.sarif(report_of(result), code)
        case Format.RDJSONL:
            return report_formats.rdjsonl(report_of(result))
        case Format.GITHUB:
            return report_formats.github(report_of(result))


# ── The text ──


def print_reviewed(result: LocalReview, out: Console, *, seconds: float, detail: Detail) -> None:
    """The verdict and, unless that is all, what it rests on."""
    out.print(f"[bold]{escape(verdict(result, seconds))}[/]")
    reviewed = result.reviewed
    if detail is Detail.VERDICT or not reviewed.change.files:
        return
    _print_tests(result, out, detail)
    for place, actions in PLACES.items():
        found = [each for each in result.shown() if result.decided[each.fingerprint].action in actions]
        if found:
            out.print(f"{_head(result, place, found)}:", markup=False)
            _print_findings(found, out, detail, elsewhere={each.fingerprint for each in reviewed.elsewhere})
    unread = [f"{path}: {reason}" for path, reason in reviewed.not_read.items()]
    print_some(unread, out, detail, before="not read: ")


def verdict(result: LocalReview, seconds: float) -> str:
    """What the tests say of a change, how many findings there are and how much was read, in one line."""
    reviewed, time = result.reviewed, f"{seconds:.1f} s"
    if not reviewed.change.files:
        return f"nothing to review: no file differs from {result.base}; {time}"
    compared = reviewed.tests
    headline = "no test was run" if compared is None else tests.headline(compared)
    start = f"tests are broken: {headline}" if compared and compared.broken else f"{headline[0].lower()}{headline[1:]}"
    unread = f", {len(reviewed.not_read)} not read" if reviewed.not_read else ""
    return f"{start}; {_counts(result)}; {counted(reviewed.files_read, 'file')} read{unread}; {time}"


def _counts(result: LocalReview) -> str:
    """The number of findings, and of those in each place."""
    shown = Counter(result.decided[each.fingerprint].action for each in result.shown())
    numbers = {place: sum(shown[action] for action in actions) for place, actions in PLACES.items()}
    parts = ", ".join(f"{number} {place}" for place, number in numbers.items() if number)
    return f"{counted(shown.total(), 'finding')}{f': {parts}' if shown else ''}"


def _head(result: LocalReview, place: str, found: Sequence[Finding]) -> str:
    """Where a pull request's review shows these findings; of hidden ones, why it does not."""
    head = f"{counted(len(found), 'finding')} {place}"
    if place != HIDDEN:
        return head
    reasons = Counter((each.rule, result.decided[each.fingerprint].why.partition(";")[0]) for each in found)
    why = ", ".join(f"{number} of {rule} ({reason})" for (rule, reason), number in reasons.most_common(SHOWN))
    return f"{head}, because little use is expected: {why}"


def _print_tests(result: LocalReview, out: Console, detail: Detail) -> None:
    reviewed = result.reviewed
    if (compared := reviewed.tests) is not None:
        for line in tests.lines(compared, every=detail is Detail.ALL):
            out.print(line, markup=False)
    for line in tests.untested_parts(reviewed.untested):
        out.print(line, markup=False)
    part, fix = reviewed.culprit, reviewed.fix
    if part is not None:
        out.print(f"this part of the change breaks {tests.blamed_on_part(compared)}; without it they pass:")
        print_code(part.patch, out)
    if fix is not None and fix.proof is not None and not (part and fix.proof.contested):
        but = f", but {unusual(fix.proof)}" if fix.proof.unusual else ""
        if part is not None and part.patch == fix.patch:
            out.print(f"a repair found the same edit{but}:", markup=False)
        else:
            out.print(f"with this change they pass{but}:", markup=False)
            print_code(fix.patch, out)
        print_proof(fix.proof, out)
        print_question(fix.proof, out)
    if reviewed.unrepaired:
        out.print(reviewed.unrepaired, markup=False)


def _print_findings(found: Sequence[Finding], out: Console, detail: Detail, elsewhere: Collection[str]) -> None:
    """Those of one rule together, and how many there are besides. Those `elsewhere` are not on a changed line."""
    groups: dict[str, list[Finding]] = {}
    for finding in found:
        groups.setdefault(finding.rule, []).append(finding)
    left, of_a_rule = (len(found), len(found)) if detail is Detail.ALL else (MAX_OF_A_PLACE, SHOWN)
    hidden = Counter[str]()
    for rule, findings in groups.items():
        shown = findings[: min(left, of_a_rule)]
        left -= len(shown)
        for finding in shown:
            _print_finding(finding, out, ", not on a changed line" if finding.fingerprint in elsewhere else "")
        if len(findings) > 1 and shown and (command := fixing_command(findings)):
            out.print(f"  {command} fixes what it can", markup=False)
        hidden[rule] = len(findings) - len(shown)
    if hidden.total():
        rules = ", ".join(f"{number} of {rule}" for rule, number in hidden.most_common(SHOWN) if number)
        out.print(f"  and {hidden.total()} more (--verbose lists them): {rules}", markup=False)


def _print_finding(finding: Finding, out: Console, where: str) -> None:
    out.print(
        f"  {escape(finding.path)}:{finding.line} [bold]{escape(finding.rule)}[/] ({finding.severity}{where}) "
        f"{escape(finding.message)}  {escape(f'[{finding.fingerprint[:12]}]')}"
    )
    if finding.suggestion is not None and finding.suggestion.proof is not None:
        _print_suggestion(finding.suggestion, finding.suggestion.proof, out)


def _print_suggestion(suggestion: Suggestion, proof: Proof, out: Console) -> None:
    shown = "applied and tested" if proof.repeats else "changes no code"
    lines = lines_of(suggestion)
    if not suggestion.replacement:
        out.print(f"    suggested, {shown}: delete {lines}")
        return
    out.print(f"    suggested for {lines}, {shown}:")
    print_code(suggestion.replacement, out, "python")
