# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""mistakes.py LAUNCH CC FLAGS... -- LIBRARIES...

Build the kernels of this folder as a user would, make each of their mistakes, and print where it
is caught and by which words. Fails if a row differs from the table below, or if a kernel without a
mistake fails.

    always    a plain build, a process for each PE
    check     the same source with -DSHMEMD_CHECK, all PEs in the emulator
    emulator  the plain build in the emulator: round robin, then random schedules, weak memory
    asan      the plain build with address sanitizer, in the emulator
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("always", "check", "emulator", "asan")
SEEDS = 12
# What is no message of the library: the program's own check of its result, or a signal.
RESULT, DIES, SILENT = "wrong result", "dies", "silent"

NOT_ALLOCATED = r"outside the allocations of the symmetric heap \(address 0x\w+, \d+ bytes\)"
ROWS = [
    ("halo", 1, "a PE that does not exist",
     {"check": r"put_signal: PE number outside the context's team \(PE (-1|4) of 4\)"}),
    ("halo", 2, "an address behind the allocation",
     {"check": NOT_ALLOCATED, "asan": r"AddressSanitizer: use-after-poison"}),
    ("halo", 3, "a _warp form by one lane",
     {"always": "in syncwarp of lanes ffffffff, missing",
      "check": "a _warp form is called by all 32 lanes",
      "emulator": "a _warp form is called by all 32 lanes",
      "asan": "a _warp form is called by all 32 lanes"}),
    ("halo", 4, "the source of an nbi put reused",
     {"check": "source of an earlier nbi operation, 8 bytes, was written before quiet"}),
    ("halo", 5, "no wait for one neighbour", {"emulator": RESULT, "check": RESULT}),
    ("moe", 1, "slots behind the inbox",
     {"check": NOT_ALLOCATED, "asan": r"AddressSanitizer: use-after-poison"}),
    ("moe", 2, "lanes with different PEs in a _warp form",
     {"check": "the threads of a group pass different pe, addresses or sizes",
      "emulator": RESULT}),
    ("moe", 3, "no fence between data and signal", {"emulator": RESULT}),
    ("moe", 4, "a context that was never filled",
     {"check": "the context is not filled: call shmemh_ctx_get"}),
    ("moe", 5, "a counter that is not symmetric", {"check": NOT_ALLOCATED}),
    ("allreduce", 1, "a _block form by half of the block",
     {"check": "only 32 of the group's 64 threads are there"}),
    ("allreduce", 2, "a group called by an outsider",
     {"check": r"thread \d+ is not one of the group's 32",
      "emulator": "a _group form by all of the group"}),
    ("allreduce", 3, "no last barrier", {"emulator": RESULT}),
    ("allreduce", 4, "the context of a destroyed team",
     {"check": "the context is of a team that was destroyed"}),
    ("allreduce", 5, "a kernel launched on one PE less",
     {"always": r"device barrier, PE 0 of the team: the time limit",
      "check": r"PE 0 has launched 0 kernels, PE \d 1",
      "emulator": r"PE 0 has launched 0 kernels, PE \d 1"}),
]


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEMH_", "SHMEMSIM_"))}
    return dict(kept, SHMEMH_BOOT_TIMEOUT="10s",
                ASAN_OPTIONS="detect_leaks=0", SHMEMSIM_STRICT_EXIT="1", **more)


def run(command, env):
    """The exit status and what was printed; a run that hangs is ended."""
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60,
                              errors="replace", check=False)
    except subprocess.TimeoutExpired as error:
        return 1, "hangs: " + (error.stderr or b"").decode(errors="replace")
    return done.returncode, done.stdout + done.stderr


def schedules(mode):
    """The environments to try, until one fails."""
    sim = {"SHMEMSIM_PES": "4"}
    if mode == "always":
        yield {"SHMEMH_TIMEOUT": "1s"}
        return
    yield sim
    for seed in range(1, SEEDS if mode == "emulator" else 1):
        weak = {"SHMEMSIM_WEAK": str(seed % 2)}
        yield dict(sim, SHMEMSIM_POLICY="random", SHMEMSIM_SEED=str(seed), **weak)


def try_mistake(programs, launch, name, number, mode):
    program = programs[name, mode]
    start = [launch, "-n", "4"] if mode == "always" else []
    status, text = 0, ""
    for env in schedules(mode):
        status, text = run([*start, program, str(number)], environment(**env))
        if status:
            break
    return status, text


def classify(wanted, status, text):
    """The words that tell of the mistake, else what happened; and whether it was as wanted."""
    found = re.search(wanted, text) if wanted else None
    if found:
        line = next(x for x in text.splitlines() if re.search(wanted, x))
        return line.strip() if wanted != RESULT else RESULT, True
    if status == 0:
        outcome = SILENT
    elif RESULT in text:
        outcome = RESULT
    elif re.search(r"died by signal|Segmentation|DEADLYSIGNAL", text) or status < 0:
        outcome = DIES
    else:
        outcome = "fails: " + (text.strip().splitlines() or [f"status {status}"])[0]
    return outcome, not wanted


def build(cc, flags, libraries, folder):
    programs, common = {}, os.path.join(HERE, "../../examples/common/run.c")
    kinds = {"always": [], "check": ["-DSHMEMD_CHECK"], "asan": ["-fsanitize=address"]}
    for name in sorted({row[0] for row in ROWS}):
        for mode, more in kinds.items():
            out = os.path.join(folder, f"{name}_{mode}")
            subprocess.run([cc, "-g", "-O1", *flags, *more, os.path.join(HERE, name + ".c"),
                            common, "-o", out, *libraries], check=True)
            programs[name, mode] = out
        programs[name, "emulator"] = programs[name, "always"]
    return programs


def table(programs, launch):
    """Print the rows; returns how many are not as they should be."""
    bad = 0
    for name, number, what, wanted in ROWS:
        print(f"{name} {number}: {what}")
        for mode in MODES:
            status, text = try_mistake(programs, launch, name, number, mode)
            outcome, is_good = classify(wanted.get(mode), status, text)
            print(f"    {mode:9} {outcome[:200]}{'' if is_good else '   <- not as expected'}")
            bad += not is_good
        sys.stdout.flush()
    return bad


def main():
    launch, cc, *rest = sys.argv[1:]
    split = rest.index("--")
    folder = tempfile.mkdtemp()
    try:
        programs = build(cc, rest[:split], rest[split + 1:], folder)
        bad = 0
        for name, mode in sorted(programs):
            status, text = try_mistake(programs, launch, name, 0, mode)
            if status:
                print(f"{name}, {mode}, without a mistake: {text[:2000]}")
                bad += 1
        bad += table(programs, launch)
    finally:
        shutil.rmtree(folder)
    print(f"{len(ROWS)} mistakes, {bad} not as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
