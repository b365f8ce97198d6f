"""Every sentence that people read on GitHub. Pure: values in, Markdown out.

Whatever is quoted here was written by somebody else, so it goes through `code`, `name`, `plain` or `words`, which keep
it from mentioning people, closing issues, running slash commands or breaking out of its place.
"""
