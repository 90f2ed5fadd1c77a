#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""trace_file.py PROGRAM: the files that signals.c writes for SHMEMSIM_TRACE_FILE are what a viewer
needs: each slice on a track with a name, none of them over another, and arrows from a store to the
load of another track that saw it. If perfetto's trace processor is here, it loads the file, too,
and must count the same."""
import json
import os
import subprocess
import sys
import tempfile

import perfetto_trace

TRACKS = {"PE 0": {"host", "kernel 0 block 0 warp 0", "kernel 1 block 0 warp 0"},
          "PE 1": {"host", "kernel 0 block 0 warp 0", "kernel 1 block 0 warp 0"},
          "agents": {"nic", "nic: doorbell"}}


def run(program, path, *arguments):
    """(exit status, report) of a run that may write a file."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "SHMEMSIM_TRACE_FILE": path})
    return done.returncode, done.stderr


def names_of(events, what):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events
            if e["ph"] == "M" and e["name"] == what}


def slice_at(slices, arrow):
    return next(s for s in slices if (s["pid"], s["tid"]) == (arrow["pid"], arrow["tid"])
                and s["ts"] <= arrow["ts"] <= s["ts"] + s["dur"])


def check(path):
    """Slices, and (from, to) of the arrows, of a file."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    processes, threads = names_of(events, "process_name"), names_of(events, "thread_name")
    slices = [e for e in events if e["ph"] == "X"]
    for e in slices:
        track = e["pid"], e["tid"]
        assert threads[track] in TRACKS[processes[track]], (processes[track], threads[track])
    times = sorted(e["ts"] for e in slices)
    assert all(b - a >= 1 for a, b in zip(times, times[1:])), "slices overlap"
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    arrows = [(slice_at(slices, e), slice_at(slices, ends[e["id"]])) for e in events
              if e["ph"] == "s"]
    assert len(arrows) == len(ends)
    for begin, end in arrows:
        assert begin["name"].startswith(("store", "atomic")) and end["ts"] > begin["ts"]
        assert begin["name"].split(" ", 1)[1] == end["name"].split(" ", 1)[1], (begin, end)
    return slices, arrows


def check_by_perfetto(path, n_slices, n_arrows):
    """Whether the trace processor has looked at the file."""
    rows, who = perfetto_trace.query(path, [f"select count(*) as n from {table}"
                                            for table in ("slice", "flow")])
    if rows is None:
        return f"no trace processor is here: {who}"
    assert [row.n for row, in rows] == [n_slices, n_arrows], rows
    return f"loaded by {who}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        status, report = run(sys.argv[1], path)
        assert status == 0 and report == "", report
        slices, arrows = check(path)
        flags = [end["name"] for _, end in arrows if '"flag"' in end["name"]]
        assert flags and all(name.startswith("load.acquire") for name in flags), arrows
        assert any("doorbell = 2" in end["name"] for _, end in arrows), arrows
        print(f"{len(slices)} slices, {len(arrows)} arrows; "
              + check_by_perfetto(path, len(slices), len(arrows)))

        os.remove(path)
        status, report = run(sys.argv[1], path, "fails")
        assert status == 1 and "twenty" in report and "read last:" in report, report
        slices, _ = check(path)
        assert any("data = 20" in e["name"] for e in slices), "not the schedule that failed"

        status, report = run(sys.argv[1], os.path.join(folder, "none", "trace.json"))
        assert "cannot be written: No such file" in report, report
    return 0


if __name__ == "__main__":
    sys.exit(main())
