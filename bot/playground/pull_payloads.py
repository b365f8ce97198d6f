"""Issues, pull requests, reviews and check runs, as GitHub's JSON shows them. The names are GitHub's schemas."""

import re
from html import escape

from bot.playground.models import (
    REACTIONS,
    HostedAccount,
    HostedCheckRun,
    HostedComment,
    HostedIssue,
    HostedLabel,
    HostedPull,
    HostedReaction,
    HostedRepository,
    HostedReview,
    HostedThread,
    RepositoryRole,
    ReviewComment,
    node_id,
)
from bot.playground.payloads import (
    JsonObject,
    api,
    json_of,
    repository,
    shown,
    user,
    web,
    when,
)
from bot.playground.world import World

_PICTURE = re.compile(r"!\[([^\[\]]*)\]\(([^\s()]+)\)")


# What issues, pull requests and comments share.


def association(author: HostedAccount, repository: HostedRepository) -> str:
    """What the author is to the repository."""
    if author is repository.owner:
        return "OWNER"
    granted = repository.roles.get(author.id, RepositoryRole.NONE)
    return "NONE" if granted is RepositoryRole.NONE else "COLLABORATOR"


def label(world: World, repository: HostedRepository, made: HostedLabel) -> JsonObject:
    url = f"{api(world, repository)}/labels/{made.name}"
    return shown(world, "label", made, url)


def rollup(url: str, reactions: list[HostedReaction]) -> JsonObject:
    """reaction-rollup."""
    counts = {word: sum(1 for each in reactions if each.content == word) for word in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def page(world: World, made: HostedIssue) -> str:
    """The address of its page."""
    return f"{web(world, made.repository)}/{'pull' if isinstance(made, HostedPull) else 'issues'}/{made.number}"


def _conversation(world: World, made: HostedIssue) -> JsonObject:
    """What is computed for an issue and for a pull request."""
    return {
        "author_association": association(made.author, made.repository),
        "labels": [label(world, made.repository, each) for each in made.labels],
    }


# Issues.


def issue(world: World, made: HostedIssue) -> JsonObject:
    """issue; a pull request's conversation too."""
    home, where = api(world, made.repository), page(world, made)
    url = f"{home}/issues/{made.number}"
    computed = {
        **_conversation(world, made),
        "repository_url": home,
        "comments": len(made.comments),
        "reactions": rollup(url, made.reactions),
    }
    if isinstance(made, HostedPull):
        links = shown(world, "pull_links", made, f"{home}/pulls/{made.number}", where)
        computed |= {"draft": made.draft, "pull_request": links}
    return shown(world, "issue", made, url, where, **computed)


def rendered(made: HostedIssue) -> JsonObject:
    """What the media type `full` adds. Of Markdown only pictures are rendered."""
    text = made.body or ""
    parts = (f'<img src="{escape(url)}" alt="{escape(name)}">' for name, url in _PICTURE.findall(text))
    return {"body_html": f"<p>{escape(_PICTURE.sub('', text))}{''.join(parts)}</p>", "body_text": text}


def issue_event(world: World, made: HostedIssue) -> JsonObject:
    """An issue as webhooks carry it: they do not name the account that closed it."""
    return {key: value for key, value in issue(world, made).items() if key != "closed_by"}


def comment(world: World, made: HostedComment) -> JsonObject:
    """issue-comment."""
    home = api(world, made.issue.repository)
    url, where = f"{home}/issues/comments/{made.id}", f"{page(world, made.issue)}#issuecomment-{made.id}"
    computed = {
        "issue_url": f"{home}/issues/{made.issue.number}",
        "author_association": association(made.author, made.issue.repository),
        "reactions": rollup(url, made.reactions),
    }
    return shown(world, "comment", made, url, where, **computed)


# Pull requests.


def _end(world: World, where: HostedRepository, ref: str, sha: str) -> JsonObject:
    there = {**repository(world, where), **shown(world, "pull_end_repository", where)}
    return {
        "label": f"{where.owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(world, where.owner),
        "repo": there if where.id in world.repositories else None,
    }


def simple_pull(world: World, made: HostedPull) -> JsonObject:
    """pull-request-simple: what lists and review events carry."""
    home = api(world, made.repository)
    url = f"{home}/pulls/{made.number}"
    links = {
        "issue": f"{home}/issues/{made.number}",
        "comments": f"{home}/issues/{made.number}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{home}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{home}/statuses/{made.head_sha}",
    }
    hrefs = {"self": url, "html": page(world, made), **links}
    computed = {
        **_conversation(world, made),
        **{f"{name}_url": link for name, link in links.items()},
        "head": _end(world, made.head_repository, made.head_ref, made.head_sha),
        "base": _end(world, made.repository, made.base_ref, made.base_sha),
        "_links": {name: {"href": link} for name, link in hrefs.items()},
    }
    return shown(world, "pull", made, url, page(world, made), **computed)


def full_pull(world: World, made: HostedPull) -> JsonObject:
    """pull-request, with what only git knows."""
    bare = made.repository.git
    start = bare.merge_base(made.base_sha, made.head_sha) or made.base_sha
    files = bare.file_sizes(start, made.head_sha)
    mergeable = None if made.state == "closed" else bare.merged_tree(made.base_sha, made.head_sha) is not None
    state = "unknown" if mergeable is None else "draft" if made.draft else "clean" if mergeable else "dirty"
    return {
        **simple_pull(world, made),
        "merged": made.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": state,
        "merged_by": json_of(world, made.merged_by),
        "comments": len(made.comments),
        "review_comments": sum(len(thread.comments) for thread in made.threads),
        "maintainer_can_modify": made.head_repository is not made.repository,
        "commits": bare.count(start, made.head_sha),
        "additions": sum(added for added, _removed in files),
        "deletions": sum(removed for _added, removed in files),
        "changed_files": len(files),
    }


# Reviews.


def review(world: World, made: HostedReview) -> JsonObject:
    """pull-request-review."""
    where = f"{page(world, made.pull)}#pullrequestreview-{made.id}"
    url = f"{api(world, made.pull.repository)}/pulls/{made.pull.number}"
    computed = {
        "author_association": association(made.author, made.pull.repository),
        "_links": {"html": {"href": where}, "pull_request": {"href": url}},
    }
    return shown(world, "review", made, url, where, **computed)


def review_event(world: World, made: HostedReview) -> JsonObject:
    """A review as webhooks carry it: the state in small letters, null for an empty body."""
    changed = {"body": made.body or None, "state": made.state.lower(), "updated_at": when(made.submitted_at)}
    return {**review(world, made), **changed}


def review_comment(world: World, made: ReviewComment) -> JsonObject:
    """pull-request-review-comment."""
    pull = made.thread.pull
    url = f"{api(world, pull.repository)}/pulls/comments/{made.id}"
    above = f"{api(world, pull.repository)}/pulls/{pull.number}"
    where = f"{page(world, pull)}#discussion_r{made.id}"
    computed = {
        **({"in_reply_to_id": made.reply_to} if made.reply_to else {}),
        "pull_request_url": above,
        "author_association": association(made.author, pull.repository),
        "_links": {"self": {"href": url}, "html": {"href": where}, "pull_request": {"href": above}},
        "reactions": rollup(url, made.reactions),
        "start_side": "RIGHT" if made.original.start_line is not None else None,
    }
    return shown(world, "review_comment", made, url, where, **computed)


def thread(world: World, made: HostedThread) -> JsonObject:
    """A thread as webhooks carry it."""
    return {"node_id": made.node_id, "comments": [review_comment(world, each) for each in made.comments]}


# Check runs.


def check_run(world: World, made: HostedCheckRun) -> JsonObject:
    url = f"{api(world, made.repository)}/check-runs/{made.id}"
    computed = {
        "output": shown(world, "check_output", made, url, annotations_count=len(made.annotations)),
        "check_suite": {"id": made.suite_id},
        "pull_requests": _checked_pulls(world, made),
    }
    return shown(world, "check_run", made, url, f"{web(world, made.repository)}/runs/{made.id}", **computed)


def check_run_event(world: World, made: HostedCheckRun) -> JsonObject:
    """A check run as webhooks carry it: with its suite."""
    computed = {
        "node_id": node_id("CS", made.suite_id),
        "pull_requests": _checked_pulls(world, made),
        "updated_at": when(made.completed_at or made.started_at),
    }
    url = f"{api(world, made.repository)}/check-suites/{made.suite_id}"
    suite = shown(world, "check_suite", made, url, **computed)
    return {**check_run(world, made), "check_suite": suite}


def _checked_pulls(world: World, made: HostedCheckRun) -> list[JsonObject]:
    """Open pull requests of this repository whose head is the checked commit."""

    def end(where: HostedRepository, ref: str, sha: str) -> JsonObject:
        return {"ref": ref, "sha": sha, "repo": {"id": where.id, "url": api(world, where), "name": where.name}}

    return [
        {
            "id": pull.pull_id,
            "number": pull.number,
            "url": f"{api(world, pull.repository)}/pulls/{pull.number}",
            "head": end(pull.head_repository, pull.head_ref, pull.head_sha),
            "base": end(pull.repository, pull.base_ref, pull.base_sha),
        }
        for pull in made.repository.pulls()
        if pull.state == "open" and pull.head_sha == made.head_sha
    ]
