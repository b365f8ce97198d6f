"""The App is installed, and has read what became of old findings before it says its first word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories import town as founding
from tests.stories.town import REPOSITORY

pytestmark = pytest.mark.sandbox


def test_the_past_is_read_at_the_installation(tmp_path: Path) -> None:
    """The repository's one commit is read once, however often GitHub tells of the installation."""
    with founding.town(tmp_path, learn_changes=10) as town:
        town.settle()
        walked = town.context.store.past.walked(REPOSITORY)
        assert walked is not None
        assert walked.position == 0
        town.redeliver("installation")
        told = [line for line in town.progress if "past changes" in line]
        assert [line.split(",")[0] for line in told] == [f"{REPOSITORY}: read 1 past changes"]


def test_an_operator_can_do_without(tmp_path: Path) -> None:
    """With none to be read, none is."""
    with founding.town(tmp_path) as town:
        town.settle()
        assert town.context.store.past.walked(REPOSITORY) is None


def test_what_reviewers_suggested_is_known_in_the_next_review(tmp_path: Path) -> None:
    """Two merged suggestions make a convention; a change that goes against it hears of it, once, in the summary."""
    with founding.town(tmp_path, learn_changes=10) as town:
        files = [f"pantry/shelf_{side}.py" for side in ("left", "right")]
        source = "from pantry.units import shown\n\n\ndef text(grams):\n    return str(shown(grams))\n"
        number = town.propose("shelves", dict.fromkeys(files, source))
        said = [
            town.maya.comment_on_line(REPOSITORY, number, path, 5, "```suggestion\n    return shown(grams)\n```")
            for path in files
        ]
        town.finn.apply_suggestions(REPOSITORY, number, *said)
        town.maya.merge(REPOSITORY, number)
        town.settle()
        town.do_again("learn")
        (made,) = town.context.store.past.conventions(REPOSITORY)
        assert (made.before, made.after, made.places) == ("str(shown(grams))", "shown(grams)", 4)
        again = town.propose("again", {"pantry/shelf_middle.py": source})
        (review,) = town.reviews(again)
        assert review.body.count("'str(shown(grams))' was replaced by 'shown(grams)' in 4 places of 2 files here") == 1
        assert all("LRN" not in remark.body for remark in town.remarks(again))
