"""The Action and the hook for pre-commit, as a runner and pre-commit run them, on a checkout and with the wheel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.command_line import ROOT, SOUND, committed
from tests.wheels import UV, built_wheel, registry_environment, run

ACTION = ROOT / "deploy" / "action"
IDENTITY = ("-c", "user.name=maya", "-c", "user.email=maya@example.org")


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8")))


def test_no_expression_reaches_a_shell(action: dict[str, Any]) -> None:
    """What an input or an event says is a variable of a step, and never part of a script."""
    assert [step["run"] for step in action["runs"]["steps"] if "${{" in step.get("run", "")] == []
    assert not re.search(r"\beval\b|\bbash -c\b", (ACTION / "run.sh").read_text(encoding="utf-8"))


def test_other_actions_are_pinned(action: dict[str, Any]) -> None:
    """Each by the whole hash of a commit."""
    used = [step["uses"] for step in action["runs"]["steps"] if "uses" in step]
    assert len(used) == 2
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)


def test_each_input_is_used_and_documented(action: dict[str, Any]) -> None:
    """No input is without effect, and docs/ci.md has a row for each."""
    steps = json.dumps(action["runs"]["steps"])
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", steps)) == set(action["inputs"])
    table = page.partition("| input |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == set(action["inputs"])


def git(at: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", at, *IDENTITY, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def breaking(tmp_path: Path) -> tuple[Path, str, str]:
    """A project with a commit that breaks a test; its base and its head."""
    shop = committed(tmp_path / "shop", SOUND)
    base = git(shop, "rev-parse", "HEAD")
    till = shop / "shop" / "till.py"
    till.write_text(till.read_text(encoding="utf-8").replace(">= 10000", "> 10000"), encoding="utf-8")
    git(shop, "commit", "--quiet", "--all", "--message", "$(touch injected)`touch injected`")
    return shop, base, git(shop, "rev-parse", "HEAD")


class Runner:
    """Runs the composite steps as GitHub's runner does: expressions become text, `uses` are done beforehand."""

    def __init__(self, tmp_path: Path, action: dict[str, Any]) -> None:
        self.action, self.temporary = action, tmp_path / "temporary"
        self.output, self.summary = tmp_path / "output", tmp_path / "summary"
        for directory in (self.temporary, tmp_path / "home"):
            directory.mkdir()
        self.variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path / "home"),
            "LANG": "C.UTF-8",
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(self.temporary),
        } | {name: value for name, value in registry_environment().items() if name.startswith("PIP_")}

    def step(self, name: str, at: Path, **known: str) -> subprocess.CompletedProcess[str]:
        """One step in a checkout. `known` holds the values of expressions, with `_` for `.` and `-`."""
        (step,) = (each for each in self.action["runs"]["steps"] if each.get("id") == name)
        values = {f"inputs.{each}": given["default"] for each, given in self.action["inputs"].items()}
        values |= {"github.action_path": str(ACTION), "steps.python.outputs.python-path": sys.executable}

        def value(found: re.Match[str]) -> str:
            return known.get(re.sub(r"[.-]", "_", found[1]), values.get(found[1], ""))

        given = {key: re.sub(r"\$\{\{ (\S+) \}\}", value, text) for key, text in step["env"].items()}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(command, cwd=at, env=self.variables | given, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"inputs_fail_on": "$(touch injected)"}, "the input fail-on is one of: never tests critical"),
        ({"inputs_format": "github,html"}, "the input format is one of: github sarif text"),
        ({"inputs_base": "--upload-pack=touch injected"}, "a commit of the change is not in the checkout"),
        ({"github_event_pull_request_base_sha": "0" * 40}, "give actions/checkout fetch-depth: 0"),
        ({}, "there is no pull request; name the commit"),
    ],
)
def test_wrong_input_is_refused(tmp_path: Path, action: dict[str, Any], given: dict[str, str], line: str) -> None:
    """An input that is none of its values, or a commit that is not there, ends the step with one line."""
    shop = committed(tmp_path / "shop", SOUND)
    runner = Runner(tmp_path, action)
    done = runner.step("review", shop, **given)
    assert done.returncode == 2
    assert line in done.stdout
    assert done.stdout.startswith("::error title=Apprentice::")
    assert "result=cannot-run" in runner.output.read_text(encoding="utf-8")
    assert not list(tmp_path.rglob("injected"))


@pytest.mark.extended
@pytest.mark.network_registry
@pytest.mark.sandbox
def test_the_action_reviews_a_pull_request(tmp_path: Path, action: dict[str, Any]) -> None:
    """On a clean runner it installs the wheel, finds the broken test, fails, and writes summary, annotations, SARIF and a proven patch."""
    shop, base, head = breaking(tmp_path)
    runner = Runner(tmp_path, action)
    installed = runner.step("install", shop, inputs_version=str(built_wheel(tmp_path / "dist")))
    assert installed.returncode == 0, installed.stdout + installed.stderr
    event = {"github_event_pull_request_base_sha": base, "github_event_pull_request_head_sha": head}
    done = runner.step("review", shop, **event, inputs_fix="true", inputs_format="github,sarif")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.count("reviewing") == 1
    commands = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert commands[0].startswith(
        "::error file=shop/till.py,line=24,endLine=24,title=broken-test::tests/test_till.py::"
    )
    assert "test_discount_from_a_hundred_on" in runner.summary.read_text(encoding="utf-8")
    outputs = dict(line.split("=", 1) for line in runner.output.read_text(encoding="utf-8").splitlines())
    assert outputs["result"] == "failed"
    assert "+        if self.total() >= 10000:" in Path(outputs["patch"]).read_text(encoding="utf-8")
    (run,) = json.loads(Path(outputs["sarif"]).read_text(encoding="utf-8"))["runs"]
    assert run["results"][0]["ruleId"] == "broken-test"
    assert git(shop, "status", "--porcelain") == ""
    assert not list(tmp_path.rglob("injected"))
    runner.output.unlink()
    again = runner.step("review", shop, **event, inputs_fail_on="never", inputs_format="text")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "::error" not in again.stdout
    assert "result=passed\nsarif=\n" in runner.output.read_text(encoding="utf-8")
    outside = runner.step("review", shop, **event, inputs_python=str(tmp_path / "absent"), inputs_format="sarif")
    assert outside.returncode == 2, outside.stdout + outside.stderr
    assert "::error title=apprentice cannot run::" in outside.stdout


@pytest.mark.extended
@pytest.mark.network_registry
@pytest.mark.sandbox
def test_the_hook_reviews_what_is_staged(tmp_path: Path) -> None:
    """pre-commit installs the hook from a repository of ours, refuses a commit that breaks a test, and lets others pass."""
    tools, hooks, home = tmp_path / "tools", tmp_path / "hooks", tmp_path / "home"
    for command in (
        ["venv", "--quiet", "--python", sys.executable, tools],
        ["pip", "install", "--quiet", "--python", tools / "bin" / "python", "pre-commit"],
    ):
        subprocess.run([UV, *command], env=registry_environment(), check=True)
    home.mkdir()
    wheel = built_wheel(tmp_path / "dist")
    committed(
        hooks,
        {
            ".pre-commit-hooks.yaml": (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"),
            "setup.py": "from setuptools import setup\nsetup(name='hooks', py_modules=[])\n",
        },
    )
    hook = {"id": "apprentice-review", "additional_dependencies": [str(wheel)]}
    configured = {"repos": [{"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD"), "hooks": [hook]}]}
    shop = committed(tmp_path / "shop", SOUND | {".pre-commit-config.yaml": json.dumps(configured)})
    given = {name: value for name, value in registry_environment().items() if name.startswith("PIP_")}
    command = (tools / "bin" / "pre-commit", "run", "apprentice-review")
    till = shop / "shop" / "till.py"
    sound = till.read_text(encoding="utf-8")
    till.write_text(sound.replace(">= 10000", "> 10000"), encoding="utf-8")
    git(shop, "add", "--all")
    assert "1 test fails that passes without this change" in run(*command, home=home, code=1, at=shop, **given)
    till.write_text(sound + "\n", encoding="utf-8")
    git(shop, "add", "--all")
    assert "Passed" in run(*command, home=home, at=shop, **given)
