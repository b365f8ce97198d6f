"""The schema's history. Run by memory.store.schema; a revision, once released, is never edited."""
