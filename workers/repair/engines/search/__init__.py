"""The search engine: edits made from templates, the likeliest first, without a model."""
