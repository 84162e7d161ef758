#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_licences.py finds what it is for."""
import pathlib
import tempfile
import unittest

import check_licences

LINE = "SPDX-License-Identifier: Apache-2.0"
RIGHT = {
    "a.cc": f"// {LINE}\nint a;\n",
    "modules/b.py": f"#!/usr/bin/env python3\n# {LINE}\n",
    "tool": f"#!/bin/sh\n# {LINE}\n",
    "README.md": "A text.\n",
    "tests/fuzz/corpus/x/seed.h": "what a fuzzer found\n",
    "build-dev/generated.h": "int c;\n",
    "data": "no script\n",
}
WRONG = {
    "modules/late.h": f"#pragma once\n\n// {LINE}\n",
    "modules/other.cc": "// SPDX-License-Identifier: MIT\n",
    "modules/none/CMakeLists.txt": "project(x)\n",
    "dev": "#!/bin/sh\n",
}


class CheckLicences(unittest.TestCase):
    def breaches(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return [line.split(":")[0] for line in check_licences.breaches(root)]

    def test_what_says_its_licence_is_right(self):
        self.assertEqual(self.breaches(RIGHT), [])

    def test_each_file_without_its_line_is_found(self):
        self.assertEqual(sorted(self.breaches({**RIGHT, **WRONG})), sorted(WRONG))


if __name__ == "__main__":
    unittest.main()
