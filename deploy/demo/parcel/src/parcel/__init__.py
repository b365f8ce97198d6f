"""Quotes, routes and tracks parcels for a small carrier."""

from parcel.dimensions import Parcel
from parcel.money import Money
from parcel.quotes import Quote, cheapest, quote
from parcel.tracking import Shipment, Status

__all__ = ["Money", "Parcel", "Quote", "Shipment", "Status", "cheapest", "quote"]
