#!/bin/bash
# usage: run.sh install|review   The steps of action.yml. What they work with are variables:
#   install: ACTION_PYTHON ACTION_VERSION
#   review:  ACTION_BASE ACTION_COMMAND ACTION_FAIL_ON ACTION_FIX ACTION_FORMAT ACTION_PROJECT_PYTHON BASE_SHA HEAD_SHA
# Each is data: quoted, checked, and never evaluated.
set -euo pipefail
place=$RUNNER_TEMP/apprentice
apprentice=$place/environment/bin/apprentice
export APPRENTICE_HOME=$place/home APPRENTICE_EMBEDDER=words

refuse() { echo "::error title=Apprentice::$1"; echo "result=cannot-run" >>"$GITHUB_OUTPUT"; exit 2; }
known() { case " $2 " in *" $1 "*) ;; *) refuse "the input $3 is one of: $2" ;; esac; }

install() {
    local wanted=${ACTION_VERSION:-$(cd "$(dirname "$0")/../.." && pwd)}
    # Not a name: the one on the package index is another project.
    [[ -e $wanted && $wanted != -* ]] || refuse "the input version is a wheel or a directory"
    if ! command -v bwrap >/dev/null; then
        sudo --non-interactive apt-get install --quiet --yes bubblewrap ||
            refuse "bubblewrap is not installed, and nothing of a pull request runs without it"
    fi
    # Ubuntu 24.04 keeps users from making namespaces; bubblewrap alone is let through where a profile may be added.
    if [[ -d /etc/apparmor.d ]] && ! bwrap --ro-bind / / --unshare-all true 2>/dev/null; then
        printf 'abi <abi/4.0>,\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\n' |
            sudo --non-interactive tee /etc/apparmor.d/bwrap >/dev/null
        sudo --non-interactive apparmor_parser --replace /etc/apparmor.d/bwrap ||
            refuse "bubblewrap may not make namespaces here, and nothing of a pull request runs without it"
    fi
    mkdir -p "$APPRENTICE_HOME"
    "$ACTION_PYTHON" -m venv "$place/environment"
    "$place/environment/bin/python" -m pip install --quiet --disable-pip-version-check "$wanted[types]"
}

review() {
    known "$ACTION_FAIL_ON" "never tests critical major minor any" fail-on
    known "$ACTION_FIX" "true false" fix
    local format base=${ACTION_BASE:-$BASE_SHA} head=${HEAD_SHA:-HEAD} code=0 patch="" sarif=""
    local formats=${ACTION_FORMAT//,/ }
    for format in $formats; do known "$format" "github sarif text" format; done
    [[ -n $base ]] || refuse "there is no pull request; name the commit that the change starts from: base"
    for each in "$base" "$head"; do
        [[ $each != -* ]] && git cat-file -e "$each^{commit}" 2>/dev/null ||
            refuse "a commit of the change is not in the checkout; give actions/checkout fetch-depth: 0 and the ref of the pull request's head"
    done
    base=$(git merge-base "$base" "$head") || refuse "base and head have no commit in common; give actions/checkout fetch-depth: 0"
    local options
    # On a runner the help has colours, also within the names of options.
    options=$(env -u GITHUB_ACTIONS -u FORCE_COLOR -u PY_COLORS "$apprentice" review --help)
    change=(. --base "$base" --head "$head")
    [[ -z $ACTION_PROJECT_PYTHON ]] || change+=(--python "$ACTION_PROJECT_PYTHON")

    # One review writes every format. What it prints are annotations; without its report of text there is only their reason.
    local given=() text=$place/review.txt annotations=$place/annotations.txt
    rm -f "$text" "$annotations" "$place/review.sarif"
    if [[ $options == *--report* ]]; then
        given=(--fail-on "$ACTION_FAIL_ON" --format github --report "text=$text")
        [[ " $formats " != *" sarif "* ]] || given+=(--report "sarif=$place/review.sarif")
        "$apprentice" review "${change[@]}" "${given[@]}" >"$annotations" || code=$?
    else
        [[ $ACTION_FAIL_ON == tests || $ACTION_FAIL_ON == never ]] ||
            refuse "this version of Apprentice fails on broken tests only; set fail-on to tests or never"
        [[ $formats == text ]] || echo "::warning title=Apprentice::this version writes text only"
        "$apprentice" review "${change[@]}" >"$text" || code=$?
        [[ $ACTION_FAIL_ON != never || $code != 1 ]] || code=0
    fi
    [[ -e $text ]] || cp "$annotations" "$text"
    summary "$code" "$text"

    # Text of others must not give commands to the runner: what is printed here is between two words that it cannot know.
    local stop
    stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$stop"; cat "$text"; echo "::$stop::"
    [[ ! -e $annotations || (" $formats " != *" github "* && $code != 2) ]] || cat "$annotations"
    [[ ! -e $place/review.sarif ]] || sarif=$place/review.sarif
    if [[ $ACTION_FIX == true ]]; then repair; fi
    local names=(passed failed cannot-run)
    { echo "result=${names[$code]:-cannot-run}"; echo "sarif=$sarif"; echo "patch=$patch"; } >>"$GITHUB_OUTPUT"
    exit "$code"
}

# The proven patch of what fails in the checkout, as a file. Its outcome does not change that of the review.
repair() {
    local given=(--json)
    [[ -z $ACTION_COMMAND ]] || given+=(--test-command "$ACTION_COMMAND")
    [[ -z $ACTION_PROJECT_PYTHON ]] || given+=(--python "$ACTION_PROJECT_PYTHON")
    "$apprentice" fix . "${given[@]}" >"$place/fix.json" || true
    "$place/environment/bin/python" -I -c '
import json, sys
from pathlib import Path
found = json.loads(Path(sys.argv[1]).read_text())
if found.get("status") == "fixed" and found.get("patch"):
    Path(sys.argv[2]).write_text(found["patch"])
' "$place/fix.json" "$place/fix.patch" || true
    [[ ! -s $place/fix.patch ]] || { patch=$place/fix.patch; summary 0 "$patch" "A proven fix"; }
}

# Append a text to the page of the run. Arguments: exit code, file, title. Four spaces make each line literal in Markdown.
summary() {
    local verdicts=("passed" "failed" "cannot run")
    { printf '## %s\n\n' "${3:-Apprentice review: ${verdicts[$1]:-cannot run}}"; head -c 500000 "$2" | sed 's/^/    /'; echo; } \
        >>"$GITHUB_STEP_SUMMARY"
}

case ${1-} in
    install) install ;;
    review) review ;;
    *) echo "usage: run.sh install|review" >&2; exit 2 ;;
esac
