"""A review by the real command in several formats, and what programs that others wrote make of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import jsonschema_rs
import pytest

from bot.cli.console import FailOn, Format
from bot.cli.review_output import rendered
from bot.local import LocalReview
from tests.integration.command_line import SOUND, apprentice, apprentice_process, committed
from tests.reviewed import SILENT, finding, review
from tests.unit.bot.cli.test_report_formats import EVERYTHING, HOSTILE
from tests.wheels import UV, registry_environment

pytestmark = pytest.mark.extended

TILL = SOUND["shop/till.py"]
BROKEN = TILL.replace(">= 10000", "> 10000").replace("if count < 1:", "if count == None or count < 1:")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.sandbox
def test_one_review_writes_every_format(home: Path, tmp_path: Path) -> None:
    """What is printed and what is in the files is of the same review, with the broken test; `never` ends with 0."""
    shop = committed(tmp_path / "shop", SOUND)
    committed(shop, {"shop/till.py": BROKEN})
    files = {format_: tmp_path / f"review.{format_}" for format_ in Format}
    reports = [option for format_, file in files.items() for option in ("--report", f"{format_}={file}")]
    ran = apprentice_process(
        home, "review", shop, "--base", "HEAD~1", "--format", "github", *reports, "--fail-on", "never"
    )
    assert ran.code == 0, ran.err
    assert ran.out == files[Format.GITHUB].read_text(encoding="utf-8")
    assert ran.err.count("reviewing the work tree") == 1
    texts = {format_: file.read_text(encoding="utf-8").replace("\\", "") for format_, file in files.items()}
    for format_, text in texts.items():
        assert "test_discount_from_a_hundred_on" in text, format_
        assert "E711" in text, format_
    results = json.loads(files[Format.SARIF].read_text(encoding="utf-8"))["runs"][0]["results"]
    repair = next(each for each in results if each["ruleId"] in ("proven-repair", "breaking-part"))
    replaced = [each["insertedContent"]["text"] for each in repair["fixes"][0]["artifactChanges"][0]["replacements"]]
    assert replaced == ["        if self.total() >= 10000:"]


@pytest.mark.sandbox
def test_tests_that_pass_nowhere_are_no_pass(home: Path, tmp_path: Path) -> None:
    """Where every test fails before the change too, the review ends with 2 and says so."""
    shop = committed(tmp_path / "shop", SOUND | {"tests/test_till.py": "def test_it():\n    assert False\n"})
    committed(shop, {"shop/prices.py": SOUND["shop/prices.py"] + "\n\nSHELVES = 3\n"})
    ran = apprentice(home, "review", shop, "--base", "HEAD~1", "--format", "github")
    assert (ran.code, ran.out.partition("::1 test")[0]) == (
        2,
        "::error title=apprentice%3A tests::no test could tell whether the change breaks something: 1 test failing without this change too: tests/test_till.py::test_it\n",
    )


@pytest.mark.parametrize("fail_on", [FailOn.NEVER, FailOn.ANY])
def test_what_cannot_run_ends_with_two(home: Path, tmp_path: Path, fail_on: FailOn) -> None:
    """The runner of GitHub gets an annotation, and no report is written that would read like a clean review."""
    report = tmp_path / "review.sarif"
    ran = apprentice(
        home, "review", tmp_path, "--format", "github", "--report", f"sarif={report}", "--fail-on", fail_on
    )
    assert (ran.code, ran.out.partition("::error title=apprentice cannot run::")[0]) == (2, "")
    assert "is not inside a git repository" in ran.out
    assert "is not inside a git repository" in ran.complaint()
    assert not report.exists()


def test_an_interpreter_that_is_not_there_is_no_pass(home: Path, tmp_path: Path) -> None:
    """A wrong --python ends with 2; it would read like a project without tests."""
    shop = committed(tmp_path / "shop", SOUND)
    committed(shop, {"shop/till.py": BROKEN})
    ran = apprentice(home, "review", shop, "--base", "HEAD~1", "--python", tmp_path / "absent")
    assert (ran.code, ran.out) == (2, "")
    assert "absent is not an interpreter: name an existing python executable" in ran.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--json", "--format", "sarif"), "--json is --format json; leave it out, or --format sarif"),
        (("--report", "html=x"), "--report 'html=x': give FORMAT=FILE, with one of text, json, sarif, rdjsonl, github"),
        (("--report", "sarif"), "--report 'sarif': give FORMAT=FILE, with one of text, json, sarif, rdjsonl, github"),
        (("--report", "sarif=/nowhere/x"), "--report 'sarif=/nowhere/x': the file has no directory"),
        (("--report", "sarif=/tmp"), "--report 'sarif=/tmp': the file is a directory"),
        (("--report", "sarif=x", "--report", "json=x"), "--report 'json=x': the file is given twice"),
    ],
)
def test_wrong_formats_are_refused(home: Path, tmp_path: Path, options: tuple[str, ...], line: str) -> None:
    """Before anything is read, with one line."""
    ran = apprentice(home, "review", tmp_path, *options)
    assert (ran.code, ran.out, ran.complaint()) == (2, "", line)


REVIEWS = {
    "everything": EVERYTHING,
    "nothing": review(),
    "untested": review(tests=SILENT),
    "hidden": review(finding(), hidden=True),
    "hostile": review(finding(message=HOSTILE, path="a:b c/%\u202e.py", rule="odd rule {0}")),
}


def written(at: Path, result: LocalReview, format_: Format) -> Path:
    path = at / f"review.{format_}"
    path.write_text(rendered(result, format_, 1), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> jsonschema_rs.Draft4Validator:
    """The schema of SARIF 2.1.0 that Microsoft's package `sarif-om` (MIT) has in its source distribution."""
    at = tmp_path_factory.mktemp("sarif-om")
    subprocess.run([sys.executable, "-m", "venv", at / "pip"], check=True)
    command = [at / "pip" / "bin" / "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--dest", at, "sarif-om==1.0.4"], env=registry_environment(), check=True)
    (packed,) = at.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        file = archive.extractfile("sarif_om-1.0.4/sarif-2.1.0-rtm.4.json")
        assert file is not None
        text = file.read().decode()
    document = json.loads(text.replace("{2}]?$", "{2}$"))  # a bracket of it is no regular expression by ECMA 262
    return jsonschema_rs.Draft4Validator(document, validate_formats=True)


@pytest.fixture(scope="session")
def from_npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Microsoft's reader and validator of SARIF, and a validator of reviewdog's format that is not reviewdog's own."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed (Debian: apt install npm)")
    at = tmp_path_factory.mktemp("npm")
    packages = ("@microsoft/sarif-multitool-linux@5.7.0", "@umbrelladocs/rdformat-validator@1.0.1")
    command = [npm, "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", at, *packages]
    subprocess.run(command, env=registry_environment(), check=True)
    return at / "node_modules"


@pytest.mark.network_registry
@pytest.mark.parametrize("name", REVIEWS)
def test_sarif_follows_the_published_schema(schema: jsonschema_rs.Draft4Validator, name: str) -> None:
    """Every review does; a document whose page is no URI does not."""
    document = json.loads(rendered(REVIEWS[name], Format.SARIF, 1))
    assert [error.message for error in schema.iter_errors(document)] == []
    document["runs"][0]["tool"]["driver"]["informationUri"] = "no uri"
    assert not schema.is_valid(document)


@pytest.mark.network_registry
@pytest.mark.parametrize("name", REVIEWS)
def test_microsofts_validator_has_no_objection(from_npm: Path, tmp_path: Path, name: str) -> None:
    """Neither by the rules of SARIF, nor by those of GitHub's code scanning; and it finds a key that does not exist."""
    path = written(tmp_path, REVIEWS[name], Format.SARIF)
    assert objections(from_npm, path) == []
    path.write_text(path.read_text(encoding="utf-8").replace('"columnKind"', '"columnKin"'), encoding="utf-8")
    assert [each.partition(":")[0] for each in objections(from_npm, path)] == ["JSON1005"]


def objections(from_npm: Path, path: Path) -> list[str]:
    """The errors and warnings of Microsoft's validator."""
    program = from_npm / "@microsoft" / "sarif-multitool-linux" / "Sarif.Multitool"
    program.chmod(0o755)
    found = path.with_suffix(".found")
    rules = ["--rule-kind", "Sarif;Ghas", "--level", "Error;Warning", "--kind", "Fail", "--log", "ForceOverwrite"]
    variables = {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "HOME": str(path.parent), "PATH": "/usr/bin:/bin"}
    subprocess.run([program, "validate", path, *rules, "--output", found], env=variables, check=True)
    (run,) = json.loads(found.read_bytes().decode("utf-8-sig"))["runs"]
    assert run["invocations"][0]["executionSuccessful"]
    return [f"{each['ruleId']}: {each['message']}" for each in run.get("results", [])]


@pytest.mark.network_registry
def test_a_reader_of_others_loads_sarif(tmp_path: Path) -> None:
    """sarif-tools counts what we wrote, by level."""
    tools = tmp_path / "tools"
    for command in (
        ["venv", "--quiet", "--python", sys.executable, tools],
        ["pip", "install", "--quiet", "--python", tools / "bin" / "python", "sarif-tools==3.0.5"],
    ):
        subprocess.run([UV, *command], env=registry_environment(), check=True)
    path = written(tmp_path, EVERYTHING, Format.SARIF)
    done = subprocess.run([tools / "bin" / "sarif", "summary", path], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if line.startswith(("error", "warning", "note"))] == [
        "error: 3",
        "warning: 2",
        "note: 1",
    ]


@pytest.mark.network_registry
@pytest.mark.parametrize("name", [name for name in REVIEWS if name != "nothing"])
def test_a_validator_of_others_takes_rdjsonl(from_npm: Path, tmp_path: Path, name: str) -> None:
    """Each line is a diagnostic in reviewdog's format, without a field that this does not have; a line 0 would be none."""
    lines = written(tmp_path, REVIEWS[name], Format.RDJSONL).read_text(encoding="utf-8").splitlines()
    assert lines
    path = tmp_path / "lines.json"
    for wanted, each in (
        (0, f"[{','.join(lines)}]"),
        (1, '[{"message": "x", "location": {"path": "a", "range": {"start": {"line": 0}}}}]'),
    ):
        path.write_text(each, encoding="utf-8")
        program = from_npm / ".bin" / "rdformat-validator"
        done = subprocess.run(
            [program, "--strict", "--no-extra-fields", path], capture_output=True, text=True, check=False
        )
        assert done.returncode == wanted, done.stdout
