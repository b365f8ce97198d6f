"""FIXME: say what stands here."""
