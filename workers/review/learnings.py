"""What a repository's own file says that was learned, read where its people let it in: on the base branch."""

from __future__ import annotations

from memory.sharing.document import PATH, parse
from memory.sharing.lessons import Learnings
from memory.sharing.strict import BadLearnings
from workers.git import Mirror


def learnings_at(mirror: Mirror, base: str) -> Learnings | None:
    """The learnings at a commit of the base branch, None without a file; raises BadLearnings for one of no use.

    Give no commit of a pull request: whoever opens one would teach by it.
    """
    content = mirror.read(base, PATH)
    if content is None:
        return None
    try:
        return parse(content.decode())
    except UnicodeDecodeError as error:
        raise BadLearnings("the file is not UTF-8; export it again") from error
