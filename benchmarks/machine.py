"""What the machine decides: the same work on 1, 2 and 16 threads, and torch's matrix library on AMD's processors.

Small products in many threads wait for each other, more so where there are more threads than cores; each measurement
is a process of its own. MKL asks a function of its own whether the processor is Intel's, and goes a generic way where
it is not. A library loaded before it can answer in its place: one batch of deep kernels is trained twice. That needs
Linux and a C compiler; on Intel's processors the ratio is 1.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

THREADS = (1, 2, 16)
WORK = {
    "rolling weight, IHDP, 10 queries": "list(macal.get('macal-rolling').plan(state, [10] * 10))",
    "alc-fixed, IHDP, 200 labels": "macal.plan(pool.x, pool.t, problem.start, 20, 10)",
    "MACAL, IHDP, 200 labels": "macal.plan(pool.x, pool.t, problem.start, 20, 10, 'macal')",
    "exact processes, IHDP, 200 labels": "macal.evaluate(problem, [list(range(200))])",
    "joint process, IHDP, 200 labels": "macal.evaluate(problem, [list(range(200))], 'joint-gp')",
}
SETUP = """
import time, macal
from macal.acquisition import PoolState
problem = macal.load("ihdp", 0)
pool = problem.pool
macal.plan, macal.evaluate, macal.models.get("exact-gp")  # imported before the clock starts
state = PoolState(pool.x.astype(float), pool.t, problem.start)
start = time.perf_counter()
{work}
print(time.perf_counter() - start)
"""
MODELS = 12
ANSWER = "int mkl_serv_intel_cpu_true(void) { return 1; }"
TRAIN = f"""
import dataclasses, macal, torch
from due import SHORT, Due, batched
torch.set_num_threads(1)
problem, settings = macal.load("ihdp", 0), Due(device="cpu")
batched(dataclasses.replace(settings, steps=SHORT), problem, 2)
print(batched(settings, problem, {MODELS}))
"""


def seconds(work: str, threads: int) -> float:
    """Wall time of a piece of work in a new process."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = os.environ | dict.fromkeys(variables, str(threads))
    done = subprocess.run([sys.executable, "-c", SETUP.format(work=work)], env=env, capture_output=True, text=True)
    return float(done.stdout) if not done.returncode else sys.exit(done.stderr)


def milliseconds(**environment):
    """Milliseconds per step and model, of a process of its own."""
    here, settings = Path(__file__).parent, {**os.environ, **environment}
    command = [sys.executable, "-c", TRAIN]
    return float(subprocess.run(command, cwd=here, env=settings, check=True, stdout=subprocess.PIPE, text=True).stdout)


def threads():
    """Print what each piece of work takes by the number of threads."""
    print(f"seconds on {', '.join(map(str, THREADS))} threads, of {os.cpu_count()} cores")
    for name, work in WORK.items():
        print(f"{name}: {', '.join(f'{seconds(work, n):.2f}' for n in THREADS)}", flush=True)


def amd():
    """Print what MKL gains where it is told to take its AVX-512 path."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "avx.so")
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", library], input=ANSWER, check=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"not measured: {error}")
            return
        generic, told = milliseconds(), milliseconds(LD_PRELOAD=str(library))
    print(f"{MODELS} deep kernels at once, one thread: {generic:.2f} ms per step and model as installed,", end=" ")
    print(f"{told:.2f} ms where MKL is told to use AVX-512, {generic / told:.2f} times as fast")


if __name__ == "__main__":
    threads()
    amd()
