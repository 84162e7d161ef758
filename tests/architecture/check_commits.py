#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Subjects of commits fit into a line, and larger commits say why they were made.

usage: check_commits.py ROOT

Looks at the commits behind the one that .ci/commits_checked_since names. Without git, or where that commit is not there (an archive of
the sources, a clone without history), nothing is looked at.
"""
import pathlib
import subprocess
import sys

SUBJECT_MAX = 72
LINES_WITHOUT_BODY_MAX = 30
SINCE = ".ci/commits_checked_since"


def git(root, *arguments):
    """What git prints; None where it fails or is not there."""
    try:
        ended = subprocess.run(["git", "-C", root, *arguments], text=True, errors="replace", stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=60, check=False)
    except OSError:
        return None
    return ended.stdout if ended.returncode == 0 else None


def changed_lines(root, commit):
    lines = (git(root, "show", "--numstat", "--format=", commit) or "").splitlines()
    return sum(int(count) for line in lines for count in line.split("\t")[:2] if count.isdigit())


def commit_problems(root, commit):
    subject, _, body = (git(root, "show", "--no-patch", "--format=%B", commit) or "").strip().partition("\n")
    short = commit[:10]
    if len(subject) > SUBJECT_MAX:
        yield f"{short}: the subject has {len(subject)} characters, {SUBJECT_MAX} at most: {subject}"
    lines = changed_lines(root, commit)
    if lines > LINES_WITHOUT_BODY_MAX and not body.strip():
        yield f"{short}: {lines} changed lines and no body; say why it was made, and what was measured: {subject}"


def problems(root):
    since = (pathlib.Path(root) / SINCE).read_text(encoding="utf-8").strip()
    commits = git(root, "rev-list", "--no-merges", f"{since}..HEAD")
    if commits is None:
        print(f"the history since {since[:10]} is not here; no commit is looked at")
        return
    for commit in commits.split():
        yield from commit_problems(root, commit)


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or "subjects are short, and larger commits have a body")
    sys.exit(bool(found))
