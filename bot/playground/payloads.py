"""What the playground holds, as GitHub's JSON shows it. The names are GitHub's schemas."""

import re
from datetime import datetime
from functools import cache
from html import escape
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

import yaml

from bot.playground.git import CommitInfo, GitIdentity
from bot.playground.models import (
    REACTIONS,
    App,
    HostedAccount,
    HostedCheckRun,
    HostedComment,
    HostedInstallation,
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
from bot.playground.world import World

JsonObject = dict[str, object]
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\(([^\s()]+)\)")


@cache
def _known_fields() -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = yaml.safe_load(Path(__file__).with_name("payload_fields.yaml").read_text())
    return found


def shown(world: World, kind: str, made: object, api: str = "", page: str = "", /, **computed: object) -> JsonObject:
    """The fields of payload_fields.yaml for this kind of object, at its address in the API and that of its page."""

    def value_of(value: object) -> object:
        match value:
            case str() if value.startswith("="):
                return json_of(world, attrgetter(value[1:])(made))
            case str() if value.startswith("+"):
                return api + value[1:]
            case str() if value.startswith("@"):
                return page + value[1:]
            case _:
                return value

    return {name: value_of(value) for name, value in _known_fields()[kind].items()} | computed


def json_of(world: World, value: object) -> object:
    """An attribute's value as GitHub shows it."""
    match value:
        case datetime():
            return when(value)
        case HostedAccount():
            return user(world, value)
        case App():
            return app(world, value)
        case list() | tuple():
            return [json_of(world, each) for each in value]
        case _:
            return value


def when(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def user(world: World, account: HostedAccount) -> JsonObject:
    """simple-user."""
    home, page = world.base_url, f"apps/{account.app_slug}" if account.app_slug else account.login
    return shown(world, "user", account, f"{home}/users/{quote(account.login)}", f"{home}/{page}")


def app(world: World, made: App) -> JsonObject:
    """integration."""
    return shown(world, "app", made, "", f"{world.base_url}/apps/{made.slug}")


def installation(world: World, made: HostedInstallation) -> JsonObject:
    home = world.base_url
    api, page = f"{home}/app/installations/{made.id}", f"{home}/settings/installations/{made.id}"
    return shown(world, "installation", made, api, page, repositories_url=f"{home}/installation/repositories")


# Repositories and roles.


def api(world: World, repository: HostedRepository) -> str:
    """The repository's address in the API."""
    return f"{world.base_url}/repos/{repository.full_name}"


def web(world: World, repository: HostedRepository) -> str:
    """The repository's page."""
    return f"{world.base_url}/{repository.full_name}"


def permissions(role: RepositoryRole) -> JsonObject:
    """A role as the five switches that GitHub shows."""
    switches = {"admin": "ADMIN", "maintain": "MAINTAIN", "push": "WRITE", "triage": "TRIAGE", "pull": "READ"}
    return {name: role >= RepositoryRole[needed] for name, needed in switches.items()}


def repository(world: World, made: HostedRepository) -> JsonObject:
    """repository, as other objects and webhooks carry it."""
    computed = {"fork": made.parent is not None, "visibility": "private" if made.private else "public"}
    return shown(world, "repository", made, api(world, made), web(world, made), **computed)


# What git holds.


def _signature(identity: GitIdentity, at: datetime) -> JsonObject:
    return {"name": identity.name, "email": identity.email, "date": when(at)}


def commit(world: World, made: HostedRepository, info: CommitInfo) -> JsonObject:
    """commit, without its files."""
    home, page = f"{api(world, made)}/commits", f"{web(world, made)}/commit"
    identified = {
        "author": _signature(info.author, info.authored_at),
        "committer": _signature(info.committer, info.committed_at),
        "message": info.message,
        "tree": {"sha": info.tree, "url": f"{api(world, made)}/git/trees/{info.tree}"},
        "url": f"{api(world, made)}/git/commits/{info.sha}",
        "comment_count": 0,
        "verification": shown(world, "verification", info),
    }
    computed = {
        "node_id": f"C_{node_id('', made.id)[1:]}{info.sha[:12]}",
        "commit": identified,
        "parents": [{"sha": sha, "url": f"{home}/{sha}", "html_url": f"{page}/{sha}"} for sha in info.parents],
    }
    return shown(world, "commit", info, f"{home}/{info.sha}", f"{page}/{info.sha}", **computed)


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
    home, html_url = api(world, made.repository), page(world, made)
    url = f"{home}/issues/{made.number}"
    computed = {
        **_conversation(world, made),
        "repository_url": home,
        "comments": len(made.comments),
        "reactions": rollup(url, made.reactions),
    }
    if isinstance(made, HostedPull):
        links = shown(world, "pull_links", made, f"{home}/pulls/{made.number}", html_url)
        computed |= {"draft": made.draft, "pull_request": links}
    return shown(world, "issue", made, url, html_url, **computed)


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
    url, html_url = f"{home}/issues/comments/{made.id}", f"{page(world, made.issue)}#issuecomment-{made.id}"
    computed = {
        "issue_url": f"{home}/issues/{made.issue.number}",
        "author_association": association(made.author, made.issue.repository),
        "reactions": rollup(url, made.reactions),
    }
    return shown(world, "comment", made, url, html_url, **computed)


# Pull requests.


def _end(world: World, repo: HostedRepository, ref: str, sha: str) -> JsonObject:
    there = {**repository(world, repo), **shown(world, "pull_end_repository", repo)}
    return {
        "label": f"{repo.owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(world, repo.owner),
        "repo": there if repo.id in world.repositories else None,
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
    html_url = f"{page(world, made.pull)}#pullrequestreview-{made.id}"
    url = f"{api(world, made.pull.repository)}/pulls/{made.pull.number}"
    computed = {
        "author_association": association(made.author, made.pull.repository),
        "_links": {"html": {"href": html_url}, "pull_request": {"href": url}},
    }
    return shown(world, "review", made, url, html_url, **computed)


def review_event(world: World, made: HostedReview) -> JsonObject:
    """A review as webhooks carry it: the state in small letters, null for an empty body."""
    changed = {"body": made.body or None, "state": made.state.lower(), "updated_at": when(made.submitted_at)}
    return {**review(world, made), **changed}


def review_comment(world: World, made: ReviewComment) -> JsonObject:
    """pull-request-review-comment."""
    pull = made.thread.pull
    url = f"{api(world, pull.repository)}/pulls/comments/{made.id}"
    above = f"{api(world, pull.repository)}/pulls/{pull.number}"
    html_url = f"{page(world, pull)}#discussion_r{made.id}"
    computed = {
        **({"in_reply_to_id": made.reply_to} if made.reply_to else {}),
        "pull_request_url": above,
        "author_association": association(made.author, pull.repository),
        "_links": {"self": {"href": url}, "html": {"href": html_url}, "pull_request": {"href": above}},
        "reactions": rollup(url, made.reactions),
        "start_side": "RIGHT" if made.original.start_line is not None else None,
    }
    return shown(world, "review_comment", made, url, html_url, **computed)


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

    def end(repo: HostedRepository, ref: str, sha: str) -> JsonObject:
        return {"ref": ref, "sha": sha, "repo": {"id": repo.id, "url": api(world, repo), "name": repo.name}}

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
