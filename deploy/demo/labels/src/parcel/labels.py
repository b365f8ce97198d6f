"""What is printed on a parcel."""

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
    return "\n".join([*heading(number, service), *lines, customs_notice(origin, destination)])
