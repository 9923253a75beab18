"""The batched deep kernel against a plain one of gpytorch, and what must not depend on the batch."""

import dataclasses

import gpytorch
import numpy as np
import pytest
import torch
from cases import exhaustive
from torch.nn import functional

import macal
from macal.models import NotFitted, Task, cholesky, due, get, training
from macal.models.base import settings_of
from macal.models.due import CODE, Due
from macal.models.gradients import gradients
from macal.models.network import Units, build
from macal.models.sparse_gp import KERNELS
from macal.models.streams import Streams
from macal.problem import Split

SMALL = Due(width=8, depth=2, inducing=6, batch=10, steps=5, epochs=3, slots=8, device="cpu")
LATE = dataclasses.replace(SMALL, epochs=40, patience=3)  # long enough to stop early


@pytest.fixture(autouse=True)
def one_thread():
    """Products this small only lose by threads; those that train in batches of their own are tested by name."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def split(seed, n, d=4):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    t = np.resize([0, 1, 0], n)
    return Split(x.astype(np.float32), t, np.sin(2 * x[:, 0]) + t + 0.1 * rng.normal(size=n))


VALID = split(99, 25)


def job(seed, n, place=0):
    return training.TrainingJob(
        place, Units.of(split(seed, n), torch.device("cpu")), Units.of(VALID, torch.device("cpu")), seed
    )


class PlainGP(gpytorch.models.ApproximateGP):
    """gpytorch's sparse variational GP as its manual writes it, with one model's initial values."""

    def __init__(self, gp, arm):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(gp.inducing.shape[2])
        inducing = gp.inducing[0, arm].detach().clone()
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean = gpytorch.means.ConstantMean()
        kernel = type(gp.kernel.base_kernel)
        options = {"nu": gp.kernel.base_kernel.nu} if hasattr(gp.kernel.base_kernel, "nu") else {}
        self.kernel = gpytorch.kernels.ScaleKernel(kernel(**options))
        self.to(gp.inducing.dtype)
        self.kernel.base_kernel.raw_lengthscale.data.copy_(gp.kernel.base_kernel.raw_lengthscale[0, arm])
        self.variational_strategy.variational_params_initialized.fill_(1)
        distribution.variational_mean.data.copy_(gp.variational.variational_mean[0, arm])

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Plain(torch.nn.Module):
    """One deep kernel, one arm or one treatment input at a time: the readable reading of the method."""

    def __init__(self, network, settings, streams):
        super().__init__()
        self.settings, self.streams = settings, streams
        layers = [network.encoder.stem, *network.encoder.blocks]
        self.w = torch.nn.ParameterList(torch.nn.Parameter(layer.weight[0].detach().clone()) for layer in layers)
        self.b = torch.nn.ParameterList(torch.nn.Parameter(layer.bias[0, 0].detach().clone()) for layer in layers)
        self.left = [layer.left[0, :, 0].clone() for layer in layers]
        self.right = [layer.right[0, :, 0].clone() for layer in layers]
        self.gps = torch.nn.ModuleList(PlainGP(network.gp, arm) for arm in range(network.gp.inducing.shape[1]))
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood().to(self.w[0].dtype)

    def linear(self, k, x):
        with torch.no_grad():
            self.right[k] = functional.normalize(self.w[k].T @ self.left[k], dim=0)
            self.left[k] = functional.normalize(self.w[k] @ self.right[k], dim=0)
        sigma = self.left[k] @ self.w[k] @ self.right[k]
        return functional.linear(x, self.w[k] / torch.clamp(sigma / self.settings.bound, min=1), self.b[k])

    def features(self, x):
        z = self.linear(0, x)
        for k in range(1, self.settings.depth):
            kept = self.streams.kept(*z.shape, rate=self.settings.dropout)[0]
            z = z + self.linear(k, functional.elu(z) * kept / (1 - self.settings.dropout))
        return functional.elu(z)

    def elbo(self, x, t, y, n):
        phi = self.features(x)
        if self.settings.treatment == "input":
            f = self.gps[0](torch.cat([phi, self.settings.treatment_scale * t[:, None]], dim=1))
            return gpytorch.mlls.VariationalELBO(self.likelihood, self.gps[0], num_data=n)(f, y)
        fit, divergence = 0, 0
        for arm, gp in enumerate(self.gps):
            fit = fit + self.likelihood.expected_log_prob(y[t == arm], gp(phi[t == arm])).sum()
            divergence = divergence + gp.variational_strategy.kl_divergence()
        return fit / len(y) - divergence / n

    def parameters_by_name(self, values=lambda p: p):
        """The names of the batched network -> this one's values."""
        gp = lambda name: [values(gp.get_parameter(name)) for gp in self.gps]  # noqa: E731
        strategy = "variational_strategy._variational_distribution."
        found = {
            "encoder.stem.weight": values(self.w[0]),
            "encoder.blocks.0.weight": values(self.w[1]),
            "encoder.blocks.0.bias": values(self.b[1]),
            "gp.inducing": torch.stack(gp("variational_strategy.inducing_points")),
            "gp.variational.variational_mean": torch.stack(gp(strategy + "variational_mean")),
            "gp.variational.chol_variational_covar": torch.stack(gp(strategy + "chol_variational_covar")).tril(),
            "gp.mean.raw_constant": torch.stack(gp("mean.raw_constant")),
            "gp.kernel.raw_outputscale": torch.stack(gp("kernel.raw_outputscale")),
            "gp.kernel.base_kernel.raw_lengthscale": torch.stack(gp("kernel.base_kernel.raw_lengthscale")),
            "gp.likelihood.noise_covar.raw_noise": values(self.likelihood.noise_covar.raw_noise),
        }
        if "kernel.base_kernel.raw_alpha" in dict(self.gps[0].named_parameters()):
            found["gp.kernel.base_kernel.raw_alpha"] = torch.stack(gp("kernel.base_kernel.raw_alpha"))
        return found


TREATMENTS = [("input", 1.0), ("input", 10.0), ("separate", 1.0)]  # and what an input is multiplied by


def both(treatment, kernel, seed=5, n=30, dtype=torch.float32, scale=1.0):
    settings = dataclasses.replace(SMALL, treatment=treatment, kernel=kernel, treatment_scale=scale)
    one = job(seed, n)
    batch = training.Batch(settings, [one])
    batch.network.to(dtype)
    streams = Streams.of([seed])
    build(settings, [one.labelled], streams)  # leaves the streams where the batch's are
    return batch, Plain(batch.network, settings, streams), one.labelled


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize(("treatment", "scale"), TREATMENTS)
def test_bound_and_gradients_equal_gpytorch(treatment, scale, kernel):
    batch, plain, units = both(treatment, kernel, dtype=torch.float64, scale=scale)
    args = units.x[:12].double(), units.t[:12], units.y[:12].double()
    kept = batch.network.kept(batch.streams, 12)
    ours = batch.network.elbo(*(a[None] for a in args), torch.tensor([30.0]), kept).sum()
    with gpytorch.settings.variational_cholesky_jitter(double_value=1e-4):
        theirs = plain.elbo(*args, 30)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-7)
    theirs.backward()
    named = dict(batch.network.named_parameters())
    slopes = dict(zip(named, torch.autograd.grad(ours, list(named.values())), strict=True))
    for name, expected in plain.parameters_by_name(lambda p: p.grad).items():
        noisy = kernel == "matern-1/2" and name == "gp.inducing"  # gpytorch's own, from distances of 1e-15 to itself
        size = expected.abs().max().item() * (1e5 if noisy else 1)
        torch.testing.assert_close(
            slopes[name].view_as(expected),
            expected,
            rtol=1e-4,
            atol=1e-6 * size + 1e-12,
            msg=lambda m, name=name: f"{name}: {m}",
        )


@pytest.mark.parametrize("treatment", ["input", "separate"])
def test_an_epoch_equals_gpytorch_and_torch_adam(treatment):
    batch, plain, units = both(treatment, "rbf")
    s = batch.settings
    encoder = [*plain.w, *plain.b]
    rest = [*plain.gps.parameters(), *plain.likelihood.parameters()]
    decay = 0.5 * (1 - s.dropout) / 30
    groups = [{"params": encoder, "lr": s.lr}, {"params": rest, "lr": s.lr_gp}]
    optimiser = torch.optim.Adam(groups, weight_decay=decay)
    for rows in plain.streams.minibatches([30], s.steps, s.batch)[0]:
        optimiser.zero_grad()
        (-plain.elbo(units.x[rows], units.t[rows], units.y[rows], 30)).backward()
        optimiser.step()
    batch._train()
    trained = batch.network.per_model()
    for name, expected in plain.parameters_by_name().items():
        found = trained[name].tril() if "chol_" in name else trained[name]
        torch.testing.assert_close(
            found.view_as(expected), expected.detach(), rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.parametrize(("treatment", "scale"), TREATMENTS)
def test_pair_equals_gpytorch(treatment, scale):
    batch, plain, _ = both(treatment, "matern-3/2", scale=scale)
    with torch.no_grad():
        root = batch.network.gp.variational.chol_variational_covar
        root.mul_(0.3)  # away from the prior
        phi = batch.network.encoder(torch.from_numpy(VALID.x.copy())[None])
        mean, cov = batch.network.gp.pair(phi)
        for arm, gp in enumerate(plain.gps):
            gp.eval().variational_strategy._variational_distribution.chol_variational_covar.copy_(root[0, arm])
        n = len(VALID)
        if treatment == "input":
            points = torch.cat([torch.cat([phi[0], torch.full((n, 1), scale * arm)], dim=1) for arm in (0, 1)])
            f = plain.gps[0](points)
            full = f.covariance_matrix
            torch.testing.assert_close(mean[0].T.flatten(), f.mean, rtol=1e-4, atol=1e-6)
            torch.testing.assert_close(cov[0, :, 0, 1], full[:n, n:].diagonal(), rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(cov[0, :, 1, 1], full[n:, n:].diagonal(), rtol=1e-3, atol=2e-4)
        else:
            for arm, gp in enumerate(plain.gps):
                f = gp(phi[0])
                torch.testing.assert_close(mean[0, :, arm], f.mean, rtol=1e-4, atol=1e-6)
                torch.testing.assert_close(cov[0, :, arm, arm], f.variance, rtol=1e-3, atol=2e-4)
            assert (cov[0, :, 0, 1] == 0).all()


def tasks(sizes):
    return [Task(split(seed, n), VALID, seed) for seed, n in enumerate(sizes)]


def means(settings, tasks):
    return [fitted.predict(split(50, 9).x).mean for fitted in settings.fit(tasks)]


@pytest.mark.parametrize("threads", [1, 2])
def test_streaming_through_few_slots_changes_rounding_only(threads):
    few = dataclasses.replace(SMALL, slots=3)
    whole = means(SMALL, tasks([12, 30, 1, 7, 20]))
    torch.set_num_threads(threads)
    streamed, again = (means(few, tasks([12, 30, 1, 7, 20])) for _ in range(2))
    assert torch.get_num_threads() == threads
    for a, b, c in zip(whole, streamed, again, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
        assert (b == c).all()  # to the bit


def test_each_model_stops_on_its_own_and_keeps_its_best_state():
    jobs = [job(seed, n, place) for place, (seed, n) in enumerate([(0, 3), (1, 30), (2, 8)])]
    batch, losses, left = training.Batch(LATE, jobs), {0: [], 1: [], 2: []}, []
    while batch.jobs:
        places = [j.place for j in batch.jobs]
        batch.epoch()
        for place, loss in zip(places, batch._validate().tolist(), strict=True):
            losses[place].append(loss)
        left += list(batch.pop_finished())
    assert len({model.epochs for model in left}) > 1
    units = Units.of(VALID, torch.device("cpu"))
    for model in left:
        own = losses[model.place]
        assert model.epochs == len(own) == min(int(np.argmin(own)) + 1 + LATE.patience, LATE.epochs)
        assert model.valid_loss == pytest.approx(min(own), rel=1e-5)
        with torch.no_grad():
            again = -model.network.log_density(units.x[None], units.t[None], units.y[None]).mean()
        assert again.item() == pytest.approx(model.valid_loss, rel=1e-4)


def test_one_unit_and_one_arm_are_enough():
    controls = split(0, 9)[[0, 2, 3]]
    for labelled in (controls, controls[:1]):
        for treatment in ("input", "separate"):
            settings = dataclasses.replace(SMALL, treatment=treatment)
            posterior = settings.fit([Task(labelled, VALID)])[0].predict(VALID.x)
            assert np.isfinite(posterior.mean).all() and np.linalg.eigvalsh(posterior.cov).min() >= -1e-5


def test_code_weighs_validation_minibatches_equally():
    weights = training.minibatch_weights(202, 100)
    assert weights.sum().item() == pytest.approx(1)
    assert weights[-2:].sum().item() == pytest.approx(1 / 3)  # the last two of 202 units
    assert torch.equal(training.minibatch_weights(4, None), torch.full((4,), 0.25))


@pytest.mark.parametrize("treatment", ["input", "separate"])
def test_gradients_by_unit_and_their_projection(treatment):
    fitted = dataclasses.replace(SMALL, treatment=treatment).fit(tasks([30]))[0]
    x, t = torch.from_numpy(VALID.x.copy()), torch.from_numpy(VALID.t.copy())
    rows = dict(gradients(fitted.network, x, t))
    mean = fitted.network.gp.marginals(fitted.network.encoder(x[None]), t[None])[0][0, 3]
    names, weights = zip(*fitted.network.encoder.named_parameters(), strict=True)
    for name, one in zip(names, torch.autograd.grad(mean, weights), strict=True):
        torch.testing.assert_close(rows[name][3], one.flatten(), rtol=1e-3, atol=1e-5)
    exact = torch.cat(list(rows.values()), dim=1)
    sketch = fitted.gradients(VALID.x, VALID.t, dimensions=4000)
    norms = exact.norm(dim=1)
    error = (torch.from_numpy(sketch @ sketch.T) - exact @ exact.T) / (norms[:, None] * norms)
    assert error.abs().max() < 6 / 4000**0.5
    whole, part = fitted.gradients(VALID.x, VALID.t), fitted.gradients(VALID.x[:4], VALID.t[:4])
    np.testing.assert_allclose(part, whole[:4], rtol=1e-3, atol=1e-6)


def test_a_campaign_trains_as_one_batch_and_reports_its_epochs():
    problem = macal.load("ihdp", 0, protocol="code")
    model = dataclasses.replace(SMALL, **CODE)
    history = macal.run(problem, "random", model=model, n_queries=2)
    assert history.labelled.tolist() == [10, 20, 30] and (history.epochs == 3).all()
    assert np.isfinite(history.pehe).all() and np.isfinite(history.valid_loss).all()
    sets = [np.concatenate([problem.start, *history.attrs["picks"][:1]])]
    again = macal.evaluate(problem, sets, model)
    assert again.pehe[0] == pytest.approx(history.pehe[1], rel=1e-3)


@pytest.mark.exhaustive
def test_outcomes_are_standardised_before_training_and_predicted_in_their_own_unit():
    def problem(mean, sd):
        pool, valid, test = (split(seed, n) for seed, n in ((1, 30), (2, 25), (3, 12)))
        pool, valid, test = (
            Split(s.x, s.t, mean + sd * s.y, mean + 0 * s.y, mean + sd * s.t) for s in (pool, valid, test)
        )
        return macal.problem.Problem("own", pool, test, np.arange(12), valid, y_scale=(mean, sd))

    plain, other = problem(0.0, 1.0), problem(-30.0, 4.0)
    (a,), (b,) = (macal.campaigns.train(LATE, [(p, p.start)]) for p in (plain, other))
    beliefs = a.predict(plain.test.x), b.predict(other.test.x)
    assert a.info["epochs"] == b.info["epochs"] > 3
    np.testing.assert_allclose(beliefs[1].mean, 4 * beliefs[0].mean - 30, atol=1e-3)
    np.testing.assert_allclose(beliefs[1].cov, 16 * beliefs[0].cov, rtol=1e-3, atol=1e-5)


def test_known_by_name_with_the_papers_settings():
    model = get("due")
    assert (model.treatment, model.kernel, model.validation) == ("separate", "rbf", "units")
    assert get("due", **due.CNN).encoder == "cnn"


def test_records_name_a_later_setting_only_where_it_is_set():
    code = get("due", **due.CODE)
    scaled = dataclasses.replace(code, treatment_scale=10.0)
    early = {k: v for k, v in dataclasses.asdict(code).items() if k not in ("treatment_scale", "precision")}
    assert settings_of(code) == early and settings_of(scaled) == early | {"treatment_scale": 10.0}


def test_the_start_spreads_inducing_points_over_the_scaled_treatment():
    treated = [both("input", "rbf", scale=scale)[0].network.gp.inducing[0, 0, :, -1] for scale in (1.0, 10.0)]
    assert treated[0].max() < 1.2 and treated[1].max() > 6


def test_images_train():
    rng = np.random.default_rng(0)
    units = Split(rng.normal(size=(8, 784)), np.resize([0, 1], 8), rng.normal(size=8))
    settings = get("due", **due.CNN | {"width": 4, "inducing": 4, "batch": 4, "steps": 2, "epochs": 1, "device": "cpu"})
    posteriors = [fitted.predict(units.x[:3]) for fitted in settings.fit([Task(units, units, k) for k in (0, 1)])]
    assert all(np.isfinite(p.mean).all() and p.mean.shape == (3, 2) for p in posteriors)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: get("due", kernel="matern"), r"'matern' .*'matern-\d/2'"),
        (lambda: get("due", treatment="both"), "'both'"),
        (lambda: get("due", dropout=1.0), "dropout"),
        (lambda: get("due", bound=0.0), "bound"),
        (lambda: get("due", lr=-1.0), "lr"),
        (lambda: get("due", treatment_scale=2.0), "treatment_scale"),
        (lambda: get("due", treatment="input", treatment_scale=0.0), "treatment_scale"),
        (lambda: get("due", precision="bfloat16"), "'bfloat16'"),
        (lambda: get("due", device="gpu"), "'gpu'"),
        (lambda: get("due", slots=0), "slots"),
        (lambda: SMALL.fit([Task(split(0, 4))]), r"validation .*tasks\[0\]"),
        (lambda: SMALL.fit([Task(split(0, 4)[[]], VALID)]), r"labelled .*tasks\[0\]"),
        (lambda: SMALL.fit([*tasks([4]), Task(split(0, 4, d=3), split(1, 4, d=3))]), r"3.* tasks\[1\]"),
        (lambda: get("due", **due.CNN).fit(tasks([4])), "784"),
        (lambda: SMALL.fit([Task(split(0, 4), VALID, -1)]), "seed .*-1"),
        (lambda: macal.evaluate(macal.load("toy"), [[0, 1, 2]], SMALL), "validation"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


SIX = split(0, 6)
HUGE = Split(SIX.x, SIX.t, np.full(6, 1e38))
FAR = Split(SIX.x * np.float32(1e30), SIX.t, SIX.y)


@pytest.mark.parametrize("slots", [1, exhaustive(2), exhaustive(8)])
@pytest.mark.parametrize(
    ("hopeless", "reason"),
    [
        (Task(SIX, HUGE, 7), "its validation loss is not finite"),
        (Task(HUGE, VALID, 7), "the covariance of its inducing points is not positive definite"),
        (Task(FAR, VALID, 7), "the covariance of its inducing points is not positive definite"),
    ],
)
def test_a_hopeless_task_is_named_by_its_place_among_the_tasks(hopeless, reason, slots):
    # the small sets are trained last, in rows that others have left
    jobs = [*tasks([30, 20, 5]), hopeless, *tasks([25])]
    with pytest.raises(NotFitted, match=rf"tasks\[3\] \(6 labelled units, seed 7: {reason}") as caught:
        dataclasses.replace(SMALL, slots=slots).fit(jobs)
    assert caught.value.place == 3


@pytest.mark.parametrize("criterion", ["random", "mu-bald"])
def test_a_failing_campaign_and_its_step_are_named(criterion):
    units = split(1, 15)
    y = np.where(np.arange(15) < 5, units.y, 1e38)
    pool, rest = Split(units.x, units.t, y), Split(VALID.x, VALID.t, VALID.y, VALID.y, VALID.y)
    problem = macal.problem.Problem("own", pool, rest, np.arange(5), rest, seed=4)
    with pytest.raises(NotFitted, match=rf"\(own replication 4, {criterion}, step 1, 15 labelled units, seed \d+: the"):
        macal.run(problem, criterion, SMALL, n_queries=1)


def test_jitter_grows_where_it_must_and_failure_names_the_model():
    k = torch.ones(3, 1, 4, 4)
    k[0] = torch.eye(4)
    k[2, 0, 0, 1:] = k[2, 0, 1:, 0] = 1.005  # an eigenvalue of about -0.004
    factor = cholesky.jittered(k)
    assert factor[0, 0, 0, 0].item() == pytest.approx((1 + 1e-4) ** 0.5)
    assert factor[2, 0, 0, 0].item() == pytest.approx((1 + 1e-2) ** 0.5)
    k[1] = -torch.eye(4)
    with pytest.raises(cholesky.NotPositiveDefinite, match=r"rows \[1\]"):
        cholesky.jittered(k)


@pytest.mark.parametrize("column", [1.7e9 + np.arange(12.0), np.linspace(0, 1e39, 12)])
def test_covariates_that_single_precision_would_blur_are_refused(column):
    units = Split(np.column_stack([np.arange(12.0), column]), np.arange(12) % 2, np.arange(12.0))
    with pytest.raises(ValueError, match="single precision.* column 1 "):
        SMALL.fit([Task(units, units)])
