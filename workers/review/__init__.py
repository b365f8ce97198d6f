"""Reads a change: detectors, findings that keep their identity, suggestions that were tried."""
