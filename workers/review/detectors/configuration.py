"""Mistakes in `.github/apprentice.yml` that a change adds: they are named before the merge gives them an effect. Pure."""

from collections.abc import Iterator, Sequence

from memory.model import Severity
from workers.configuration.reading import read_configuration
from workers.configuration.schema import PATH
from workers.review.detectors.detector import Category, Delta, Detection, RawFinding, by_file

MISTAKE = "CFG001"


class RepositoryFile:
    """Reads the file as a change leaves it."""

    name = "configuration"

    def reads(self, path: str) -> bool:
        return path == PATH

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        def read(path: str) -> Iterator[RawFinding]:
            for mistake in read_configuration(delta.head.sources[path].encode()).mistakes:
                if mistake.line in delta.added.get(path, frozenset()):
                    yield RawFinding(
                        path=path,
                        line=mistake.line,
                        end_line=mistake.line,
                        column=mistake.column,
                        tool=self.name,
                        rule=MISTAKE,
                        category=Category.CORRECTNESS,
                        severity=Severity.MAJOR,
                        message=mistake.text,
                    )

        return by_file([path for path in paths if self.reads(path)], read)
