// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// trace_processor.js FOLDER: perfetto's trace processor in the WebAssembly form that its viewer
// uses, from the viewer's files in FOLDER: requests (TraceProcessorRpcStream) on stdin, replies on
// stdout. The module expects to be a web worker.
const folder = process.argv[2];
const fs = require("fs"), path = require("path"), vm = require("vm");

class XMLHttpRequest {
    open(method, name) { this.name = name; }
    send() {
        const bytes = fs.readFileSync(path.join(folder, path.basename(this.name)));
        this.response = new Uint8Array(bytes).buffer;
        this.status = 200;
    }
}

const worker = {
    XMLHttpRequest, TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout,
    WorkerGlobalScope: class {}, importScripts() {}, location: { href: "http://viewer/" },
    console: { log() {}, warn: (text) => console.error(text), error: (text) => console.error(text) },
};
worker.self = worker.globalThis = worker;
vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), worker);

const port = { postMessage: (reply) => fs.writeSync(1, Buffer.from(reply)) };
setTimeout(() => {
    worker.onmessage({ data: port });
    worker.request = new Uint8Array(fs.readFileSync(0));
    port.onmessage({ data: vm.runInContext("Uint8Array.from(request)", worker) });
}, 0);
