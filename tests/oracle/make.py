#!/usr/bin/env python3
"""Makes samples of real XLA output, laid out like this folder. Needs an installed jax (CPU).

    make.py --out DIR --random 20 [--seed 1]     random programs, each fourth one on four devices
    make.py --out DIR [PROG.py ...]              these programs; without any: the ones of this folder

For each program: programs/NAME/prog.py (the source), exec.bin (the serialized executable) and vlog.txt
(what XLA itself logged about the graphs while it compiled).
A source defines build(), which returns a function and its arguments.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

PREAMBLE = """\
import numpy as np, jax, jax.numpy as jnp
from jax import lax
R=np.random.RandomState(0)
def A(*s): return R.randn(*s).astype(np.float32)
"""

MESH = """\
from jax.sharding import Mesh, PartitionSpec as P
def mesh(): return Mesh(np.array(jax.devices()[:4]),('i',))
def sm(f, ins, outs):
    try: return jax.shard_map(f, mesh=mesh(), in_specs=ins, out_specs=outs, check_vma=False)
    except AttributeError:
        from jax.experimental.shard_map import shard_map
        return shard_map(f, mesh=mesh(), in_specs=ins, out_specs=outs, check_rep=False)
"""


# --- Random programs: every value is a square matrix of one size, so that any operation can follow any other.

ONE = [
    "jnp.tanh({a})",
    "jnp.sin({a})*2.0",
    "jax.nn.softmax({a},-1)",
    "jnp.sort({a},axis=0)",
    "jnp.sort({a},axis=1)",
    "jnp.argsort({a},axis=0).astype(jnp.float32)",
    "{a}.T+1.0",
    "jnp.cumsum({a},axis=0)",
    "{a}[::-1]",
    "jnp.roll({a},3,axis=1)",
    "jnp.fft.fft({a}).real",
    "jnp.broadcast_to({a}.sum(0),{a}.shape)",
    "jnp.broadcast_to({a}.max(1,keepdims=True),{a}.shape)",
    "jnp.concatenate([{a}[4:],{a}[:4]])",
    "jnp.where({a}>0,{a},0.5*{a})",
    "jnp.broadcast_to(lax.top_k({a},4)[0].sum(1,keepdims=True),{a}.shape)",
    "{a}.at[0].set(1.0)",
    "lax.dynamic_update_slice({a},{a}[:4,:4],(2,3))",
    "lax.reduce_window({a},-jnp.inf,lax.max,(3,3),(1,1),'SAME')",
]
TWO = [
    "{a}@{b}",
    "{a}@{b}",
    "{a}+{b}",
    "{a}*{b}-{a}",
    "jnp.maximum({a},{b})",
    "jnp.concatenate([{a}[:4],{b}[4:]])",
    "jnp.sort({a},axis=0)+{b}",
    "({a}@{b}).T",
]
MANY_DEVICES = [
    "lax.psum({a},'i')",
    "lax.pmax({a},'i')",
    "lax.ppermute({a},'i',[(j,(j+1)%4) for j in range(4)])",
    "lax.all_gather({a},'i')[1]",
    "lax.all_to_all({a},'i',0,0,tiled=True)",
    "lax.psum_scatter({a},'i',tiled=True).repeat(4,axis=0)",
]


def random_program(seed, devices):
    """The source of a program, a function of these two numbers alone."""
    r = random.Random(seed * 2 + (devices > 1))
    size = r.choice([8, 8, 16, 24, 48, 64])
    inputs = r.randint(1, 5)
    lines = []

    def expression(values):
        forms = r.choice([ONE, TWO, MANY_DEVICES] if devices > 1 else [ONE, TWO])
        return r.choice(forms).format(a=r.choice(values), b=r.choice(values))

    def statements(values, count, depth, indent):
        for _ in range(count):
            name = f"v{len(lines)}"
            kind = r.random()
            if kind < 0.06 and depth < 2:
                a, b = r.choice(values), r.choice(values)
                lines.append(f"{indent}def body_{name}(i,c):")
                inner = ["c[0]", "c[1]"]
                statements(inner, r.randint(1, 4), depth + 1, indent + "    ")
                lines.append(f"{indent}    return ({inner[-1]},{r.choice(inner)})")
                lines.append(f"{indent}{name}=lax.fori_loop(0,{r.randint(2, 5)},body_{name},({a},{b}))[0]")
            elif kind < 0.10 and depth < 2:
                # Every device must take the same branch, or its collectives would wait for ever; so there are none.
                a, b = r.choice(values), r.choice(values)
                yes, no = r.choice(ONE).format(a="a"), r.choice(TWO).format(a="a", b="b")
                lines.append(f"{indent}{name}=lax.cond({a}[0,0]>0,lambda a,b:{yes},lambda a,b:{no},{a},{b})")
            else:
                lines.append(f"{indent}{name}={expression(values)}")
            values.append(name)

    parameters = [f"x{i}" for i in range(inputs)]
    values = list(parameters)
    statements(values, r.randint(2, 40), 0, "        ")
    body = "\n".join(lines)
    # What nothing reads would be removed by the compiler, so it is returned.
    unread = [value for value in values[inputs:] if len(re.findall(rf"\b{value}\b", body)) == 1]
    outputs = unread[:8] or [values[-1]]
    arguments = ",".join(f"A({size},{size})" for _ in range(inputs))
    function = f"    def f({','.join(parameters)}):\n{body}\n        return ({','.join(outputs)},)\n"
    if devices == 1:
        return f"{PREAMBLE}\ndef build():\n{function}    return f,({arguments},)\n"
    specs = f"({'P(),' * inputs}),({'P(),' * len(outputs)})"
    return f"{PREAMBLE}\n{MESH}\ndef build():\n{function}    return sm(f,{specs}),({arguments},)\n"


# --- Compiling, in a process of its own: XLA reads its settings once, and a crash must not end the rest.


def serialized(executable):
    if hasattr(executable, "serialize"):
        return executable.serialize()
    return executable.client.serialize_executable(executable)  # Until jaxlib 0.6.


def worker(folders):
    import jax

    jax.devices()  # Before the log of any program begins.
    for folder in map(Path, folders):
        try:
            scope = {"__name__": folder.name}
            exec(compile((folder / "prog.py").read_text(), str(folder / "prog.py"), "exec"), scope)
            function, arguments = scope["build"]()
            log = os.open(folder / "vlog.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            sys.stderr.flush()
            kept = os.dup(2)
            os.dup2(log, 2)
            try:
                os.write(2, b"ORACLE-BEGIN\n")
                executable = jax.jit(function).lower(*arguments).compile().runtime_executable()
                os.write(2, b"ORACLE-END\n")
            finally:
                sys.stderr.flush()
                os.dup2(kept, 2)
                os.close(kept)
                os.close(log)
            (folder / "exec.bin").write_bytes(serialized(executable))
            print(f"ok {folder.name}", flush=True)
        except Exception as error:
            reason = str(error).strip().splitlines()
            print(f"no {folder.name} {type(error).__name__}: {reason[0] if reason else ''}", flush=True)


def compile_all(folders, devices):
    """Compiles what can be compiled; returns the names of those, and the others with the reason."""
    environment = dict(
        os.environ,
        TF_CPP_MIN_LOG_LEVEL="0",
        TF_CPP_VMODULE="thunk_executor=7,execution_graph=7",
        JAX_PLATFORMS="cpu",
        JAX_ENABLE_COMPILATION_CACHE="false",
    )
    flag = f"--xla_force_host_platform_device_count={devices}"
    environment["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    made, failed = [], []
    left = list(folders)
    while left:
        command = [sys.executable, __file__, "--worker", *map(str, left)]
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in child.stdout:
            verdict, name, *reason = line.rstrip("\n").split(" ", 2)
            left = [folder for folder in left if folder.name != name]
            print(f"  {name}{': ' + reason[0] if reason else ''}", flush=True)
            made.append(name) if verdict == "ok" else failed.append((name, reason))
        if child.wait() != 0 and left:
            print(f"  {left[0].name}: XLA ended the process ({child.returncode})", flush=True)
            failed.append((left.pop(0).name, ["crash"]))
        elif left:
            raise SystemExit(f"{len(left)} programs were never tried: {left[0].name}")
    return made, failed


def needs_devices(source):
    return 4 if "jax.devices()[:4]" in source else 1


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write; programs/ is made below it")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="make N random programs")
    parser.add_argument("--seed", type=int, default=1, help="number of the first random program")
    parser.add_argument("programs", nargs="*", type=Path, help="sources that define build()")
    options = parser.parse_args()

    sources = {}
    for seed in range(options.seed, options.seed + options.random):
        devices = 4 if seed % 4 == 0 else 1
        sources[f"random{seed:05}"] = random_program(seed, devices)
    given = options.programs or ([] if options.random else sorted(HERE.glob("programs/*/prog.py")))
    for path in given:
        name = path.resolve().parent.name if path.name == "prog.py" else path.stem
        sources[name] = path.read_text()

    by_devices = {}
    for name, source in sources.items():
        folder = options.out.resolve() / "programs" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "prog.py").write_text(source)
        by_devices.setdefault(needs_devices(source), []).append(folder)

    made, failed = [], []
    for devices, folders in sorted(by_devices.items()):
        more_made, more_failed = compile_all(folders, devices)
        made += more_made
        failed += more_failed
    for name, _ in failed:
        # Half a sample would only be reported as a wrong one.
        shutil.rmtree(options.out.resolve() / "programs" / name, ignore_errors=True)
    print(f"{len(made)} programs compiled into {options.out}, {len(failed)} could not be compiled")
    if not made:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
