#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_commits.py finds long subjects and missing bodies of new commits, and no others."""
import pathlib
import subprocess
import tempfile
import unittest

import check_commits


class CheckCommits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.git("init", "-q")
        self.commit("an old commit whose subject is so long that no line of an editor would ever hold all of it", 1)
        since = self.root / check_commits.SINCE
        since.parent.mkdir()
        since.write_text(self.git("rev-parse", "HEAD"))

    def git(self, *arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", "-C", self.root, *names, *arguments], text=True, stdout=subprocess.PIPE, check=True).stdout

    def commit(self, message, lines):
        (self.root / "file").write_text("".join(f"{message} {i}\n" for i in range(lines)))
        self.git("add", "file")
        self.git("commit", "-q", "-m", message)

    def found(self):
        return list(check_commits.problems(self.root))

    def test_short_subjects_of_small_commits(self):
        self.commit("cluster: servers count pushes", 9)
        self.assertEqual(self.found(), [])

    def test_a_subject_of_73_characters(self):
        self.commit("x" * 72, 1)
        self.commit("y" * 73, 1)
        self.assertEqual(len(self.found()), 1)
        self.assertIn("73 characters", self.found()[0])

    def test_a_large_commit_without_a_body(self):
        self.commit("a large change", 40)
        self.assertIn("no body", self.found()[0])

    def test_a_large_commit_with_a_body(self):
        self.commit("a large change\n\nIt was needed.", 40)
        self.assertEqual(self.found(), [])

    def test_a_history_that_is_not_here(self):
        (self.root / check_commits.SINCE).write_text("0" * 40)
        self.assertEqual(self.found(), [])


if __name__ == "__main__":
    unittest.main()
