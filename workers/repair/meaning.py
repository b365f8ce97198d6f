"""What a region's text compiles to: edits that compile to the same are one candidate."""

from __future__ import annotations

import warnings
from types import CodeType

from workers.repair.region import Region


def meaning(region: Region, data: bytes) -> object:
    """What a region's text compiles to; None if it does not, or if the compiler warns of it as it did not before."""
    flags = region.module.futures
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if region.warned else "error")
        try:
            return fingerprint(compile(data, "region", "exec", flags=flags, dont_inherit=True, optimize=0))
        except (SyntaxError, SyntaxWarning, DeprecationWarning, ValueError, OverflowError, RecursionError, MemoryError):
            return None


def fingerprint(code: CodeType) -> object:
    """What a code object does, without where its lines are: equal for texts that compile to the same."""
    constants = tuple(fingerprint(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return code.co_name, code.co_code, constants, names, arguments, code.co_exceptiontable
