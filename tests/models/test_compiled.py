"""Compiled steps against plain ones, in a process whose annotations are not checked: checks cannot be compiled."""

import json
import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import json, os
from concurrent.futures import ThreadPoolExecutor
import torch
from macal.models import training
from macal.models.due import Due
from macal.models.compiled import fused
from macal.models.network import Units

torch.set_num_threads(1)
torch._dynamo.config.recompile_limit = 3  # eight by default: as many would be compiled before one is refused
graphs = lambda: torch._dynamo.utils.counters["stats"]["unique_graphs"]


def batch(treatment):
    settings = Due(width=8, depth=1, inducing=6, batch=10, steps=5, treatment=treatment, device="cpu")
    jobs = []
    for seed in range(3):
        x = torch.randn(30, 4, generator=torch.Generator().manual_seed(seed))
        units = Units(x, torch.arange(30) % 2, torch.sin(2 * x[:, 0]))
        jobs.append(training.TrainingJob(seed, units, units, seed))
    return training.Batch(settings, jobs)


def stepped(treatment):
    found = batch(treatment)
    found._train()
    return torch.cat([tensor.flatten() for tensor in found.network.per_model().values()])


def singular(treatment):
    found = batch(treatment)
    gp = found.network.gp
    gp.inducing.data[:] = 0
    gp.kernel.outputscale = torch.full_like(gp.kernel.outputscale, 1e4)
    return found.network.elbo(found.x, found.t, found.y, found.n, found.network.kept(found.streams, 30)).detach()


singular_at_first = torch.linalg.cholesky_ex(1e4 * torch.ones(6, 6) + 1e-4 * torch.eye(6)).info > 0
found = {"singular": bool(singular_at_first)}
for name, call in {"stepped": stepped, "singular": singular}.items():
    for treatment in ("input", "separate"):
        os.environ["MACAL_COMPILE"] = "1"
        before = graphs()
        ours = call(treatment)
        compiled = graphs() - before
        del os.environ["MACAL_COMPILE"]
        plain = call(treatment)
        gap = (ours - plain).abs().max() / plain.abs().max()
        found[f"{name} {treatment}"] = {"graphs": compiled, "gap": float(gap), "equal": bool(torch.equal(ours, plain))}


def doubled(n):
    return 2 * torch.ones(n)


def in_a_thread_of_its_own(n):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fused(doubled), n).result().sum().item()


found["sizes"] = [in_a_thread_of_its_own(n) for n in range(1, 6)]
print(json.dumps(found))
"""


pytestmark = pytest.mark.exhaustive  # torch.compile takes two minutes


@pytest.fixture(scope="module")
def found():
    if not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("torch.compile needs a C++ compiler")
    order = [sys.executable, "-c", PROGRAM]
    environment = {k: v for k, v in os.environ.items() if k != "MACAL_COMPILE"}
    done = subprocess.run(order, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("treatment", ["input", "separate"])
def test_compiled_steps_equal_plain_ones_up_to_rounding(found, treatment):
    case = found[f"stepped {treatment}"]
    assert case["graphs"] == 2  # the objective and Adam's move
    assert case["gap"] < 1e-3 and not case["equal"]


@pytest.mark.parametrize("treatment", ["input", "separate"])
def test_a_covariance_that_needs_more_jitter_is_factorised_without_the_graph(found, treatment):
    case = found[f"singular {treatment}"]
    assert found["singular"] and case["gap"] < 1e-3


def test_more_sizes_are_compiled_than_torch_is_told_to_allow(found):
    assert found["sizes"] == [2 * n for n in range(1, 6)]
