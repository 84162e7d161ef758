#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link of every Markdown file leads to something, and every file name in backquotes in docs/ exists.

usage: check_links.py ROOT
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
tracked = subprocess.run(["git", "ls-files", "*.md"], cwd=root, text=True, stdout=subprocess.PIPE, check=False).stdout.split()
pages = [root / name for name in tracked] or [root / "README.md", *root.glob("docs/**/*.md")]
broken = []
for page in pages:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and not (page.parent / target).exists():
            broken.append(f"{page.relative_to(root)}: there is no {target}")
    if page.is_relative_to(root / "docs"):
        for name in re.findall(r"`((?:modules|backends|transport|tests|bench|examples|docs|toolchains)/[\w./-]+)`", text):
            if not (root / name).exists():
                broken.append(f"{page.relative_to(root)}: there is no {name}")
print("\n".join(broken) or f"{len(pages)} pages: every link leads somewhere")
sys.exit(bool(broken))
