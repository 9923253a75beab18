"""CMNIST: treatment and outcomes simulated from one number per handwritten digit.

Sources: Jesson et al. 2021; the images, LeCun et al. 1998. They stay bytes; see :class:`macal.problem.Split`.
"""

import struct
from functools import cache

import numpy as np
from scipy.special import expit

from macal.datasets import files
from macal.datasets.rounding import rounded
from macal.datasets.splits import split
from macal.problem import Problem, Split
from macal.shapes import Images, Outcomes

START, BATCH, QUERIES = 50, 50, 50  # Table 1 of the paper
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
SOURCES = {  # SHA-256 of the unpacked content
    "mnist/train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "mnist/train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
}
files.declare(
    "mnist",
    {
        name: files.Source(sha256, tuple(name.replace("mnist/", mirror, 1) for mirror in MIRRORS))
        for name, sha256 in SOURCES.items()
    },
)
LEVELS = (np.arange(256) / 255 - 0.1307) / 0.3081  # mean and s.d. of the training pixels
CLIP = 1.4  # s.d.s of a digit's intensity
LOW, WIDTH = -3.0, 0.6  # digit c has phi in [LOW + c * WIDTH, LOW + (c + 1) * WIDTH]
NOISE = 0.01


def read_idx(data: bytes) -> np.ndarray:
    """Return the array in an IDX file of unsigned bytes, MNIST's format; ValueError where it is none, or cut short."""
    zeros, kind, axes = struct.unpack_from(">HBB", data) if len(data) >= 4 else (None, None, 0)
    if (zeros, kind) != (0, 8) or len(data) < 4 + 4 * axes:
        raise ValueError(
            f"not an IDX file of unsigned bytes: it begins with {data[:4].hex()},"
            " expected 000008 and the number of axes, whose lengths follow"
        )
    shape = struct.unpack_from(f">{axes}I", data, 4)
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * axes)
    if values.size != np.prod(shape):
        raise ValueError(
            f"truncated or overlong IDX file: the header announces {shape}, the file holds {values.size} values"
        )
    return values.reshape(shape)


@cache
def digits() -> tuple[Images, np.ndarray]:
    """Return MNIST's training images, (60000, 784) uint8, and which digit each shows, (60000,) uint8; read-only.

    Raises as :func:`macal.datasets.files.read`.
    """
    images, labels = (read_idx(files.read(name)) for name in SOURCES)
    return images.reshape(len(images), -1), labels


def latent(images: Images, labels: np.ndarray) -> Outcomes:
    """The one number phi that treatment and outcomes depend on, (n,).

    An image's intensity, the sum of its pixels, is standardised within its class, clipped, and mapped onto the class's
    interval: the least and the greatest attained go to its ends.
    """
    intensity = images.sum(axis=1, dtype=np.int64)
    phi = np.empty(len(images))
    for digit in np.unique(labels):
        own = labels == digit
        z = np.clip((intensity[own] - intensity[own].mean()) / intensity[own].std(), -CLIP, CLIP)
        phi[own] = LOW + WIDTH * (digit + (z - z.min()) / (z.max() - z.min()))
    return phi


def propensity(phi: Outcomes) -> Outcomes:
    """Probability of treatment, (n,): the logistic function of 2 phi + 0.5."""
    return expit(2 * phi + 0.5)


def surfaces(phi: Outcomes) -> tuple[Outcomes, Outcomes]:
    """Noiseless outcomes (mu0, mu1), (n,) each: (2t - 1)(phi + 1) - 2 sin((4t - 2) phi) + 2 (1 + phi / 2)."""
    mu0, mu1 = (sign * (phi + 1) - 2 * rounded(np.sin, 2 * sign * phi) + 2 + phi for sign in (-1, 1))
    return mu0, mu1


@cache
def _truth() -> tuple[Outcomes, Outcomes, Outcomes]:
    """What no seed changes: phi, mu0 and mu1 of all images, (n,) each; read-only."""
    phi = latent(*digits())
    found = phi, *surfaces(phi)
    for array in found:
        array.flags.writeable = False
    return found


def load(seed: int, protocol: str) -> Problem:
    """Return one CMNIST replication: pool 31,500, validation 10,500, test 18,000 of MNIST's training images.

    phi is computed once over all images. The protocols do not differ here. Raises as :func:`macal.datasets.files.read`.
    """
    images, _ = digits()
    phi, mu0, mu1 = _truth()
    rng = np.random.default_rng(seed)
    t = (rng.random(phi.size) < propensity(phi)).astype(np.int64)
    y = np.where(t == 1, mu1, mu0) + NOISE * rng.normal(size=phi.size)
    rest, test = split(np.arange(phi.size), 0.3, seed)
    pool, valid = split(rest, 0.25, seed)
    start = rng.choice(pool.size, START, replace=False)
    splits = [Split(images[rows], t[rows], y[rows], mu0[rows], mu1[rows], LEVELS) for rows in (pool, test, valid)]
    return Problem("cmnist", *splits[:2], start, splits[2], BATCH, QUERIES, seed, protocol, SOURCES)
