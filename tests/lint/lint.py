#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""The rules of the project that a machine can check. Each rule is a function that yields findings;
the self-test feeds each a tree that breaks it."""
import argparse
import os
import sys

import rules_api
import rules_documents
import rules_layers
import rules_size
import rules_text
import rules_tools
import rules_weaken
import samples
from tree import Skipped, Tree

RULES = (rules_layers.RULES + rules_size.RULES + rules_text.RULES + rules_api.RULES
         + rules_weaken.RULES + rules_tools.RULES
         + rules_documents.RULES)
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def check(tree):
    """Run all rules; (rules passed, failed, skipped)."""
    passed, failed, skipped = 0, 0, 0
    for rule in RULES:
        try:
            findings = list(rule(tree))
        except Skipped as reason:
            print(f"skipped: {rule.__name__[5:]}: {reason}")
            skipped += 1
            continue
        for finding in findings:
            print(f"{finding} [{rule.__name__[5:]}]")
        failed += bool(findings)
        passed += not findings
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true", help="see each rule fail, only")
    parser.add_argument("--update-api", action="store_true",
                        help="write tests/lint/api.txt anew from the public headers")
    arguments = parser.parse_args()
    tree = Tree(ROOT)
    if arguments.update_api:
        rules_api.write_api(tree)
        return 0
    passed, failed, skipped = samples.self_test(RULES)
    if not arguments.self_test:
        counts = check(tree)
        passed, failed, skipped = (a + b for a, b in zip((passed, failed, skipped), counts))
    print(f"lint: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
