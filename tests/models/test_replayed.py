"""Recorded training steps against plain ones; without a GPU a recording calls the step again."""

import pytest
import torch

from macal.models import replayed, training
from macal.models.due import CNN, Due
from macal.models.network import Units

SMALL = {
    "dnn": {"width": 8, "depth": 2, "inducing": 6, "batch": 10, "steps": 5},
    "cnn": CNN | {"width": 4, "inducing": 6, "batch": 5, "steps": 3},
}


def batch(encoder, treatment, n=30, device="cpu"):
    settings = Due(**SMALL[encoder], treatment=treatment, device=device)
    jobs = []
    for seed in range(2):
        x = torch.randn(n, 784 if encoder == "cnn" else 4, generator=torch.Generator().manual_seed(seed))
        units = Units(*(a.to(device) for a in (x, torch.arange(n) % 2, torch.sin(2 * x[:, 0]))))
        jobs.append(training.TrainingJob(seed, units, units, seed))
    return training.Batch(settings, jobs)


def order_of(found):
    s = found.settings
    return found.streams.minibatches([30, 30], s.steps, s.batch).to(found.x.device)


def plainly(found, order):
    s = found.settings
    kept = found.network.kept(found.streams, s.steps * s.batch)
    for k in range(s.steps):
        at = slice(k * s.batch, (k + 1) * s.batch)
        found._step(order[:, k], [mask[:, at] for mask in kept], found.epochs * s.steps + k + 1)


def follow(ours, plain, epoch, **tolerance):
    for _ in range(2):
        epoch()
        plainly(plain, order_of(plain))
        for one in (ours, plain):
            one.epochs += 1
        assert ours._replayed is not None
        agree(ours, plain, **tolerance)


def agree(ours, plain, rtol=1e-5, atol=1e-6):
    for name, tensor in ours.network.per_model().items():
        torch.testing.assert_close(tensor, plain.network.per_model()[name], rtol=rtol, atol=atol)


@pytest.fixture(autouse=True)
def called_again(request, monkeypatch):
    if "gpu" in request.node.name:
        return
    monkeypatch.setattr(replayed, "record", lambda call: call)
    monkeypatch.setattr(replayed, "apart", lambda call: call())


@pytest.mark.parametrize("treatment", ["input", "separate"])
@pytest.mark.parametrize("encoder", ["dnn", "cnn"])
def test_epochs_equal_plain_ones(encoder, treatment):
    ours, plain = batch(encoder, treatment), batch(encoder, treatment)
    follow(ours, plain, lambda: ours._replay(order_of(ours)))


def test_a_recording_reads_and_writes_the_same_memory():
    found = batch("dnn", "input")
    before = {name: tensor.data_ptr() for name, tensor in found.network.per_model().items()}
    found._replay(order_of(found))
    assert {name: tensor.data_ptr() for name, tensor in found.network.per_model().items()} == before


def test_an_epoch_that_fails_is_repeated_plainly(monkeypatch):
    """As a recording does, which cannot add jitter, its steps yield NaN."""
    ours, plain = batch("dnn", "separate"), batch("dnn", "separate")
    step, last = ours._step, ours.settings.steps

    def broken(at, kept, number):
        bound = step(at, kept, number)
        if int(number[0]) == last:
            ours.network.gp.inducing.data.fill_(torch.nan)
            return torch.full_like(bound, torch.nan)
        return bound

    recorded = replayed.Replayed
    monkeypatch.setattr(training, "Replayed", lambda *given: recorded(given[0], given[1], broken, *given[3:]))
    ours._replay(order_of(ours))
    plainly(plain, order_of(plain))
    assert ours._replayed is None
    agree(ours, plain)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("treatment", ["input", "separate"])
@pytest.mark.parametrize("encoder", ["dnn", "cnn"])
def test_recorded_epochs_equal_plain_ones_on_a_gpu(encoder, treatment):
    ours, plain = (batch(encoder, treatment, device="cuda") for _ in range(2))
    follow(ours, plain, ours._train, rtol=1e-3, atol=1e-4)
