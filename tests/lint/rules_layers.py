# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Who may include whom, and which words belong to one layer only."""
import os
import re

from tree import Finding

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

# Folders of the host runtime, lowest first: each may include those before it that it lists.
# core starts the phases of a job, so it stands on all others; tools are programs.
HOST = {
    "base": (),
    "boot": ("base",),
    "cuda": ("base",),
    "job": ("base",),
    "mem": ("base", "cuda", "job"),
    "topo": ("base",),
    "fault": ("base", "boot", "job"),
    "kernels": ("base", "cuda"),
    "ib": ("base", "cuda", "job", "kernels", "mem", "topo", "fault"),
    "selftest": ("base", "cuda", "job", "kernels", "mem", "topo", "fault", "ib"),
    "core": ("base", "boot", "job", "mem", "topo", "fault", "ib"),
    "tools": ("base", "boot", "cuda", "job", "mem", "topo", "fault", "ib", "selftest"),
}

# Folders of the software adapter, likewise. engine/ declares what it asks of link/ and inject/.
ADAPTER = {
    "core": (),
    "events": ("core",),
    "engine": ("core", "events"),
    "link": ("core", "events", "engine"),
    "inject": ("core", "events", "engine"),
    "control": ("core", "events", "engine", "inject"),
    "verbs": ("core", "events", "engine", "control"),
    "devx": ("core", "events", "engine", "control"),
    "tools": ("inject",),
}

# Layers of include/ and runtime/, lowest first, and what each may include of ours. TRANSPORT and
# ALGORITHM list files of impl/ by the first word of their names.
TRANSPORT = ("any", "bulk", "get", "grid", "nic", "op", "order", "p2p", "packed", "post",
             "put", "quiet", "select", "strided", "xport")
ALGORITHM = ("flagsync", "traced")  # made of puts and waits; or records them
MAY_INCLUDE = {
    "base": {"base"},
    "abi": {"abi"},
    "arch": {"arch", "base"},
    "group": {"arch"},
    "mechanism": {"abi", "arch", "group", "mechanism"},
    "transport": {"abi", "arch", "group", "mechanism", "transport"},
    "algorithm": {"abi", "group", "mechanism", "transport", "algorithm"},
    "operation": {"abi", "group", "mechanism", "transport", "algorithm", "operation"},
    "launch": {"abi", "arch", "group"},
    "typed": {"abi", "operation", "typed"},
    "state": {"abi", "arch", "operation", "typed"},
    "stream": {"abi", "group", "operation", "launch"},
    "umbrella": {"abi", "group", "operation", "launch", "stream"},
    "shmem_host": {"abi", "shmem_host"},
    **{f"runtime/{own}": {"abi", "shmem_host", *(f"runtime/{name}" for name in (own, *below))}
       for own, below in HOST.items()},
    "sim": {"abi", "cpu", "mechanism", "shmem_host", "shmem_sim", "sim"},
    "shmem_sim": {"abi", "cpu", "shmem_host", "shmem_sim"},
    # The adapter is a second reading of the format: it shares nothing with the library.
    **{f"mlx5sw/{own}": {"mlx5sw_public", *(f"mlx5sw/{name}" for name in (own, *below))}
       for own, below in ADAPTER.items()},
    "mlx5sw_public": {"mlx5sw_public"},
    "mlx5sw_bridge": {"mlx5sw_public", "cpu", "shmem_sim"},
}

# The self-test checks what kernels send, so it makes WQEs and reads CQEs by the same headers.
MAY_INCLUDE["runtime/selftest"] |= {"arch", "mechanism"}

# Words for which device code has a primitive in arch/, each with the reason to go there.
ARCH_WORDS = re.compile(
    r"\b(asm|__asm__|__asm|__shfl\w*|atomic[A-Z]\w*|__atomic_\w+|__sync\w+|__ballot\w*|__match\w*"
    r"|__any_sync|__all_sync|__activemask|__threadfence\w*|__nanosleep|clock64"
    r"|threadIdx|blockIdx|blockDim|gridDim|__shared__)\b"
)
INTERNAL_WORDS = re.compile(r"\bshmem(di|hi)_\w+|\bSHMEM(DI|HI)_\w+|shmem_dev/(impl|arch)/")
TOP_LEVEL = {
    "include", "runtime", "examples", "tests", "bench", "packaging", "pkgconfig", "cmake", "docs",
    "README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE",
    "CMakeLists.txt", "CMakePresets.json", "dev",
}


def layer_of(path):
    """The layer of a file of include/ or runtime/, None for the rest of the tree."""
    parts = path.split("/")
    stem = os.path.splitext(parts[-1])[0]
    if path.startswith("include/shmem_dev/"):
        if parts[2] == "typed":
            return "typed"
        if parts[2] in ("abi", "arch"):
            # Fixed-width types, which NVRTC has elsewhere: even arch may have them.
            return "base" if path.endswith("/abi/base.h") else parts[2]
        if parts[2] == "impl":
            first = stem.split("_")[0]
            if first == "stream":  # kernels, made of public calls
                return "stream"
            return ("transport" if first in TRANSPORT else
                    "algorithm" if first in ALGORITHM else "mechanism")
        named = {"group": "group", "launch": "launch", "typed": "typed", "sized": "typed",
                 "generic": "typed", "state": "state",
                 "shmem_dev": "umbrella", "stream": "umbrella"}
        return named.get(stem, "operation")
    if path.startswith("include/shmem_host/"):
        return "shmem_host"
    if path.startswith("runtime/sim/include/"):
        return "shmem_sim"
    if path.startswith("runtime/sim/"):
        return "sim"
    if path.startswith("runtime/mlx5sw/include/"):
        return "mlx5sw_bridge" if stem == "mlx5sw_sim" else "mlx5sw_public"
    if path.startswith("runtime/mlx5sw/"):
        return f"mlx5sw/{parts[2]}"
    return f"runtime/{parts[1]}" if parts[0] == "runtime" else None


def target_of(tree, path, name):
    """The file of this tree that an include names, or None."""
    places = ["include", "runtime", "runtime/sim/include", "runtime/mlx5sw/include",
              os.path.dirname(path)]
    for place in places:
        candidate = os.path.normpath(os.path.join(place, name))
        if candidate in tree.paths:
            return candidate
    return None


def includes(tree, path):
    for match in INCLUDE.finditer(tree.text(path)):
        line = tree.text(path).count("\n", 0, match.start(1)) + 1
        yield line, match.group(1), match.group(2)


def layer_files(tree):
    return [p for p in tree.select(r"^(include|runtime)/.*\.(c|h)$") if layer_of(p)]


def rule_include_direction(tree):
    """A file includes only the layers below it."""
    for path in layer_files(tree):
        own = layer_of(path)
        for line, _, name in includes(tree, path):
            target = target_of(tree, path, name)
            if not target:
                if name.startswith(("shmem_dev/", "shmem_host/")):
                    yield Finding(path, line, f"includes <{name}>, which does not exist")
                continue
            other = layer_of(target)
            if (other == "arch" and "cpu" in MAY_INCLUDE.get(own, ())
                    and target.endswith(("cpu.h", "/cpu_checks.h"))):
                other = "cpu"
            if other == "base" and "abi" in MAY_INCLUDE.get(own, ()):
                other = "abi"
            if own not in MAY_INCLUDE:
                yield Finding(path, line, f"'{own}' is no layer: give it a row in "
                              "tests/lint/rules_layers.py")
            elif other and other not in MAY_INCLUDE[own]:
                yield Finding(path, line, f"layer '{own}' must not include layer '{other}' "
                              f"({name}): move what you need down, or call its own layer")


def rule_private_headers(tree):
    """What a folder of the runtime keeps for itself is in its state.h."""
    for path in layer_files(tree):
        for line, _, name in includes(tree, path):
            target = target_of(tree, path, name) or ""
            folder = os.path.dirname(target)
            if target.endswith("/state.h") and folder.startswith("runtime/") and \
                    os.path.dirname(path) != folder:
                yield Finding(path, line, f"{name} is private to {folder}: call a function of "
                              "another of its headers")


def rule_include_spelling(tree):
    """Public headers by angle brackets, runtime headers by quotes."""
    for path in layer_files(tree):
        for line, mark, name in includes(tree, path):
            public = name.startswith(("shmem_dev/", "shmem_host/", "shmem_sim", "mlx5sw.",
                                      "mlx5sw_"))
            if mark == '"' and (public or path.startswith("include/")):
                yield Finding(path, line, f'write #include <{name}>: public headers go by brackets')
            if mark == "<" and not public and target_of(tree, path, name):
                yield Finding(path, line, f'write #include "{name}": internal headers go by quotes')


def rule_include_cycles(tree):
    """No header reaches itself."""
    graph = {}
    for path in layer_files(tree):
        graph[path] = [(line, target_of(tree, path, name))
                       for line, _, name in includes(tree, path)]
    done = set()

    def visit(path, trail):
        if path in done:
            return
        for line, target in graph.get(path, []):
            if target in trail:
                ring = " -> ".join(trail[trail.index(target):] + [target])
                yield Finding(path, line, f"include cycle {ring}: split the header")
            elif target:
                yield from visit(target, trail + [target])
        done.add(path)

    for path in graph:
        yield from visit(path, [path])


def find_words(tree, paths, pattern, what, text_of):
    for path in paths:
        for number, line in enumerate(text_of(path).splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield Finding(path, number, f"'{match.group()}': {what}")


def rule_arch_words(tree):
    """PTX, CUDA builtins and raw atomics only in arch/."""
    paths = [p for p in tree.select(r"^(include|examples)/.*\.(c|h|cu)$")
             if not p.startswith("include/shmem_dev/arch/")]
    return find_words(tree, [p for p in paths if not p.startswith("examples/common/")], ARCH_WORDS,
                      "only include/shmem_dev/arch may use it: call a shmemd_arch_ primitive "
                      "(examples: the public API)", tree.code)


def rule_no_internals(tree):
    """Examples and README show only what a user may use."""
    paths = tree.select(r"^(examples/.*\.(c|h|cu|md)|README\.md)$")
    return find_words(tree, paths, INTERNAL_WORDS,
                      "internal; an example uses only public headers and names", tree.text)


def rule_top_level(tree):
    """The top of the tree is fixed by the design."""
    for path in tree.paths:
        top = path.split("/")[0]
        if not top.startswith(".") and top not in TOP_LEVEL:
            yield Finding(path, 1, f"'{top}' is not a top-level name of the design: move it down")


RULES = [rule_include_direction, rule_private_headers, rule_include_spelling,
         rule_include_cycles, rule_arch_words, rule_no_internals, rule_top_level]
