from __future__ import annotations

import pytest

from workers.diffs import changed_lines, parse_diff, unified
from workers.review.detectors.detector import Delta, Detection, SourceTree
from workers.review.detectors.workflows import Workflows

PATH = ".github/workflows/ci.yml"
PLAIN = """\
name: CI
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: make test
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHECKOUT = "actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}"


def read(before: str, after: str, path: str = PATH) -> Detection:
    added = changed_lines(parse_diff(unified(path, before, after)))
    head = SourceTree(sources={path: after}, target_version="py311")
    return Workflows().compare(Delta(head=head, base={path: before}, added=added), [path])


def rules(before: str, after: str, path: str = PATH) -> list[tuple[str, int]]:
    return [(found.rule, found.line) for found in read(before, after, path).findings]


def with_step(step: str) -> str:
    return PLAIN + step


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (
            PLAIN.replace("pull_request:", "pull_request_target:").replace("actions/checkout@v4", CHECKOUT),
            [("WFL001", 14)],
        ),
        (with_step('      - run: echo "${{ github.event.issue.title }}"\n'), [("WFL002", 14)]),
        (
            with_step('      # pasted\u2028 from a page\x85\n      - run: echo "${{ github.event.issue.title }}"\n'),
            [("WFL002", 15)],
        ),
        (
            with_step("      - run: |\n          set -e\n          git checkout ${{ github.head_ref }}\n"),
            [("WFL002", 16)],
        ),
        (
            with_step(
                "      - uses: actions/github-script@v7\n        with:\n          script: |\n"
                "            const body = `${{ github.event.comment.body }}`;\n"
            ),
            [("WFL002", 17)],
        ),
        (PLAIN.replace("permissions:\n  contents: read", "permissions: write-all"), [("WFL003", 6)]),
        (PLAIN.replace("    runs-on", "    permissions: write-all\n    runs-on"), [("WFL003", 10)]),
        (with_step("      - uses: someone/deploy@v1\n"), [("WFL004", 14)]),
        (with_step("      - uses: docker://alpine:3\n"), [("WFL004", 14)]),
        (with_step('      - run: echo "${{ secrets.DEPLOY_KEY }}"\n'), [("WFL005", 14)]),
        (
            with_step("      - env:\n          KEY: ${{ secrets.DEPLOY_KEY }}\n        run: |\n          echo $KEY\n"),
            [("WFL005", 17)],
        ),
        (PLAIN.replace("ubuntu-latest", "[self-hosted, linux]"), [("WFL006", 10)]),
        (PLAIN.replace("ubuntu-latest", "{group: large, labels: [self-hosted]}"), [("WFL006", 10)]),
    ],
)
def test_a_risk_that_a_change_adds_is_found_on_its_line(after: str, found: list[tuple[str, int]]) -> None:
    """Each of the known holes is named where the change made it."""
    assert rules(PLAIN, after) == found


@pytest.mark.parametrize(
    "after",
    [
        PLAIN,
        PLAIN.replace("pull_request:", "pull_request_target:"),
        PLAIN.replace("actions/checkout@v4", CHECKOUT),
        with_step('      - env:\n          TITLE: ${{ github.event.issue.title }}\n        run: echo "$TITLE"\n'),
        with_step("      - run: echo ${{ github.event.pull_request.number }} ${{ github.sha }}\n"),
        with_step(f"      - uses: someone/deploy@{COMMIT} # v1\n"),
        with_step("      - uses: ./.github/actions/deploy\n      - uses: github/codeql-action/init@v3\n"),
        with_step('      - run: echo "${{ secrets.KEY }}" | docker login --password-stdin\n'),
        with_step('      - run: echo "${{ secrets.KEY }}" > ~/.key\n'),
        with_step("      - env:\n          KEY: ${{ secrets.KEY }}\n        run: ./deploy.sh\n"),
        with_step("      - if: github.event.pull_request.title != ''\n        run: make\n"),
        PLAIN.replace("  pull_request:\n", "").replace("ubuntu-latest", "self-hosted"),
    ],
)
def test_an_ordinary_workflow_is_not_said(after: str) -> None:
    """Values through the environment, pinned and own actions, and secrets handed on are how it should be."""
    assert rules(PLAIN, after) == []


def test_what_was_there_before_is_not_said() -> None:
    """Old risks on lines that the change does not touch, and a new version of an action that was used before."""
    old = with_step("      - uses: someone/deploy@v1\n      - run: echo ${{ github.head_ref }}\n")
    assert rules(old, old.replace("make test", "make check")) == []
    assert rules(old, old.replace("deploy@v1", "deploy@v2")) == []
    image = with_step("      - uses: docker://registry.example:5000/tools/lint:1\n")
    assert rules(image, image.replace("lint:1", "lint:2")) == []
    assert rules(image, image.replace("tools/lint", "tools/sign")) == [("WFL004", 14)]


@pytest.mark.parametrize("action", ["actions/cache", "someone/setup"])
def test_what_was_pinned_and_can_be_moved_now_is_said(action: str) -> None:
    """Of GitHub's own actions too; another commit is no risk, and where one use was loose before, nothing is."""
    pinned, other, loose = (
        with_step(f"      - uses: {action}@{version}\n") for version in ("a" * 40, "b" * 40, "main")
    )
    assert rules(pinned, loose) == [("WFL004", 14)]
    assert rules(pinned, other) == rules(loose, pinned) == []
    assert rules(pinned + f"      - uses: {action}@v1\n", loose) == []


def test_a_new_trigger_makes_an_old_checkout_a_hole() -> None:
    """Where the trigger changed and the checkout did not, the trigger's line is said."""
    old = PLAIN.replace("actions/checkout@v4", CHECKOUT)
    assert rules(old, old.replace("pull_request:", "pull_request_target:")) == [("WFL001", 3)]


def test_composite_actions_are_read() -> None:
    """The steps of an action run in whoever's workflow uses it."""
    text = "name: x\nruns:\n  using: composite\n  steps:\n    - run: echo ${{ github.head_ref }}\n      shell: bash\n"
    assert rules("", text, "deploy/action.yml") == [("WFL002", 5)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("on: [push\njobs: {", "line 2: not valid YAML"),
        ("a: " + "[" * 3_000 + "]" * 3_000, "not valid YAML"),
        ('on: "\\UFFFFFFFF"', "not valid YAML"),
        ('on: "\\U00110000"', "not valid YAML"),
        ("on: push\n" + "# padding\n" * 30_000, "too large"),
        ("on: push\nx: [" + "1," * 30_000 + "]\n", "too large"),
    ],
)
def test_a_file_that_cannot_be_understood_is_unread(text: str, reason: str) -> None:
    """Its silence would be no all-clear, and it cannot exhaust us."""
    assert reason in read("", text).unread[PATH]


def test_aliases_that_multiply_are_refused() -> None:
    """A file of nested aliases counts by what they stand for, and is not followed."""
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    assert "over 20,000 values" in read("", f"{bomb}on: pull_request\njobs: {{j: {{runs-on: *a59}}}}\n").unread[PATH]


@pytest.mark.parametrize(
    ("path", "mine"),
    [(PATH, True), (".github/workflows/x.yaml", True), ("action.yml", True), (".github/dependabot.yml", False)],
)
def test_only_workflows_and_actions_are_read(path: str, mine: bool) -> None:
    """Their place and name tell them."""
    assert Workflows().reads(path) == mine
