"""Early-stopped training of many deep kernels as one batch, refilled from a queue as models finish.

The first axis of every tensor is the model's: b models are in training, of n units each, shorter sets filled up.

Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", arXiv:1412.6980, 2015.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from macal.models.base import NotFitted
from macal.models.cholesky import NotPositiveDefinite
from macal.models.compiled import fused, wanted
from macal.models.network import DeepKernel, Units, build, pad
from macal.models.replayed import Replayed
from macal.models.settings import Settings
from macal.models.shapes import Marks, PerModel, Values
from macal.models.streams import Streams
from macal.threads import one_torch_thread

BETAS, EPS = (0.9, 0.999), 1e-8
_SINGULAR = (
    "the covariance of its inducing points is not positive definite in float32 at any jitter up to 0.1; look for"
    " repeated or huge covariates or outcomes, or lower the learning rates"
)


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One model to train: its place among the tasks, its units and its seed."""

    place: int
    labelled: Units
    valid: Units
    seed: int

    def failed(self, reason: str) -> NotFitted:
        """Return the error that says of which task the training failed."""
        return NotFitted(self.place, f"{len(self.labelled)} labelled units, seed {self.seed}: {reason}")


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves: the place among the tasks, the network in its best state, epochs run, best loss."""

    place: int
    network: DeepKernel
    epochs: int
    valid_loss: float


def _column(per_model: Marks, like: torch.Tensor) -> torch.Tensor:
    """Reshape (b,) to (b, 1, ..., 1), with as many axes as ``like``."""
    return per_model.view(-1, *[1] * (like.ndim - 1))


class Adam:
    """Adam with L2 weight decay whose step count and decay are each model's own; its means m and v are (b, ...)."""

    def __init__(self, network: DeepKernel, lr: float, lr_gp: float) -> None:
        self.rates = {name: lr if name.startswith("encoder") else lr_gp for name, _ in network.named_parameters()}
        self.first = {name: torch.zeros_like(p) for name, p in network.named_parameters()}
        self.second = {name: torch.zeros_like(p) for name, p in network.named_parameters()}

    @torch.no_grad()
    def step(self, network: DeepKernel, loss: torch.Tensor, decay: PerModel, steps: PerModel) -> None:
        """Move each model down the gradient of ``loss``, the sum of all their losses; ``steps`` counts from 1."""
        names, parameters = zip(*network.named_parameters(), strict=True)
        gradients = torch.autograd.grad(loss, parameters)
        moments = [(self.first[name], self.second[name], self.rates[name]) for name in names]
        move = fused(_move) if wanted() else _move
        move([p.detach() for p in parameters], gradients, moments, decay, steps)


def _move(
    parameters: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    moments: Sequence[tuple[torch.Tensor, torch.Tensor, float]],
    decay: PerModel,
    steps: PerModel,
) -> None:
    """Move parameters p in place, in the k-th step: p <- p - rate m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps)."""
    # (b,): corrections of the moments
    first, second = 1 - BETAS[0] ** steps, (1 - BETAS[1] ** steps).sqrt()
    for p, g, (m, v, rate) in zip(parameters, gradients, moments, strict=True):
        g = torch.addcmul(g, p, _column(decay, p))
        m.lerp_(g, 1 - BETAS[0])
        v.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
        scale = v.sqrt().add_(_column(EPS * second, p)).mul_(_column(first / second / rate, p))
        p.addcdiv_(m, scale, value=-1)


class Batch:
    """The models in training, as many as the batch holds at the moment."""

    def __init__(self, settings: Settings, jobs: Sequence[TrainingJob]) -> None:
        self.settings, self.jobs = settings, list(jobs)
        device = jobs[0].labelled.x.device
        self.streams = Streams.of((job.seed for job in jobs), device)
        self.network = build(settings, [job.labelled for job in jobs], self.streams)
        self.adam = Adam(self.network, settings.lr, settings.lr_gp)
        self.best = {name: tensor.clone() for name, tensor in self.network.per_model().items()}
        self.best_loss = torch.full((len(jobs),), math.inf, device=device)
        self.epochs = torch.zeros(len(jobs), dtype=torch.int64, device=device)
        self.waited = torch.zeros_like(self.epochs)
        self._gather()

    def _gather(self) -> None:
        """Lay the units of all models side by side."""
        labelled, valid = [job.labelled for job in self.jobs], [job.valid for job in self.jobs]
        # (b, n, d), (b, n), (b, n)
        self.x, self.t, self.y = (pad([getattr(u, name) for u in labelled]) for name in "xty")
        self.valid = [pad([getattr(u, name) for u in valid]) for name in "xty"]
        size = self.settings.batch if self.settings.validation == "minibatches" else None
        weights = [minibatch_weights(len(u), size).to(self.x.device) for u in valid]
        self.weights = pad(weights)
        self.n = torch.tensor([float(len(u)) for u in labelled], device=self.x.device)
        self.decay = 0.5 * (1 - self.settings.dropout) / self.n
        self._model = torch.arange(len(self.jobs), device=self.x.device)
        self._replayed: Replayed | None = None

    def epoch(self) -> None:
        """Train every model for one epoch, then keep the states that validate best; NotFitted where one fails."""
        try:
            self._train()
            loss = self._validate()
        except NotPositiveDefinite as error:
            raise self.jobs[error.rows[0]].failed(_SINGULAR) from error
        self.epochs += 1
        better = loss < self.best_loss
        self.best_loss = torch.where(better, loss, self.best_loss)
        self.waited = torch.where(better, 0, self.waited + 1)
        for name, tensor in self.network.per_model().items():
            self.best[name] = torch.where(_column(better, tensor), tensor, self.best[name])
        lost = ~torch.isfinite(self.best_loss) & ~torch.isfinite(loss)
        if lost.any():
            raise self.jobs[int(lost.nonzero()[0])].failed("its validation loss is not finite; check y's scale")

    def _train(self) -> None:
        s = self.settings
        # (b, steps, batch)
        order = self.streams.minibatches((len(j.labelled) for j in self.jobs), s.steps, s.batch).to(self.x.device)
        if self.x.is_cuda:
            self._replay(order)
            return
        for k in range(s.steps):
            self._step(order[:, k], self.network.kept(self.streams, s.batch), self.epochs * s.steps + k + 1)

    def _replay(self, order: torch.Tensor) -> None:
        """Train for an epoch by recorded steps; by plain ones, which can add jitter, where those fail."""
        s, done = self.settings, self.epochs * self.settings.steps
        # (b, steps batch, ...) -> (b, steps, batch, ...)
        kept = [mask.unflatten(1, (s.steps, s.batch)) for mask in self.network.kept(self.streams, s.steps * s.batch)]
        if self._replayed is None:
            moments = [*self.adam.first.values(), *self.adam.second.values()]
            self._replayed = Replayed(self.network, moments, self._step, order, kept)
        if not self._replayed.epoch(order, kept, done):
            self._replayed = None  # plain steps replace tensors that it reads
            for k in range(s.steps):
                self._step(order[:, k], [mask[:, k] for mask in kept], done + k + 1)

    def _step(self, rows: torch.Tensor, kept: list[torch.Tensor], step: Marks) -> PerModel:
        """Train each model by a minibatch of its own units, (b, batch), in the step of this number; return bounds."""
        at = self._model[:, None], rows
        bound = self.network.elbo(self.x[at], self.t[at], self.y[at], self.n, kept)
        self.adam.step(self.network, -bound.sum(), self.decay, step.float())
        return bound.detach()

    @torch.no_grad()
    def _validate(self) -> PerModel:
        """Return each model's weighted mean of -E_q[log p(y | f)] over its validation units."""
        chunks = zip(*(a.split(self.settings.chunk, dim=1) for a in (*self.valid, self.weights)), strict=True)
        return -sum((self.network.log_density(x, t, y) * w).sum(1) for x, t, y, w in chunks)

    def pop_finished(self) -> Iterator[Trained]:
        """Yield the models that stop, and drop them from the batch."""
        s = self.settings
        done = (self.waited >= s.patience) | (self.epochs >= s.epochs)
        for i in torch.nonzero(done)[:, 0].tolist():
            network = self.network.copy_of({name: tensor[i : i + 1] for name, tensor in self.best.items()})
            yield Trained(self.jobs[i].place, network, int(self.epochs[i]), float(self.best_loss[i]))
        if done.any():
            rows = torch.nonzero(~done)[:, 0]
            self.jobs = [self.jobs[i] for i in rows.tolist()]
            self.streams = self.streams.take(rows.tolist())
            self._map(lambda tensor, _: tensor[rows])

    def join(self, other: "Batch") -> "Batch":
        """Take over the models of another batch; return this one."""
        self.jobs += other.jobs
        self.streams = self.streams.join(other.streams)
        self._map(lambda mine, theirs: torch.cat([mine, theirs]), other)
        return self

    def _map(self, rule: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], other: "Batch | None" = None) -> None:
        """Apply ``rule`` to every tensor with a model axis, alongside the other batch's, and lay the units anew."""
        other = other or self

        def all_of(mine: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return {name: rule(tensor, theirs[name]) for name, tensor in mine.items()}

        state = all_of(self.network.per_model(), other.network.per_model())
        self.best = all_of(self.best, other.best)
        self.adam.first, self.adam.second = (
            all_of(mine, theirs)
            for mine, theirs in ((self.adam.first, other.adam.first), (self.adam.second, other.adam.second))
        )
        for name in ("best_loss", "epochs", "waited"):
            setattr(self, name, rule(getattr(self, name), getattr(other, name)))
        if self.jobs:
            self.network.set_per_model(state)
            self._gather()


def train(settings: Settings, jobs: Sequence[TrainingJob]) -> Iterator[Trained]:
    """Yield trained models as they finish, at most ``settings.slots`` in training at a time.

    On a CPU each of torch's threads trains a batch of its own, on CUDA there is one. The largest labelled sets go
    first. NotFitted where a training fails; ``place`` is its job's.
    """
    queue = sorted(jobs, key=lambda job: len(job.labelled))
    on_cpu = bool(queue) and queue[0].labelled.x.device.type == "cpu"
    workers = min(torch.get_num_threads(), settings.slots, len(queue)) if on_cpu else 1
    guard = one_torch_thread() if on_cpu else lambda call: call
    batches: list[Batch] = []
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        while queue or batches:
            batches = _refill(settings, batches, queue, workers, pool, guard)
            list(pool.map(guard(Batch.epoch), batches))
            for batch in batches:
                yield from batch.pop_finished()
            batches = [batch for batch in batches if batch.jobs]


def _refill(
    settings: Settings,
    batches: list[Batch],
    queue: list[TrainingJob],
    workers: int,
    pool: ThreadPoolExecutor,
    guard: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> list[Batch]:
    """Take jobs off the queue until the slots are full, the smallest batch first in line, and return the batches."""
    sizes = [len(batch.jobs) for batch in batches] + [0] * (workers - len(batches))
    fresh: list[list[TrainingJob]] = [[] for _ in sizes]
    while queue and sum(sizes) < settings.slots:
        smallest = sizes.index(min(sizes))
        fresh[smallest].append(queue.pop())
        sizes[smallest] += 1
    places = [k for k, new in enumerate(fresh) if new]
    started = dict(zip(places, pool.map(guard(partial(Batch, settings)), [fresh[k] for k in places]), strict=True))
    grown = [batch.join(started.pop(k)) if k in started else batch for k, batch in enumerate(batches)]
    return grown + list(started.values())


def minibatch_weights(n: int, batch: int | None) -> Values:
    """Return weights that sum to 1: equal, or those of an unweighted average of minibatch means."""
    if batch is None:
        return torch.full((n,), 1 / n)
    sizes = torch.tensor([len(part) for part in torch.arange(n).split(batch)])
    return torch.repeat_interleave(1 / (sizes * len(sizes)), sizes).float()
