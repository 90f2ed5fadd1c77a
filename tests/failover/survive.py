# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""survive.py LAUNCHER PROGRAM: examples/05_survive_a_nic with its script: the trace is JSON in the
trace event format, and says the same as the lines that are printed. Needs $ADAPTER_LIBRARY."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "../../examples/05_survive_a_nic/ports.txt")
ROW = re.compile(r"^ +(\d+) +(\d+) +(\d+) +\+[\d.]+ +\+[\d.]+ +\+[\d.]+ +\+[\d.]+ +(\d+)  \w+:\d+, "
                 r"\w+:\d+: (.+)$")
STEPS = ("fence", "open", "replay")
ROUNDING_US = 0.01


def run(*arguments, how="ib-ft", **settings):
    """The example with 4 PEs, or as run_as.sh says; returns its exit status and its output."""
    done = subprocess.run(["sh", os.path.join(HERE, "../run_as.sh"), how, *sys.argv[1:],
                           *arguments], capture_output=True, text=True, check=False,
                          env=os.environ | settings)
    return done.returncode, done.stdout + done.stderr


def same(a, b):
    return abs(a - b) < ROUNDING_US


def end_of(span):
    return span["ts"] + span["dur"]


def check_outage(outage, spans):
    """The steps of an outage follow each other and fill it. Returns its values."""
    steps = [s for s in spans if s["name"] in STEPS and s["ts"] >= outage["ts"] - ROUNDING_US and
             end_of(s) <= end_of(outage) + ROUNDING_US]
    assert [s["name"] for s in steps] == list(STEPS), steps
    assert same(steps[0]["ts"], outage["ts"])
    assert same(end_of(steps[0]), steps[1]["ts"])
    assert same(end_of(steps[1]), steps[2]["ts"])
    assert same(end_of(steps[2]), end_of(outage))
    return steps[2]["args"]


def check_arrows(events, tracks):
    """Each arrow leads from a span of a script to an outage that begins there."""
    arrows = collections.defaultdict(dict)
    for e in events:
        if e["ph"] in "sf":
            arrows[e["id"]][e["ph"]] = e
    for arrow in arrows.values():
        begin, end = arrow["s"], arrow["f"]
        assert end["bp"] == "e"
        assert any(s["ts"] <= begin["ts"] <= end_of(s) and s["name"].startswith("port ")
                   for s in tracks[begin["pid"], begin["tid"]]), begin
        assert any(s["name"] == "outage" and s["ts"] == end["ts"]
                   for s in tracks[end["pid"], end["tid"]]), end
    return len(arrows)


def check_trace(path, rows):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tracks, seen = collections.defaultdict(list), []
    for e in events:
        assert (e["pid"], e["tid"]) in names, e
        if e["ph"] == "X":
            assert e["ts"] >= 0 and e["dur"] >= 0, e
            tracks[e["pid"], e["tid"]].append(e)
    for (pe, line), spans in tracks.items():
        for outage in (s for s in spans if s["name"] == "outage"):
            values = check_outage(outage, spans)
            assert values["ambiguous"] == 0 # there are no atomics
            to = re.fullmatch(r"to PE (\d+), channel (\d+)", names[pe, line])
            seen.append((str(pe), to[1], to[2], str(values["replayed"]),
                         outage["args"]["cause"]))
    assert sorted(seen) == sorted(rows), (sorted(seen), sorted(rows))
    assert check_arrows(events, tracks) == len(rows)


def check_end_of_paths(script):
    """PE 1 cannot replace the path that it loses. The agent reports that while PEs finalize."""
    with open(script, "w", encoding="utf-8") as file:
        file.write("10 1 fail command status=8\n10 1 port down mlx5_1\n")
    status, text = run("--script", script, "--steps", "200", how="ib-ft-2",
                       SHMEMH_FT_GIVEUP="1s")
    assert status == 1 and "status: 2 (" in text, text
    assert "died by signal" not in text and "fault_get" not in text, text


def check_lack_of_nics(script):
    """NICs cannot be used from the start on: each PE's kernel ends with the status of its puts."""
    with open(script, "w", encoding="utf-8") as file:
        file.write("fail command status=8\n")
    status, text = run(MLX5SW_SCRIPT=script)
    assert status == 1 and text.count("status: 3 (") == 4, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "outages.json")
        status, text = run("--script", SCRIPT, "--trace", trace, "--steps", "200")
        print(text)
        assert status == 0
        rows = [m.groups() for m in map(ROW.match, text.splitlines()) if m]
        assert "every value of every step is right" in text
        assert rows and "PE 1, after step 10: port down mlx5_1" in text
        check_trace(trace, rows)
        # What is wrong is one line, and a status.
        bad = os.path.join(folder, "bad.txt")
        for line in ("port down mlx5_0", "x 1 port down mlx5_0", "5 0", "5 0 a\n4 0 b"):
            with open(bad, "w", encoding="utf-8") as file:
                file.write(f"# comment\n\n{line}\n")
            status, text = run("--script", bad)
            assert status == 1 and "expected STEP PE LINE" in text, text
        status, text = run("--trace", os.path.join(folder, "none/x.json"), "--steps", "2")
        assert status == 1 and "the trace is not written" in text, text
        status, text = run("--steps", "0")
        assert status == 1 and "usage: survive_a_nic" in text, text
        with open(bad, "w", encoding="utf-8") as file:
            file.write("1 0 port sideways mlx5_0\n")
        status, text = run("--script", bad)
        assert status == 1 and "script: step 1: port sideways mlx5_0" in text, text
        check_end_of_paths(bad)
        check_lack_of_nics(bad)


main()
