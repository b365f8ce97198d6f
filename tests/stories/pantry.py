"""The repository of the stories: a small project in several modules whose suite is green and quick."""

from __future__ import annotations

from tests.projects import PYPROJECT

UNITS = '''"""Amounts as cooks write them."""

from __future__ import annotations

GRAMS = {"g": 1, "kg": 1000, "oz": 28}


def grams(text):
    """`text` ("2 kg", "500g") in grams."""
    digits = "".join(letter for letter in text if letter.isdigit())
    unit = text[len(digits):].strip()
    if unit not in GRAMS:
        raise ValueError(f"unknown unit in {text!r}")
    return int(digits) * GRAMS[unit]


def shown(amount):
    """Grams as people read them."""
    if amount >= 1000:
        return f"{amount / 1000:g} kg"
    return f"{amount} g"
'''

SHELF = '''"""What there is, and how much of it."""

from __future__ import annotations

from pantry.units import grams, shown


class Shelf:
    """Amounts in grams, by name."""

    def __init__(self):
        self.held = {}

    def add(self, name, text):
        """Put something on the shelf."""
        self.held[name] = self.amount(name) + grams(text)

    def amount(self, name):
        """How much there is of it."""
        return self.held.get(name, 0)

    def take(self, name, text):
        """Take something off the shelf."""
        wanted = grams(text)
        if wanted >= self.amount(name):
            raise ValueError(f"only {shown(self.amount(name))} of {name}")
        self.held[name] -= wanted

    def missing(self, recipe):
        """What has to be bought for a recipe: name to grams."""
        lacking = {name: need - self.amount(name) for name, need in recipe.needs.items()}
        return {name: amount for name, amount in lacking.items() if amount > 0}
'''

RECIPES = '''"""What to do with it."""

from __future__ import annotations

from pantry.units import grams


class Recipe:
    """Names to grams, for some people."""

    def __init__(self, people, **needs):
        self.people = people
        self.needs = {name: grams(text) for name, text in needs.items()}

    def scaled(self, people):
        """The same for others."""
        other = Recipe(people)
        other.needs = {name: need * people // self.people for name, need in self.needs.items()}
        return other

    def heaviest(self):
        """The name of what it needs most of."""
        return max(self.needs, key=self.needs.get)
'''

FILES = {
    "README.md": "# Pantry\n",
    "pyproject.toml": PYPROJECT,
    "pantry/__init__.py": "",
    "pantry/units.py": UNITS,
    "pantry/shelf.py": SHELF,
    "pantry/recipes.py": RECIPES,
    "tests/test_units.py": """import pytest

from pantry.units import grams, shown


@pytest.mark.parametrize(("text", "expected"), [("2 kg", 2000), ("500g", 500), ("3 oz", 84)])
def test_grams(text, expected):
    assert grams(text) == expected


def test_unknown_unit():
    with pytest.raises(ValueError, match="unknown unit"):
        grams("2 cups")


def test_shown():
    assert [shown(999), shown(1000), shown(1500)] == ["999 g", "1 kg", "1.5 kg"]
""",
    "tests/test_shelf.py": """import pytest

from pantry.recipes import Recipe
from pantry.shelf import Shelf


@pytest.fixture
def shelf():
    shelf = Shelf()
    shelf.add("rice", "2 kg")
    return shelf


def test_take(shelf):
    shelf.take("rice", "500 g")
    assert shelf.amount("rice") == 1500


def test_too_much(shelf):
    with pytest.raises(ValueError, match="only 2 kg of rice"):
        shelf.take("rice", "3 kg")


def test_missing(shelf):
    assert shelf.missing(Recipe(2, rice="3 kg", salt="5 g")) == {"rice": 1000, "salt": 5}
""",
    "tests/test_recipes.py": """from pantry.recipes import Recipe


def test_scaled():
    assert Recipe(2, rice="300 g").scaled(6).needs == {"rice": 900}


def test_heaviest():
    assert Recipe(2, rice="300 g", salt="5 g").heaviest() == "rice"
""",
}

BUG = """The last of it cannot be taken from the shelf.

```python
from pantry.shelf import Shelf


def test_everything_can_be_taken():
    shelf = Shelf()
    shelf.add("rice", "500 g")
    shelf.take("rice", "500 g")
    assert shelf.amount("rice") == 0
```
"""
"""An issue's text: it brings a test that fails, for `take` refuses to give the last of anything."""
