"""`python -m bot.cli`."""

from bot.cli.main import main

main()
