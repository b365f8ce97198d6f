"""The `apprentice` command. Its modules import the standard library, typer and rich alone until a command runs."""
