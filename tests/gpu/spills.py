#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Look for refills of spilled registers of which a part was never spilled.

ptxas 13.0 can spill the lower half of a 64-bit value, compute the upper half again, and then refill
both from the stack, where nothing stored the upper half: a wrong value, without a message. It
depends on the registers that a unit needs. This follows the spill slots of each function of each
program's machine code, and reports a refill of 8 or 16 bytes if on some path to it only a part of
them was stored, and the rest is read.

Usage: spills.py PATH...   programs with kernels for GPUs, or folders: their programs *_gpu
       spills.py --self    the two forms of a function, with this error and without it
"""
import glob
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile

WORDS = {"64": 2, "128": 4}
NEVER_WRITE = ("ST", "RED", "BRA", "BRX", "CALL", "RET", "EXIT", "BAR", "R2UR", "ISETP", "FSETP")

BAD = """
.text.bad:
  STL [R1+0x70], R6 (*"SpillRefill"*);
  @P0 BRA `(.L_x_1) ;
  LDL.64 R12, [R1+0x70] (*"SpillRefill"*);
  CALL.REL.NOINC `(f) ;
  BRA `(.L_x_2) ;
.L_x_1:
  STL [R1+0x74], R11 (*"SpillRefill"*);
.L_x_2:
  EXIT ;
"""
GOOD = BAD.replace("bad", "good").replace("STL [R1+0x70], R6", "STL.64 [R1+0x70], R6")


def functions(text):
    """Yield the name and the lines of each function of nvdisasm -c."""
    name, lines = None, []
    for line in text.splitlines():
        head = re.match(r"(\.text\.\S+|\$\S+):", line)
        if head:
            if name:
                yield name, lines
            name, lines = head.group(1), []
        elif name:
            lines.append(re.sub(r"/\*.*?\*/", "", line).strip())
    if name:
        yield name, lines


def operation(instruction):
    """Opcode and operands, without the predicate."""
    text = re.sub(r"^@!?U?P\d+\s+", "", re.sub(r"\(\*.*", "", instruction)).strip(" ;")
    opcode, _, operands = text.partition(" ")
    return opcode, operands


def words_of(opcode):
    """32-bit words of an operand."""
    parts = opcode.split(".")
    is_wide = "WIDE" in parts or parts[0] == "CS2R" and "32" not in parts
    return max([WORDS.get(part, 1) for part in parts] + [2 * is_wide])


def slots_of(instruction):
    """(is it a store, words of the stack) of an access to the stack by a constant offset."""
    opcode, operands = operation(instruction)
    at = re.search(r"\[R1(?:\+(0x[0-9a-f]+))?\]", operands)
    if not at or not opcode.startswith(("STL", "LDL")):
        return None
    first = int(at.group(1) or "0", 16)
    return opcode.startswith("STL"), [first + 4 * i for i in range(words_of(opcode))]


def registers_of(instruction):
    """Registers that it reads and writes."""
    opcode, operands = operation(instruction)
    read, written = set(), set()
    for k, operand in enumerate(operands.split(",")):
        for at in re.finditer(r"\bR(\d+)(\.64)?", operand):
            is_address = "[" in operand
            n = 2 if at.group(2) else 1 if is_address else words_of(opcode)
            names = {int(at.group(1)) + j for j in range(n)}
            if k == 0 and not is_address and not opcode.startswith(NEVER_WRITE):
                written |= names
            else:
                read |= names
    return read, written


class Function:
    """The instructions of a function, with those that may follow each."""

    def __init__(self, lines):
        self.code, labels = [], {}
        for line in lines:
            label = re.match(r"(\.L_\S+):", line)
            if label:
                labels[label.group(1)] = len(self.code)
            elif line and not line.startswith("."):
                self.code.append(line)
        self.next = [self.followers(i, labels) for i in range(len(self.code))]
        reached = {j for i, line in enumerate(self.code) if "BRX" not in line
                   for j in self.next[i] if j != i + 1}
        for i, line in enumerate(self.code):  # an indexed branch: to labels without another
            if "BRX" in line:
                self.next[i] += [j for j in labels.values()
                                 if j < len(self.code) and j not in reached]

    def followers(self, i, labels):
        """Instructions that may be executed after instruction i."""
        line = self.code[i]
        opcode, operands = operation(line)
        target = re.search(r"`\((\.L_\S+?)\)", line)
        after = []
        if target and target.group(1) in labels and opcode.startswith(("BRA", "WARPSYNC")):
            after.append(labels[target.group(1)])
        may_pass = line.startswith("@") or ".DIV" in opcode or re.match(r"!?U?P\d", operands)
        if opcode.startswith(("BRA", "RET", "EXIT")) and not may_pass:
            return [j for j in after if j < len(self.code)]
        return [j for j in after + [i + 1] if j < len(self.code)]

    def stored_before(self):
        """For each instruction the slots that are stored on every path to it."""
        state = [None] * len(self.code)
        work = [0] if self.code else []
        if work:
            state[0] = frozenset()
        while work:
            i = work.pop()
            slots = slots_of(self.code[i])
            now = state[i] | frozenset(slots[1]) if slots and slots[0] else state[i]
            for j in self.next[i]:
                both = now if state[j] is None else state[j] & now
                if both != state[j]:
                    state[j] = both
                    work.append(j)
        return state

    def is_read(self, start, register, others):
        """Is the register read from these instructions on, before it is written? A write under a
        predicate counts, since what reads it has the same. A copy counts as a read if it is read,
        a call if its callee reads the register; a store of 16 bytes does not, since copies of
        memory load its registers under conditions. others: the functions by name."""
        work, seen = [(j, register) for j in start], set()
        while work:
            j, name = work.pop()
            if (j, name) in seen:
                continue
            seen.add((j, name))
            opcode, operands = operation(self.code[j])
            read, written = registers_of(self.code[j])
            copy = re.fullmatch(r"R(\d+), RZ, RZ, R(\d+)", operands)
            if opcode.startswith("CALL"):
                if is_read_by_callee(operands, name, others):
                    return True
            elif name in read and not copy and ".128" not in opcode:
                return True
            elif name in read and copy:
                work += [(k, int(copy.group(1))) for k in self.next[j]]
            if name not in written:
                work += [(k, name) for k in self.next[j]]
        return False

    def errors(self, others):
        """Refills of which a part may not have been stored, although it is read."""
        mine = {word for line in self.code for word in (slots_of(line) or (0, []))[1]
                if slots_of(line)[0]}
        for i, (line, stored) in enumerate(zip(self.code, self.stored_before())):
            slots = slots_of(line)
            if not slots or slots[0] or stored is None:
                continue
            missing = [word for word in slots[1] if word in mine and word not in stored]
            first = int(re.search(r"R(\d+)", operation(line)[1]).group(1))
            if 0 < len(missing) < len(slots[1]) and any(
                    self.is_read(self.next[i], first + slots[1].index(word), others)
                    for word in missing):
                yield f"instruction {i}: {line}"


def is_read_by_callee(operands, register, others):
    """Does a call pass the register on? Unknown functions have their parameters in R4 to R15."""
    callee = others.get(re.sub(r".*`\((.*)\).*", r"\1", operands))
    if callee is None or not callee.code:
        return 4 <= register < 16
    return callee.is_read([0], register, {})


def errors_of(text):
    """A line for each error in the output of nvdisasm -c."""
    found = {name: Function(lines) for name, lines in functions(text)}
    return [f"{name}: {error}" for name, function in found.items()
            for error in function.errors(found)]


def errors_of_program(path):
    """The same for a program, and how many cubins it has."""
    found, n_cubins = [], 0
    with tempfile.TemporaryDirectory() as folder:
        # Not checked: a program without kernels is an error to cuobjdump.
        subprocess.run(["cuobjdump", "-xelf", "all", os.path.abspath(path)], cwd=folder,
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for cubin in glob.glob(folder + "/*.cubin"):
            n_cubins += 1
            text = subprocess.run(["nvdisasm", "-c", cubin], check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            found += [f"{os.path.basename(path)}: {error}" for error in errors_of(text)]
    return found, n_cubins


def main():
    """Status 0: no error; 77: a tool is missing, or the programs have no machine code."""
    if sys.argv[1] == "--self":
        assert errors_of(BAD) and not errors_of(GOOD)
        return 0
    for tool in "cuobjdump", "nvdisasm":
        if not shutil.which(tool):
            print(f"skipped: no {tool}")
            return 77
    programs = [program for path in sys.argv[1:] for program in
                (sorted(glob.glob(path + "/*_gpu")) if os.path.isdir(path) else [path])]
    with multiprocessing.Pool() as pool:
        results = pool.map(errors_of_program, programs, 1)
    found = [line for lines, _ in results for line in lines]
    n_cubins = sum(n for _, n in results)
    if not n_cubins:
        print(f"skipped: no machine code in {len(programs)} programs: built for PTX alone")
        return 77
    print("\n".join(found + [f"{len(programs)} programs, {n_cubins} cubins, {len(found)} errors"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
