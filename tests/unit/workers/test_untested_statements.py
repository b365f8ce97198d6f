"""Which changed statements a test is expected to run."""

from workers.review.untested import runnable

CODE = '''"""Money."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import decimal


class Money:
    """An amount."""

    amount: int
    unit = "EUR"

    @abstractmethod
    def doubled(self):
        return self

    def halved(self, by=2):
        global halved
        try:
            return (
                self.amount / by
            )
        except ZeroDivisionError:  # pragma: no cover
            return 0
        else:
            pass

    def other(self):
        raise NotImplementedError


def windows():  # pragma: no cover
    return 1


while True:
    if windows():
        break
    else:  # pragma: no cover
        windows()

if __name__ == "__main__":
    windows()
'''


def test_statements_that_tests_are_meant_to_run() -> None:
    """Left out are what compiles to nothing, what is for readers or begins a program, and what coverage.py leaves out."""
    found = runnable(CODE, range(1, 100))
    lines = CODE.splitlines()
    assert [lines[each.start - 1].strip() for each in found] == [
        "from typing import TYPE_CHECKING",
        "class Money:",
        'unit = "EUR"',
        "def halved(self, by=2):",
        "return (",
        "def other(self):",
        "if windows():",
    ]


def test_changed_statements_alone_count() -> None:
    """A statement counts by any of its own lines, and not by those of the blocks in it."""
    start = CODE.splitlines().index("            return (") + 1
    assert [each.start for each in runnable(CODE, {start + 2})] == [start]
    assert runnable("not (python", {1}) == []


def test_deep_code_is_read() -> None:
    """A stranger's thousand branches, or a decorator of a thousand names, end no review."""
    branches = "if a == 0:\n    b()\n" + "".join(f"elif a == {n}:\n    b()\n" for n in range(1, 700))
    assert len(runnable(branches, range(1, 1401))) == 1400
    assert len(runnable(f"@{'a.' * 400}a\ndef f():\n    return 1\n", range(1, 4))) == 2
