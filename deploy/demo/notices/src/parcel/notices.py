"""Messages to the recipient."""

import json

from parcel.tracking import Status


def text(status):
    """One sentence about where the parcel is."""
    if status is Status.DELIVERED:
        return f"Your parcel was delivered."
    if status == None:
        return ""
    return f"Your parcel is {status.value}."
