"""What threads cost: the same work on 1, 2 and 16 of them, each in a process of its own; more than cores, too.

Small products in many threads wait for each other. The package works on one thread where its blocks are small.
"""

import os
import subprocess
import sys

THREADS = (1, 2, 16)
WORK = {
    "rolling weight, IHDP, 10 queries": "list(macal.get('macal-rolling').steps(state, [10] * 10))",
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
state = PoolState(pool.x.astype(float), pool.t, problem.start)
start = time.perf_counter()
{work}
print(time.perf_counter() - start)
"""


def seconds(work: str, threads: int) -> float:
    """Wall time of a piece of work in a new process."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = os.environ | dict.fromkeys(variables, str(threads))
    done = subprocess.run([sys.executable, "-c", SETUP.format(work=work)], env=env, capture_output=True, text=True)
    return float(done.stdout) if not done.returncode else sys.exit(done.stderr)


if __name__ == "__main__":
    print(f"seconds on {', '.join(map(str, THREADS))} threads, of {os.cpu_count()} cores")
    for name, work in WORK.items():
        print(f"{name}: {', '.join(f'{seconds(work, n):.2f}' for n in THREADS)}", flush=True)
