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
       spills.py --self    small functions, with this error and without it
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
OF_CALLER = """
.text.of_caller:
  LDL.64 R12, [R1+0x70] (*"SpillRefill"*);
  STL [R1+0x70], R6 (*"SpillRefill"*);
  IADD3 R4, R13, R4, RZ ;
  EXIT ;
"""
FACTOR = """
.text.factor:
  STL [R1+0x70], R6 (*"SpillRefill"*);
  LDL.64 R12, [R1+0x70] (*"SpillRefill"*);
  IMAD.WIDE R8, R12, 0x10, R8 ;
  STL [R1+0x74], R11 (*"SpillRefill"*);
  EXIT ;
"""
ADDEND = FACTOR.replace("factor", "addend").replace("R12, 0x10, R8", "R10, 0x10, R12")


def functions(text):
    """Yield the name of each function of nvdisasm, the section that has it, its address there, and
    its lines."""
    name, section, address, lines = None, None, None, []
    for line in text.splitlines():
        head = re.match(r"(\.text\.\S+|\$\S+):", line)
        if head or line.startswith("\t.section"):
            if name and lines:
                yield name, section, address, lines
            name, address, lines = head and head.group(1), None, []
            if name and name.startswith(".text."):
                section = name[len(".text."):]
        elif name:
            at = re.match(r"\s*/\*([0-9a-f]+)\*/", line)
            if at and address is None:
                address = int(at.group(1), 16)
            lines.append(re.sub(r"/\*.*?\*/", "", line).strip())
    if name and lines:
        yield name, section, address, lines


def pointers(text):
    """{section: the words of 8 bytes of its constant bank 2}: addresses of functions, too."""
    banks, section = {}, None
    for line in text.splitlines():
        head = re.match(r"\.nv\.constant2\.(\S+):", line)
        if head:
            section = banks.setdefault(head.group(1), bytearray())
        elif line.startswith("\t.section"):
            section = None
        elif section is not None:
            section += bytes(int(byte, 16) for byte in re.findall(r"\b0x([0-9a-f]{2})\b", line))
    return {name: [int.from_bytes(bank[i:i + 8], "little") for i in range(0, len(bank), 8)]
            for name, bank in banks.items()}


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
            if ".WIDE" in opcode and 0 < k < len(operands.split(",")) - 1:
                n = 1  # the factors of a product of 64 bits
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
        self.called = {}  # by address: the functions that a pointer may lead to
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

    def stored_before(self, join):
        """For each instruction the slots that are stored before it: on every path to it if join is
        frozenset.intersection, on any path if it is frozenset.union."""
        state = [None] * len(self.code)
        work = [0] if self.code else []
        if work:
            state[0] = frozenset()
        while work:
            i = work.pop()
            slots = slots_of(self.code[i])
            now = state[i] | frozenset(slots[1]) if slots and slots[0] else state[i]
            for j in self.next[i]:
                both = now if state[j] is None else join(state[j], now)
                if both != state[j]:
                    state[j] = both
                    work.append(j)
        return state

    def is_read(self, start, register, others, depth=0):
        """Is the register read from these instructions on, before it is written? A write under a
        predicate counts, since what reads it has the same. A copy counts as a read if it is read,
        be it in a register or on the stack (a slot is a string here); a call if its callee reads
        the register, or is not known and may have it as a parameter. A store of 16 bytes does not
        count, since copies of memory load its registers under conditions. others: the functions
        by name. depth: of calls."""
        work, seen = [(j, register) for j in start], set()
        while work:
            j, name = work.pop()
            if (j, name) in seen:
                continue
            seen.add((j, name))
            opcode, operands = operation(self.code[j])
            read, written = registers_of(self.code[j])
            slots = slots_of(self.code[j])
            first = re.search(r"\bR(\d+)", operands.split("]")[-1 if slots and slots[0] else 0])
            if slots:
                names = [f"slot {word}" for word in slots[1]]
                registers = [int(first.group(1)) + k for k in range(len(names))] if first else []
                pairs = zip(registers, names) if slots[0] else zip(names, registers)
                work += [(k, to) for of, to in pairs if of == name for k in self.next[j]]
                read, written = set(), set(names if slots[0] else registers)
            copy = re.fullmatch(r"R(\d+), RZ, RZ, R(\d+)", operands)
            if opcode.startswith("CALL"):
                callee = self.callee(j, others)
                by = re.match(r"R(\d+)\b", operands)  # no parameter is in or behind it
                n = int(by.group(1)) if by and 4 <= int(by.group(1)) < 16 else 16
                if name in range(4, n) and (callee is None or depth > 3) or (
                        callee and depth <= 3 and callee.is_read([0], name, others, depth + 1)):
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
        always, ever = (self.stored_before(join)
                        for join in (frozenset.intersection, frozenset.union))
        for i, line in enumerate(self.code):
            slots = slots_of(line)
            if not slots or slots[0] or always[i] is None:
                continue
            if not ever[i].intersection(slots[1]):  # the caller has stored all of them
                continue
            missing = [word for word in slots[1] if word in mine and word not in always[i]]
            first = int(re.search(r"R(\d+)", operation(line)[1]).group(1))
            if 0 < len(missing) < len(slots[1]) and any(
                    self.is_read(self.next[i], first + slots[1].index(word), others)
                    for word in missing):
                yield f"instruction {i}: {line}"


    def callee(self, i, others):
        """The function that instruction i, a call, leads to; None: not known."""
        operands = operation(self.code[i])[1]
        by = re.match(r"R(\d+)\b", operands)
        if not by:
            return others.get(re.sub(r".*`\((.*)\).*", r"\1", operands))
        while i > 0:
            i -= 1
            if int(by.group(1)) in registers_of(self.code[i])[1]:
                at = re.search(r"c\[0x2\]\[0x([0-9a-f]+)\]", self.code[i])
                return self.called.get(int(at.group(1), 16) // 8) if at else None
        return None


def errors_of(text):
    """A line for each error in the output of nvdisasm."""
    found, starts, banks = {}, {}, pointers(text)
    for name, section, address, lines in functions(text):
        found[name] = Function(lines)
        found[name].called = starts.setdefault(section, {})
        for k, pointer in enumerate(banks.get(section, [])):
            if pointer == address:
                starts[section][k] = found[name]
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
            text = subprocess.run(["nvdisasm", cubin], check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            found += [f"{os.path.basename(path)}: {error}" for error in errors_of(text)]
    return found, n_cubins


def main():
    """Status 0: no error; 77: a tool is missing, or the programs have no machine code."""
    if sys.argv[1] == "--self":
        for text in BAD, ADDEND:
            assert errors_of(text), text
        for text in GOOD, OF_CALLER, FACTOR:
            assert not errors_of(text), text
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
