"""The rule by which past bugs are chosen, written down before any was looked at.

- The repository is one of those in `benchmarks/environments` with its whole history, and no template was developed or
  measured on its past fixes (`cases.json`); or one of HELD_OUT, which were named before any of their past was read
  (`held_out.json`).
- The commit is no merge, not older than SINCE, and its message speaks of a bug (`benchmarks.repair.importers.commits`).
- It changes exactly one file of code, by one line: one line gives way to another, or one is added. Beside that it changes
  tests, at least one file that pytest collects, and nothing else but documentation.
- Some test in a file that the commit touches fails on the parent with the commit's tests, and passes at the commit, in the
  environment that the product makes for the parent without help; these files run within SUITE_SECONDS.
- The newest MOST of each repository; in turn one of each, so that the first so many stand for all. So many commits of one
  are tried at most: MAX_TRIED. Those that match and were never tried are kept to check later.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from benchmarks.repair.importers.commits import Clone, Commit

SINCE = "2020-01-01"
MOST, MAX_TRIED = 3, 5
SUITE_SECONDS = 300.0
DOCUMENTATION, DOCUMENT_FOLDERS = (
    (".md", ".rst", ".txt"),
    {"doc", "docs", "changes", "changelog", "changelog.d", "news"},
)

DEVELOPED_ON = """
arrow astroid attrs babel black boltons bottle cachetools cattrs click dateutil flask httpx humanize isort jedi jinja lark
mako markdown marshmallow mistune more-itertools networkx parse parso peewee pycodestyle pyflakes pygments pylint pytest
python-slugify requests rich scrapy sqlparse tomlkit toolz tqdm wcwidth werkzeug
"""
"""Repositories whose past fixes templates were developed, weighed or measured on."""

HELD_OUT = """
PyCQA/autoflake PyCQA/docformatter Pylons/waitress adrienverge/yamllint agronholm/cbor2 asottile/reorder-python-imports
beetbox/confuse eliben/pycparser facelessuser/pymdown-extensions facelessuser/soupsieve facelessuser/wcmatch google/yapf
h2non/jsonpath-ng hgrecco/pint hhatto/autopep8 jawah/charset_normalizer jendrikseipp/vulture jsonpickle/jsonpickle
kevin1024/vcrpy marshmallow-code/apispec marshmallow-code/webargs maxcountryman/flask-login mkdocstrings/griffe
pdfminer/pdfminer.six pre-commit/identify py-pdf/pypdf pytest-dev/pytest-bdd python-cmd2/cmd2 python-hyper/hyperlink
python-rope/rope python/importlib_metadata rq/rq sloria/environs streamlink/streamlink
"""
"""Repositories on which nothing was developed. The histories of pypdf and streamlink were not whole."""


def clones(directory: Path) -> list[Path]:
    """Those that the rule allows, in the order of their names."""
    found = (path for path in directory.iterdir() if (path / ".git").is_dir())
    return sorted(path for path in found if path.name.rpartition("+")[2].lower() not in DEVELOPED_ON.split())


def candidates(clone: Clone) -> Iterator[Commit]:
    """Commits that the rule takes by what they changed, the newest first. Nothing is run."""
    lines = clone.changed_lines(SINCE)
    for commit in clone.commits():
        if commit.id in lines and commit.says_fix and [commit.changed[path] for path in commit.sources] == ["M"]:
            others = set(commit.changed) - {*commit.sources, *commit.tests}
            if commit.test_modules and all(map(_is_documentation, others)) and _is_one_line(lines[commit.id], commit):
                yield commit


def _is_one_line(changed: dict[str, tuple[int, int]], commit: Commit) -> bool:
    """One added, and one or none taken away."""
    return changed.get(commit.sources[0]) in ((1, 1), (1, 0))


def _is_documentation(path: str) -> bool:
    return path.endswith(DOCUMENTATION) or PurePosixPath(path).parts[0] in DOCUMENT_FOLDERS
