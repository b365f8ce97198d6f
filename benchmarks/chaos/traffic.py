"""What users do, and what each of it has to lead to."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchmarks.chaos.github import ChaoticGitHub
from benchmarks.chaos.oracle import Bounds
from bot.playground.models import HostedPull, HostedThread

USER = "maya"
REPOSITORIES = ("kitchen/pantry", "kitchen/cellar", "forge/hammer", "forge/anvil", "mill/sieve", "mill/sack")
WEIGHTS: Mapping[str, int] = MappingProxyType(
    {"help": 55, "typo": 17, "where": 4, "open": 5, "why": 6, "verdict": 5, "resolve": 3, "close": 5}
)
"""How often users do what, where they can."""

MAX_OPEN = 12
FILES = {
    "README.md": "Amounts as cooks write them.\n",
    "pantry/__init__.py": "",
    "pantry/units.py": 'def shown(amount):\n    """Grams as people read them."""\n    return f"{amount} g"\n',
}
FINDING = "import os\n\n\ndef part_{number}(amount):\n    if amount == None:\n        return 0\n    return amount + {number}\n"


@dataclass(frozen=True, slots=True)
class Conversation:
    """An issue or a pull request, by its repository's name and number."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


@dataclass(kw_only=True)
class Traffic:
    """Users at work. `expected` has the bounds of each effect, by the name under which the oracle finds it."""

    github: ChaoticGitHub
    bot: str
    rng: random.Random
    expected: dict[str, Bounds] = field(default_factory=dict)
    acts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _open: list[Conversation] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)
    _again: list[tuple[Conversation, str]] = field(default_factory=list)
    _issues: list[Conversation] = field(default_factory=list)

    def act(self) -> None:
        """One user does something."""
        if self._again:
            self._push_again(*self._again.pop())
            return
        chosen = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        acts: dict[str, Callable[[], bool]] = {
            "help": self._ask_help,
            "typo": self._mistype,
            "where": self._ask_where,
            "open": self._open_pull,
            "why": self._ask_why,
            "verdict": self._judge,
            "resolve": self._resolve,
            "close": self._close,
        }
        if not acts[chosen]():
            chosen = "help"
            self._ask_help()
        self.acts[chosen] += 1

    def _expect(self, name: str, least: int = 1, most: int = 1) -> None:
        self.expected[name] = self.expected.get(name, Bounds(least=0, most=0)).more(least, most)

    def _issue(self, title: str, body: str) -> Conversation:
        repository = self.rng.choice(REPOSITORIES)
        made = self.github.act(USER, "POST", f"/repos/{repository}/issues", title=title, body=body)
        self._issues.append(Conversation(repository, int(made["number"])))
        return self._issues[-1]

    def _say(self, about: Conversation, text: str) -> None:
        self.github.act(USER, "POST", f"/repos/{about.repository}/issues/{about.number}/comments", body=text)

    def _command(self, about: Conversation, text: str) -> None:
        self._say(about, f"@apprentice {text}")
        self._expect(f"answer {about}")

    # Issues.

    def _ask_help(self) -> bool:
        new = not self._issues or self.rng.random() < 0.15
        about = self._issue("How do I measure a cup?", "") if new else self.rng.choice(self._issues[-200:])
        self._command(about, "help")
        return True

    def _mistype(self) -> bool:
        if self._issues:
            self._command(self.rng.choice(self._issues[-50:]), "hlep")
        return bool(self._issues)

    def _ask_where(self) -> bool:
        self._command(self._issue("shown prints no unit", "`shown` should print grams."), "where")
        return True

    # Pull requests.

    def _open_pull(self) -> bool:
        """Every tenth is reviewed on command at once as well, and every tenth pushed to a moment later."""
        if len(self._open) >= MAX_OPEN:
            return False
        repository, number = self.rng.choice(REPOSITORIES), self.acts["open"]
        branch = f"part-{number}"
        self.github.commit(repository, USER, branch, self._part(number))
        wanted = {"head": branch, "base": "main", "title": f"Part {number}", "body": ""}
        made = self.github.act(USER, "POST", f"/repos/{repository}/pulls", **wanted)
        pull = Conversation(repository, int(made["number"]))
        self._open.append(pull)
        self._expect(f"check {pull}")
        commanded = number % 10 == 3
        if commanded:
            self._say(pull, "@apprentice review")
            self._expect(f"answer {pull}", 0, 1)  # that it is closed, where the command comes to its turn later
        if number % 10 == 7:
            self._again.append((pull, branch))
        self._expect(f"summary {pull}", 1, 2 if commanded else 1)
        return True

    def _part(self, number: int) -> dict[str, str]:
        return {f"pantry/part_{number}.py": FINDING.format(number=number)}

    def _push_again(self, pull: Conversation, branch: str) -> None:
        """The head's summary and check run are those that count."""
        self.github.commit(pull.repository, USER, branch, self._part(100_000 + self.acts["push"]))
        self.acts["push"] += 1

    def _reviewed(self) -> tuple[Conversation, HostedPull] | None:
        """One of the open pull requests whose present head has its check run."""
        with self.github.world.lock:
            ready = [(each, pull) for each in self._open if is_checked(pull := self.hosted(each))]
        return self.rng.choice(ready) if ready else None

    def hosted(self, about: Conversation) -> HostedPull:
        found = self.github.world.repository(*about.repository.split("/")).issues[about.number]
        assert isinstance(found, HostedPull), f"{about} is a pull request"
        return found

    def _ask_why(self) -> bool:
        found = self._reviewed()
        if found is not None:
            self._command(found[0], "why")
        return found is not None

    def _remark(self) -> tuple[Conversation, HostedThread] | None:
        """A thread of the first review without a reaction or an answer. A review that GitHub doubled is a later one."""
        found = self._reviewed()
        if found is None:
            return None
        about, pull = found
        first = min((each.review.id for thread in pull.threads for each in thread.comments), default=0)
        new = [each for each in pull.threads if each.id not in self._seen and each.comments[0].review.id == first]
        if not new:
            return None
        self._seen.add(new[0].id)
        return about, new[0]

    def _judge(self) -> bool:
        found = self._remark()
        if found is None:
            return False
        (about, thread), root = found, found[1].comments[0].id
        word = self.rng.choice(("accept", "reject because we want it so"))
        path = f"/repos/{about.repository}/pulls/{about.number}/comments/{root}/replies"
        comment = self.github.act(USER, "POST", path, body=f"@apprentice {word}")
        self._expect(f"receipt {about} {thread.id}")
        self._expect(f"signal comment:{comment['id']}")
        return True

    def _resolve(self) -> bool:
        found = self._remark()
        if found is None:
            return False
        query = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
        self.github.act(USER, "POST", "/graphql", query=query, variables={"id": found[1].node_id})
        self._expect(f"signal thread:{found[1].node_id}")
        return True

    def _close(self) -> bool:
        """React to a remark, then merge or close."""
        found = self._reviewed()
        if found is None or any(found[0] == pull for pull, _ in self._again):
            return False
        about, pull = found
        first = min(
            (each for thread in pull.threads for each in thread.comments), key=lambda each: each.id, default=None
        )
        root = f"/repos/{about.repository}/pulls"
        if first is not None:
            made = self.github.act(USER, "POST", f"{root}/comments/{first.id}/reactions", content="+1")
            self._expect(f"signal reaction:review_comment:{first.id}:{made['id']}")
        if self.rng.random() < 0.5:
            self.github.act(USER, "PUT", f"{root}/{about.number}/merge")
        else:
            self.github.close(pull, USER)
        self._open.remove(about)
        return True


def is_checked(pull: HostedPull) -> bool:
    """Whether the newest head has a check run that ended."""
    return any(each.head_sha == pull.head_sha and each.status == "completed" for each in pull.repository.check_runs)
