"""CMNIST against Table 1 and an independent implementation that goes image by image."""

import gzip
import math
import struct

import numpy as np
import pytest
from needs import needs_data
from sklearn.model_selection import train_test_split

import macal
from macal import files
from macal.datasets import cmnist

needs_mnist = needs_data("mnist")


def idx(values, kind=8):
    values = np.asarray(values, np.uint8)
    return struct.pack(f">HBB{values.ndim}I", 0, kind, values.ndim, *values.shape) + values.tobytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "IDX"),
        (idx([[1, 2]])[:9], "IDX"),
        (idx([1, 2, 3], kind=9), "00000901"),
        (b"\x01" + idx([1, 2])[1:], "01000801"),
        (idx([[1, 2], [3, 4]])[:-1], "3 values"),
        (idx([[1, 2], [3, 4]]) + b"\x00", "5 values"),
    ],
)
def test_idx_refuses(data, message):
    with pytest.raises(ValueError, match=message):
        cmnist.read_idx(data)


@needs_mnist
@pytest.mark.parametrize("seed", range(10))
def test_sizes_of_table_1(seed):
    problem = macal.load("cmnist", seed)
    assert [len(s) for s in (problem.pool, problem.valid, problem.test)] == [31_500, 10_500, 18_000]
    assert (len(problem.start), problem.batch_size, problem.n_queries) == (50, 50, 50)


def slow_phi():
    """Digit and clipped intensity, image by image: pixels to the model's scale, their mean, standardised by class."""
    names = ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz")
    images, labels = (gzip.decompress(files.find(name).read_bytes()) for name in names)
    means = [[] for _ in range(10)]
    of_image = []
    for k in range(60_000):
        total = sum(images[16 + 784 * k : 16 + 784 * (k + 1)])
        of_image.append((total / 784 / 255 - 0.1307) / 0.3081)
        means[labels[8 + k]].append(of_image[-1])
    centre = [math.fsum(m) / len(m) for m in means]
    spread = [math.sqrt(math.fsum((v - c) ** 2 for v in m) / len(m)) for m, c in zip(means, centre, strict=True)]
    digits = list(labels[8:])
    return digits, [min(1.4, max(-1.4, (v - centre[c]) / spread[c])) for v, c in zip(of_image, digits, strict=True)]


@pytest.fixture(scope="module")
def slow():
    """Digit and clipped intensity of all 60,000 images."""
    return slow_phi()


def slow_outcomes(digits, clipped, rows):
    """phi, propensity, mu0 and mu1 of the images ``rows``, the intensity mapped from what these images attain."""
    low = {c: min(clipped[k] for k in rows if digits[k] == c) for c in range(10)}
    high = {c: max(clipped[k] for k in rows if digits[k] == c) for c in range(10)}
    out = []
    for k in rows:
        c = digits[k]
        left, right = -3 + 6 * c / 10, -3 + 6 * (c + 1) / 10
        phi = left + (clipped[k] - low[c]) * (right - left) / (high[c] - low[c])
        mu = [(2 * t - 1) * phi + (2 * t - 1) - 2 * math.sin((4 * t - 2) * phi) + 2 * (1 + 0.5 * phi) for t in (0, 1)]
        out.append((phi, 1 / (1 + math.exp(-(2 * phi + 0.5))), *mu))
    return np.array(out)


@needs_mnist
@pytest.mark.parametrize("seed", [0, 5])
def test_a_replication_equals_the_slow_one_split_by_split(slow, seed):
    problem = macal.load("cmnist", seed)
    rest, test = train_test_split(np.arange(60_000), test_size=0.3, random_state=seed)
    pool, valid = train_test_split(rest, test_size=0.25, random_state=seed)
    truth = np.empty((60_000, 4))
    for part in (rest, test):  # the intensity is rescaled within each part, as the authors do
        truth[part] = slow_outcomes(*slow, part.tolist())
    rng = np.random.default_rng(seed)
    t = rng.random(60_000) < truth[:, 1]
    y = np.where(t, truth[:, 3], truth[:, 2]) + 0.01 * rng.normal(size=60_000)
    for split, rows in ((problem.pool, pool), (problem.valid, valid), (problem.test, test)):
        assert np.array_equal(split.t, t[rows]) and np.array_equal(split.stored, cmnist.digits()[0][rows])
        np.testing.assert_allclose(
            np.column_stack([split.mu0, split.mu1, split.y]), np.column_stack([truth[rows, 2:], y[rows]]), atol=1e-12
        )


@needs_mnist
def test_provenance():
    problem = macal.load("cmnist", 3)
    assert problem.sources == {name: files.FILES[name].sha256 for name in cmnist.SOURCES}
