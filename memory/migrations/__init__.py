"""The schema's history. Run by memory.store; a revision, once released, is never edited."""
