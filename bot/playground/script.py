"""The demo's script: what its people write. Nothing of it is known to the product."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).parent / "projects" / "parcel"
OWNER = "parcelworks"
REPOSITORY = f"{OWNER}/parcel"
MAINTAINER = "maya"
CONTRIBUTOR = "finn"

FIRST_ISSUE = (
    "A parcel of exactly 500 g is charged as a heavier one",
    """The tariff says "up to 500 g", but the next band is charged.

```python
from parcel.tariff import band


def test_a_band_includes_its_limit():
    assert band(500) == 0
    assert band(31_500) == 6
```
""",
)

FIRST_REMEDY = "+        if weight_g <= limit:"
"""What the maintainer would have written, and merges; a patch that merely passes the tests is not enough for the story."""

SECOND_BUG = ("src/parcel/dimensions.py", "inner <= outer", "inner < outer", "Compare edges strictly")
SECOND_ISSUE = (
    "A box does not fit into one of its own size",
    """Since the last change. It should: the edges may touch.

```python
from parcel.dimensions import Parcel


def test_a_box_fits_into_one_of_its_own_size():
    box = Parcel(500, 300, 200, 100)
    assert box.fits(box)
```
""",
)

SECOND_REMEDY = "+        return all(inner <= outer for inner, outer in zip(mine, theirs))"

LABELS = {
    "src/parcel/labels.py": '''"""What is printed on a parcel."""

import textwrap

from parcel.zones import needs_customs

WIDTH = 32


def heading(number, service):
    """The first two lines of a label."""
    title = f"PARCEL"
    return [title, f"{number} {service.upper()}"]


def address(name, street, city, country, extra=[]):
    """The lines of an address, at most WIDTH wide."""
    lines = [name, street, *extra, city, country]
    return [line[:WIDTH] for line in lines if line != None]


def customs_notice(origin, destination):
    """What customs wants to read."""
    if needs_customs(origin, destination):
        return f"CUSTOMS DECLARATION ENCLOSED"
    return f"NO CUSTOMS"


def label(number, service, lines, origin, destination):
    """The whole label as text."""
    return "\\n".join([*heading(number, service), *lines, customs_notice(origin, destination)])
''',
    "tests/test_labels.py": """from parcel.labels import WIDTH, address, customs_notice, heading, label


def test_heading_names_the_service():
    assert heading("P7", "express") == ["PARCEL", "P7 EXPRESS"]


def test_address_leaves_out_what_is_missing():
    assert address("A. Lind", "Hafen 1", None, "NO") == ["A. Lind", "Hafen 1", "NO"]
    assert address("A" * 40, "Hafen 1", "Oslo", "NO", ["c/o B"])[0] == "A" * WIDTH


def test_customs_only_across_the_border():
    assert customs_notice("DE", "NO") == "CUSTOMS DECLARATION ENCLOSED"
    assert customs_notice("DE", "AT") == "NO CUSTOMS"


def test_label_in_order():
    assert label("P7", "express", ["Oslo"], "DE", "NO").splitlines()[-2:] == ["Oslo", "CUSTOMS DECLARATION ENCLOSED"]
""",
}

NOTICES = {
    "src/parcel/notices.py": '''"""What the recipient is told."""

import json

from parcel.tracking import Status


def text(status):
    """One sentence about where the parcel is."""
    if status is Status.DELIVERED:
        return f"Your parcel was delivered."
    if status == None:
        return ""
    return f"Your parcel is {status.value}."
''',
    "tests/test_notices.py": """from parcel.notices import text
from parcel.tracking import Status


def test_delivered():
    assert text(Status.DELIVERED) == "Your parcel was delivered."


def test_under_way():
    assert text(Status.IN_TRANSIT) == "Your parcel is in transit."


def test_nothing_known():
    assert text(None) == ""
""",
}

REJECTED_RULE = "F541"
REJECTION = "@apprentice reject because we mark every user-visible text with an f, for the translators"
APPLIED_RULE = "E711"
LIKED_RULE = "B006"
