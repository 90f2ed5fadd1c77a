#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""reference.py XML: each public function, type and macro of the headers, as ctags lists them in
tests/lint/api.txt, has a text in the reference that doxygen made in the folder XML; an enumerator
has one, or its enumeration has; each field is there. Run from the root of the tree. Exit status 1:
something has none."""
import os
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, "docs/reference")
import filter as reference_filter  # pylint: disable=wrong-import-position


def has_text(node):
    return any("".join(part.itertext()).strip() for name in
               ("briefdescription", "detaileddescription", "inbodydescription")
               for part in node.findall(name))


def texts_of(folder):
    """{name: has it a text?} of everything in the reference. A field's name is 'struct.field'."""
    texts = {}
    for name in sorted(os.listdir(folder)):
        for compound in ElementTree.parse(os.path.join(folder, name)).iter("compounddef"):
            scope = compound.findtext("compoundname").removesuffix("_t")
            scopes = (scope, scope + "_t")  # the tag of a struct has the suffix or not
            is_struct = compound.get("kind") in ("struct", "union")
            if is_struct:
                texts.update(dict.fromkeys(scopes, has_text(compound)))
            for node in compound.iter("memberdef"):
                field = node.findtext("name")
                for key in [f"{name}.{field}" for name in scopes] if is_struct else [field]:
                    texts[key] = texts.get(key, False) or has_text(node)
                for value in node.iter("enumvalue"):
                    texts[value.findtext("name")] = has_text(value) or has_text(node)
    return texts


def main():
    texts = texts_of(sys.argv[1])
    names = list(reference_filter.public_names())
    wrong = []
    for header, kind, name in names:
        name = name.split(".")[-1] if kind == "enumerator" else name
        if name not in texts:
            wrong.append(f"{header}: {name} is not in the reference")
        elif kind != "member" and not texts[name]:
            wrong.append(f"{header}: {name} has no text: write a comment above it")
    for line in wrong:
        print(line)
    print(f"{len(names)} public names, {len(wrong)} undocumented")
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main())
