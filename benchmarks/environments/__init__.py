"""How many strangers' repositories can be tested in an environment that was made without a person."""
