"""The code blocks of a Markdown file, by language. As a program: readme.py FILE LANGUAGE prints them."""
import pathlib
import re
import sys


def code_blocks(path, language):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not blocks:
        sys.exit(f"{path} has no block of {language}; did its form change?")
    return blocks


if __name__ == "__main__":
    print("\n".join(code_blocks(sys.argv[1], sys.argv[2])), end="")
