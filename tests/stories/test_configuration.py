"""A repository says in `.github/apprentice.yml` how it wants the bot to work."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from memory.model import Action
from tests.stories import town as founding
from tests.stories.pantry import BUG, UNITS
from tests.stories.town import REPOSITORY, Town, readable
from workers.configuration.schema import PATH

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

EMPTY = 'def empty():\n    return f"empty"\n'
"""A file with one finding, F541 (info)."""

CHANGE: dict[str, str | bytes | None] = {"pantry/empty.py": EMPTY}


def configure(town: Town, text: str, repository: str = REPOSITORY) -> None:
    """Put the file on the default branch."""
    town.maya.push(repository, "main", {PATH: text}, "Configure")
    town.settle()


def has_defaults(town: Town, text: str, *, installed: bool = True) -> None:
    """The owner of the repository has defaults for all of theirs, in a private repository."""
    name = f"{REPOSITORY.partition('/')[0]}/.github"
    town.playground.add_repository(name, {PATH: text}, private=True)
    if installed:
        (app,) = town.playground.world.apps.values()
        town.playground.install(app, name)
        town.settle()


def check_of(town: Town, number: int) -> tuple[str | None, str, str]:
    """Conclusion, title and text of the only check run."""
    (check,) = town.checks(number)
    return check.conclusion, check.title, readable(check.summary)


def test_a_change_in_a_pull_request_has_no_effect_before_the_merge(town: Town) -> None:
    """A pull request cannot turn off the rule that it breaks; once the file is on the base branch, the rule is off."""
    number = town.propose("empty", {**CHANGE, PATH: "rules: {F541: off}\nreviews: {opened: false}\n"})
    assert [each.path for each in town.remarks(number)] == ["pantry/empty.py"]
    configure(town, "rules: {F541: off}\n")
    later = town.propose("later", {"pantry/later.py": EMPTY.replace("empty", "later")})
    assert town.remarks(later) == town.reviews(later) == []
    assert check_of(town, later) == snapshot(
        (
            "success",
            "Nothing found",
            """\
No test is broken: 10 tests passed.
1 file read.
1 finding left out by .github/apprentice.yml.\
""",
        )
    )


def test_a_wrong_file_stops_no_review(town: Town) -> None:
    """What is right in it counts; the check run is neutral, with place, mistake and what was meant, and annotations."""
    configure(town, "rules:\n  F401: off\n  F541: mnior\nsilnet: true\n")
    number = town.propose("empty", {"pantry/empty.py": f"import os\n\n\n{EMPTY}"})
    assert [each.body.split("**")[1] for each in town.remarks(number)] == ["F541"]
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "1 finding, 2 mistakes in .github/apprentice.yml",
            """\
No test is broken: 10 tests passed.
1 file read.
2 mistakes in .github/apprentice.yml on the base branch. Each counts as not written; the rest is used.
- line 3, column 9: rules.F541: expected one of off, info, minor, major, critical; did you mean minor?
- line 4, column 1: 'silnet' is no key; did you mean silent?
1 finding left out by .github/apprentice.yml.\
""",
        )
    )
    (check,) = town.checks(number)
    assert check.annotations == 3, "two mistakes and the finding"


def test_a_file_that_is_no_yaml_stops_no_review(town: Town) -> None:
    """The review runs as without a file."""
    configure(town, "rules: {F541: off\n")
    number = town.propose("empty", CHANGE)
    assert [each.path for each in town.remarks(number)] == ["pantry/empty.py"]
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "1 finding, 1 mistake in .github/apprentice.yml",
            """\
No test is broken: 10 tests passed.
1 file read.
1 mistake in .github/apprentice.yml on the base branch. Each counts as not written; the rest is used.
- line 2, column 1: not valid YAML: expected ',' or '}', but got '&lt;stream end>'\
""",
        )
    )


def test_silent_mode(town: Town) -> None:
    """It reviews, and posts its check run alone; a command is answered, and after it has ended the finding is posted."""
    configure(town, "silent: true\n")
    number = town.propose("empty", CHANGE)
    assert town.remarks(number) == town.reviews(number) == town.answers(number) == []
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "1 finding",
            """\
No test is broken: 10 tests passed.
1 file read.
Silent mode of .github/apprentice.yml: nothing is posted but this check run.\
""",
        )
    )
    (seen,) = town.sightings(number)
    assert (seen.finding.rule, seen.action) == ("F541", Action.HOLD)
    town.say(number, "@apprentice review")
    assert len(town.reviews(number)) == 1
    configure(town, "silent: false\n")
    other = town.propose("other", {"pantry/other.py": EMPTY.replace("empty", "other")})
    assert len(town.remarks(other)) == 1


def test_silent_mode_ends(town: Town) -> None:
    """What was seen in silence is posted by the next review, as new; nothing is called missed or repeated."""
    configure(town, "silent: true\n")
    number = town.propose("empty", CHANGE)
    town.push("empty", {"pantry/full.py": "FULL = 1\n"})
    assert check_of(town, number)[1] == "1 finding", "each check run shows all that is there"
    assert "hidden" not in check_of(town, number)[2]
    configure(town, "silent: false\n")
    town.push("empty", {"README.md": "# The pantry\n"})
    (review,) = town.reviews(number)
    assert len(town.remarks(number)) == 1
    assert "missed" not in review.body and "earlier" not in review.body


def test_silent_mode_repairs_on_command(town: Town) -> None:
    """An issue with a failing test starts nothing; a command does."""
    configure(town, "silent: true\n")
    number = town.issue("The last of it cannot be taken", BUG)
    assert town.fixes() == town.answers(number) == []
    town.say(number, "@apprentice fix")
    assert len(town.fixes()) == 1


def test_defaults_of_the_owner(town: Town) -> None:
    """They hold for the repository; its own file wins, key by key."""
    has_defaults(town, "rules: {F541: off, E711: off}\nlimits: {comments: 0}\n")
    number = town.propose("empty", CHANGE)
    assert town.reviews(number) == []
    assert "1 finding left out" in check_of(town, number)[2]
    configure(town, "rules: {F541: minor}\n")
    later = town.propose("later", {"pantry/later.py": EMPTY.replace("empty", "later")})
    assert town.remarks(later) == [], "comments: 0 of the owner counts"
    (review,) = town.reviews(later)
    assert "`pantry/later.py:2` **F541**" in review.body


def test_the_file_of_the_owner_is_looked_for_once_a_minute(town: Town) -> None:
    """The second of two reviews within a minute asks for no token again: the minting process gives few a minute."""
    town.clock.pass_by(60.0 - town.clock().timestamp() % 60.0)
    town.propose("empty", CHANGE)
    minted = [each for each in town.playground.requests if each.path.endswith("/access_tokens")]
    town.propose("later", {"pantry/later.py": EMPTY.replace("empty", "later")})
    assert [each for each in town.playground.requests if each.path.endswith("/access_tokens")] == minted


def test_mistakes_of_the_owner(town: Town) -> None:
    """The check run says where they are, and nothing of what a private repository holds."""
    has_defaults(town, "rules: {F541: off}\nsecret-project-name: true\n")
    number = town.propose("empty", CHANGE)
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "mistakes in the owner's .github/apprentice.yml",
            """\
No test is broken: 10 tests passed.
1 file read.
1 mistake in the owner's .github/apprentice.yml, line 2; the rest of it is used.
1 finding left out by .github/apprentice.yml.\
""",
        )
    )


def test_an_owner_who_gave_no_access(town: Town) -> None:
    """Without the App there, the repository is not read, and that is no error."""
    has_defaults(town, "rules: {F541: off}\n", installed=False)
    number = town.propose("empty", CHANGE)
    assert len(town.remarks(number)) == 1
    assert "owner" not in check_of(town, number)[2]


def test_paths_and_the_lowest_severity(town: Town) -> None:
    """What is excluded or below the floor is counted and not posted; security stays."""
    configure(town, "paths: {exclude: [pantry/old]}\nminimum-severity: minor\n")
    insecure = "import subprocess\n\n\ndef run(what):\n    return subprocess.run(what, shell=True)\n"
    files: dict[str, str | bytes | None] = {
        "pantry/old/labels.py": "def label(x):\n    return x == None\n",
        "pantry/old/run.py": insecure,
        "pantry/empty.py": EMPTY,
    }
    number = town.propose("old", files)
    remarks = {(each.path, each.body.split("**")[1]) for each in town.remarks(number)}
    assert remarks == snapshot({("pantry/old/run.py", "S602")})
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "1 finding",
            """\
No test is broken: 10 tests passed.
3 files read.
3 findings left out by .github/apprentice.yml.
2 files left out by `paths` of .github/apprentice.yml: only security and critical findings are reported.\
""",
        )
    )


def test_the_test_command(town: Town) -> None:
    """The tests that it names are those that a change can break."""
    broken: dict[str, str | bytes | None] = {"pantry/units.py": UNITS.replace('"kg": 1000', '"kg": 100')}
    configure(town, "test-command: python -m pytest tests/test_recipes.py\n")
    number = town.propose("kilo", broken)
    assert check_of(town, number)[0] == "success"
    configure(town, "test-command: python -m pytest tests/test_units.py\n")
    other = town.propose("other", broken)
    assert check_of(town, other)[:2] == snapshot(("failure", "1 broken test"))


def test_a_test_command_that_cannot_run(town: Town) -> None:
    """The tests run as without it, and the check run says so."""
    configure(town, "test-command: pytset -q\n")
    number = town.propose("kilo", {"pantry/units.py": UNITS.replace('"kg": 1000', '"kg": 100')})
    assert check_of(town, number)[0] == "failure"
    assert check_of(town, number)[2].splitlines()[-1] == snapshot(
        "Test-command of .github/apprentice.yml is not used: the test command's program 'pytset' does not exist in the checkout, beside the interpreter or in /usr/bin: name one that does (shell syntax needs sh -c '…')."
    )


def test_a_repair_leaves_excluded_files_alone(town: Town) -> None:
    """Nothing below an excluded path is edited."""
    configure(town, "paths: {exclude: [pantry/shelf.py]}\nlimits: {repair-seconds: 20}\n")
    town.issue("The last of it cannot be taken", BUG)
    assert town.fixes() == []


@pytest.fixture
def choosy_town(tmp_path: Path) -> founding.Town:  # type: ignore[misc]  # a generator
    """A town that wants drafts reviewed, and neither pushes nor some authors and labels."""
    text = "reviews: {drafts: true, pushes: false, forks: false, skip-authors: [tara], skip-labels: [no-review]}\n"
    with founding.town(tmp_path, files={**founding.FILES, PATH: text}) as made:
        yield made


def test_what_is_reviewed_without_a_command(choosy_town: Town) -> None:
    """A draft is, when it is opened; a push is not, and a neutral check run says why. A command gets a review anyway."""
    town = choosy_town
    number = town.propose("empty", CHANGE, draft=True)
    assert len(town.remarks(number)) == 1
    town.finn.mark_ready(REPOSITORY, number)
    town.push("empty", {"README.md": "# The pantry\n"})
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "Not reviewed",
            "Not reviewed: .github/apprentice.yml has `reviews.pushes: false`. A maintainer can ask with `@apprentice review`.",
        )
    )
    town.say(number, "@apprentice review")
    assert [each.conclusion for each in town.checks(number)] == ["neutral", "neutral"]
    assert len(town.reviews(number)) == 2


def test_who_is_reviewed_without_a_command(choosy_town: Town) -> None:
    """Pull requests of forks are not, where the file says so; the reason is in the check run."""
    town = choosy_town
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "empty", CHANGE, "Empty")
    number = town.olga.open_pull(REPOSITORY, head="olga:empty", title="Empty")
    town.settle()
    assert town.reviews(number) == []
    assert check_of(town, number) == snapshot(
        (
            "neutral",
            "Not reviewed",
            "Not reviewed: it comes from a fork, and .github/apprentice.yml has `reviews.forks: false`. A maintainer can ask with `@apprentice review`.",
        )
    )
