"""`python -m bot.cli`."""

from __future__ import annotations

from bot.cli.main import main

main()
