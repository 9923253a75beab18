"""Hashes of names and of rows, the same on every machine: what a sample goes by that must not depend on any order.

Numbers are mixed by the finaliser of SplitMix64, texts hashed by SipHash as pandas has it. A text that writes a whole
number, and nothing else, has the hash of that number.

References:
    G. L. Steele, D. Lea and C. H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA, 2014 (SplitMix64).
    J.-P. Aumasson and D. J. Bernstein, "SipHash: A Fast Short-Input PRF", INDOCRYPT, 2012.
"""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype

from macal.shapes import Covariates, Hashes

CANONICAL = r"(?:0|-?[1-9][0-9]{0,17})"  # a whole number as it is written, within 64 bits
_GOLDEN, _FIRST, _SECOND = (np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def key(seed: int, purpose: int) -> int:
    """A key of 64 bits for one purpose of a seed."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0])


def mixed(bits: Hashes) -> Hashes:
    """Mix 64 bits, (n,).

    >>> mixed(np.array([0, 1], np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    z = bits + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def of_names(names: Any, key: int) -> Hashes:
    """Hash of each name, (n,): a whole number, or text; anything else goes by the text that Python writes of it."""
    column = pd.Series(names)
    if is_integer_dtype(column.dtype) and not is_bool_dtype(column.dtype):
        return _of_integers(column.to_numpy(np.int64), key)
    texts = column.astype(str)
    whole = texts.str.fullmatch(CANONICAL).to_numpy(bool)
    hashes = np.empty(len(texts), np.uint64)
    hashes[whole] = _of_integers(texts[whole].to_numpy(object).astype(np.int64), key)
    rest = texts[~whole].to_numpy(object)
    hashes[~whole] = pd.util.hash_array(rest, hash_key=f"{key:016x}", categorize=False)
    return hashes


def _of_integers(values: np.ndarray, key: int) -> Hashes:
    return mixed(values.view(np.uint64) ^ np.uint64(key))


def of_rows(x: Covariates) -> Hashes:
    """Hash of the numbers in each row, (n,)."""
    hashes = np.zeros(len(x), np.uint64)
    for column in x.T:
        hashes = mixed(hashes ^ (column.astype(np.float64) + 0.0).view(np.uint64))  # 0 for -0
    return hashes


def uniform(hashes: Hashes) -> np.ndarray:
    """A hash as a number in (0, 1), (n,)."""
    return (np.right_shift(hashes, np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
