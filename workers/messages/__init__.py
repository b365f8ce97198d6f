"""Every sentence that users read on GitHub. Pure: values in, Markdown out.

All quoted text is untrusted, so it goes through `code`, `name`, `plain` or `words`. They keep it from mentioning users,
closing issues, running slash commands or breaking out of its place.
"""
