"""What can go wrong with the store; each text is one clear line."""


class StoreError(Exception):
    """The store cannot do what was asked: the URL, the schema or the data is wrong. Trying again does not help."""


class StoreUnavailable(StoreError):
    """The database is busy or gone for the moment: the same call may work later."""
