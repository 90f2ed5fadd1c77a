#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""What seeded.py says of tests that catch a mistake, miss it, or fail without one: by scripts in
the place of the programs."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from mistakes import MISTAKES  # noqa: E402

PROGRAM = "amo"
N_MISTAKES = sum(mistake[4] == PROGRAM for mistake in MISTAKES)


def run(script):
    """seeded.py's status and output, with this shell script as the program; None: there is none."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "seeded_" + PROGRAM)
        if script is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, 0o755)
        done = subprocess.run([sys.executable, os.path.join(HERE, "seeded.py"), "run", directory,
                               PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, encoding="utf-8")
    return done.returncode, done.stdout


class Tool(unittest.TestCase):
    def test_caught(self):
        status, output = run('[ "$SEEDED" = 0 ]\n')
        self.assertEqual(status, 0, output)
        self.assertIn(f"{N_MISTAKES} mistakes: {N_MISTAKES} caught, 0 missed\n", output)

    def test_missed(self):
        status, output = run("exit 0\n")
        self.assertEqual(status, 1, output)
        self.assertIn(f"{N_MISTAKES} mistakes: 0 caught, {N_MISTAKES} missed\n", output)

    def expect_error(self, script, *texts):
        status, output = run(script)
        self.assertEqual(status, 2, output)
        self.assertIn(f"{N_MISTAKES} mistakes: 0 caught, 0 missed, {N_MISTAKES} not tried\n",
                      output)
        self.assertNotIn("NOT CAUGHT", output)
        for text in texts:
            self.assertIn(text, output)

    def test_red_without_the_mistake(self):
        self.expect_error("echo it is broken; exit 1\n",
                          "error: without a mistake test_amo fetching fails: status 1: "
                          "it is broken\n")

    def test_skipped(self):
        self.expect_error("echo 'skipped: no such thing'; exit 77\n",
                          "error: without a mistake test_amo fetching is skipped: "
                          "skipped: no such thing\n")

    def test_not_built(self):
        self.expect_error(None, "error: without a mistake test_amo fetching is not built: ")

    def test_a_skip_catches_nothing(self):
        status, output = run('[ "$SEEDED" = 0 ] || exit 77\n')
        self.assertEqual(status, 1, output)
        self.assertIn(f"0 caught, {N_MISTAKES} missed", output)


if __name__ == "__main__":
    unittest.main()
