"""The texts and files of the demo's users. The product knows none of them."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).parent / "projects" / "parcel"
OWNER = "parcelworks"
REPOSITORY = f"{OWNER}/parcel"
MAINTAINER = "maya"
CONTRIBUTOR = "finn"

FIRST_ISSUE = (
    "A country is not found when there is a space before it",
    """People write "de, fr", and then FR is not among the countries.

```python
from parcel.zones import countries


def test_spaces_around_a_country_do_not_matter():
    assert countries("de, fr ,it") == {"DE", "FR", "IT"}
```
""",
)

FIRST_REMEDY = (
    '+    return {code.strip().upper() for code in text.split(",")}',
    '+    return {code.upper().strip() for code in text.split(",")}',
)
"""What the maintainer would have written, and merges; a patch that merely passes the tests is not enough for the story."""

SECOND_BUG = ("src/parcel/money.py", "text.strip().partition", "text.partition", "Read amounts as they are")
SECOND_ISSUE = (
    "An amount with a space around it is refused",
    """Since the last change. Ours come from a spreadsheet, which pads them.

```python
from parcel.money import Money


def test_spaces_around_an_amount_do_not_matter():
    assert Money.parse(" 12.50 ").cents == 1250
```
""",
)

SECOND_REMEDY = ('+        whole, _, fraction = text.strip().partition(".")',)

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
    "src/parcel/notices.py": '''"""Messages to the recipient."""

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
