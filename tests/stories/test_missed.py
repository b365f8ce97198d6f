"""What an earlier round could have said is said late, with an admission; what a push brought about is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.stories import town as founding
from tests.stories.town import Town, readable
from workers.setting_types import ReviewTool

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

LENS = """import json, sys
from pathlib import Path
for path in sys.argv[1:]:
    for number, line in enumerate(open(path), 1):
        if "TODO" in line and (Path(__file__).parent / "learned").exists():
            at = {"start": {"line": number}, "end": {"line": number}}
            print(json.dumps({"message": "left over", "location": {"path": path, "range": at}, "severity": "WARNING",
                              "code": {"value": "TODO"}}))
"""
BROKEN = 'def empty():\n    return f"empty"\n\n\ndef broken(:\n    pass\n'
USED = 'import os\n\n\ndef here():\n    """Where we are."""\n    return os.getcwd()\n'


def _said_last(town: Town, number: int) -> str:
    return readable(town.reviews(number)[-1].body)


def test_a_tool_that_learned(tmp_path: Path) -> None:
    """A tool sees today what it did not see in the review before, on lines that nobody touched: that is admitted."""
    lens = tmp_path / "tools" / "lens.py"
    lens.parent.mkdir()
    lens.write_text(LENS)
    tool = ReviewTool(
        name="lens", command=("python", "-I", str(lens)), format="rdjsonl", files=("*.js",), show=(lens.parent,)
    )
    with founding.town(tmp_path / "town", review_tools=(tool,)) as town:
        number = town.propose("app", {"app.js": "// TODO\n"})
        assert town.remarks(number) == []
        (lens.parent / "learned").touch()
        head = town.maya.pull(founding.REPOSITORY, number).head_sha
        town.push("app", {"more.js": "// TODO\n"})
        (review,) = town.reviews(number)
        assert readable(review.body).replace(head[:7], "<sha7>") == snapshot("""\
Reviewed <id>: no new comment beside the code.

**Also seen**

- `app.js:1` **lens TODO** left over (missed in the review of <sha7>)
- `more.js:1` **lens TODO** left over

1 finding missed in an earlier round.
<!-- marker -->\
""")
        assert [each.missed_in for each in town.sightings(number)] == [head, ""]


def test_a_file_that_could_not_be_read(town: Town) -> None:
    """Where the file was not read in the review before, that is said as the reason, and counted all the same."""
    number = town.propose("broken", {"pantry/broken.py": BROKEN})
    town.push("broken", {"pantry/broken.py": BROKEN.replace("(:", "():")})
    late = [each for each in town.remarks(number) if "missed" in each.body]
    assert [readable(each.body).replace(town.sightings(number)[0].sha[:7], "<sha7>") for each in late] == snapshot(
        [
            """\
**F541** (info, style): f-string without any placeholders

```suggestion
    return "empty"
```
<sub>Applied and tested: 10 tests passed before and after (`python -m pytest`).</sub>

<sub>missed in the review of <sha7>, where this file was not fully read · `@apprentice why <id>`</sub>
<!-- marker -->\
"""
        ]
    )
    assert "missed in an earlier round" in _said_last(town, number)


def test_what_a_push_brought_about(town: Town) -> None:
    """An import that lost its last use stands on an old line, and nobody could have said so before."""
    number = town.propose("here", {"pantry/here.py": USED})
    town.push("here", {"pantry/here.py": USED.replace("os.getcwd()", '"here"')})
    assert "F401" in " ".join(each.body for each in [*town.reviews(number), *town.remarks(number)])
    assert not [each for each in [*town.reviews(number), *town.remarks(number)] if "missed" in each.body]
