"""What an AMD processor gains when torch's matrix library takes its AVX-512 path: one batch of deep kernels, twice.

MKL asks a function of its own whether the processor is Intel's, and goes a generic way where it is not. A library
loaded before it can answer in its place. Needs Linux and a C compiler; on Intel's processors the ratio is 1.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

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


def milliseconds(**environment):
    """Milliseconds per step and model, of a process of its own."""
    here, settings = Path(__file__).parent, {**os.environ, **environment}
    command = [sys.executable, "-c", TRAIN]
    return float(subprocess.run(command, cwd=here, env=settings, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
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
    main()
