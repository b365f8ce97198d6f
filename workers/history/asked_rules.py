"""Which findings of a history a review of the repository would report now: by its configuration, as ruff itself reads it."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import PastFinding
from workers.configuration.reading import configuration_of, read_configuration
from workers.configuration.schema import NOTHING_CHOSEN, PATH, RepositoryConfiguration
from workers.ports import Sandbox
from workers.review.detectors.detector import Category
from workers.review.detectors.linters import Ruff, rule_codes
from workers.review.detectors.rules import BANDIT_SKIP, SYNTAX_ERROR, is_of, is_wanted, ruff_equivalent
from workers.review.project_options import RUFF_FILES, RuffOptions, ruff_options


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRules:
    """The rules of ruff that reviews of a repository ask for, the options that say so, and the names of all rules by code.

    `configuration` is the repository's own.
    """

    asked: AbstractSet[str]
    options: RuffOptions
    names: Mapping[str, str]
    configuration: RepositoryConfiguration = NOTHING_CHOSEN

    def name(self, rule: str) -> str:
        """The rule in words; empty where ruff has none."""
        return self.names.get(ruff_equivalent(rule) if rule not in self.names else rule, "")

    def reported(self, past: PastFinding) -> PastFinding | None:
        """The finding as a review now would report it; None where it would not.

        Bandit reports the holes that a repository does not ask ruff for.
        """
        rule, tool = past.rule, past.tool
        if tool == "ruff" and rule not in self.asked and rule != SYNTAX_ERROR:
            if not is_of(rule, "S"):
                return None
            rule, tool = f"B{rule[1:]}", "bandit"
        ignored = tool == "ruff" and self.options.is_ignored(rule, past.path)
        if (
            ignored
            or (tool == "bandit" and rule in BANDIT_SKIP)
            or not is_wanted(past.rule, past.path, Category(past.category))
        ):
            return None
        return self.configuration.kept(replace(past, rule=rule, tool=tool))


def asked_rules(read: Callable[[str], bytes | None], sandbox: Sandbox) -> AskedRules:
    """Those of the configuration that `read` gives, by the names of its files; raises DetectorFailed."""
    with TemporaryDirectory(prefix="apprentice-rules-") as folder:
        for name in RUFF_FILES:
            if (content := read(name)) is not None:
                (Path(folder) / name).write_bytes(content)
        options = ruff_options(Path(folder), partial(rule_codes, sandbox))
    asked, names = Ruff(sandbox, options).rules(), Ruff(sandbox, everything=True).rules()
    configuration = configuration_of([read_configuration(read(PATH) or b"")])
    return AskedRules(asked=asked.keys(), options=options, names=names | asked, configuration=configuration)
