"""What callers pass in, as arrays and counts that the rest can trust; every refusal names the argument and a remedy."""

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, wraps
from inspect import signature
from numbers import Real
from types import NoneType, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from macal.shapes import Arms, Covariates, Indices, Outcomes

P, Result = ParamSpec("P"), TypeVar("Result")
Level = Annotated[float | int, "a number above 0 and below 1", lambda value: 0 < value < 1]
Positive = Annotated[float | int, "a number above 0", lambda value: value > 0]
NotNegative = Annotated[float | int, "a finite number of at least 0", lambda value: value >= 0]
Share = Annotated[float | int, "a share above 0 and at most 1", lambda value: 0 < value <= 1]
Whole = Annotated[int, "a whole number of at least 0", lambda value: value >= 0]
Count = Annotated[int, "a whole number of at least 1", lambda value: value >= 1]
MIN_POSITIVE, MAX_FINITE = 1e-100, 1e100  # of costs and probabilities: products neither vanish nor overflow
_EXACT = 2**53  # integers beyond it are not all floats
_WORDS = {str: "text", int: "a whole number", float: "a finite number", bool: "true or false", NoneType: "None"}
_WORDS |= {Hashable: "one name"}


def hinted(function: Callable[P, Result]) -> Callable[P, Result]:
    """Make a function refuse, before it begins, what its type hints do not say, and arrays that do not fit together.

    Scalars of NumPy are taken as Python's, and arrays and columns of pandas as lists where the hint is one.

    Raises:
        ValueError: it names the argument.
    """
    known, hints = signature(function), cache(lambda: get_type_hints(function, include_extras=True))

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        given = known.bind(*args, **kwargs)
        given.arguments.update(as_hinted(given.arguments, hints()))
        return function(*given.args, **given.kwargs)

    return call


def as_hinted(values: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as their type hints say; ValueError names the first that is not, or an array of another length."""
    found = {name: _as_hinted(name, value, hints.get(name, Any)) for name, value in values.items()}
    lengths: dict[str, tuple[int, str]] = {}
    for name, value in found.items():
        axes = _axes(value, hints.get(name, Any))
        for letter, length in zip(axes, value.shape if axes else (), strict=True):
            wanted, of = lengths.setdefault(letter, (length, name))
            if length != wanted:
                raise ValueError(f"{name} must be as long as {of}, {wanted}, got {length}")
    return found


def _as_hinted(name: str, value: Any, hint: Any) -> Any:
    if fits(value, hint):
        return value
    if isinstance(value, (np.generic, np.ndarray, pd.Index, pd.Series)) and fits(plain := value.tolist(), hint):
        return plain
    kinds = " or ".join(_named(hint))
    one = f"; [{value!r}] is one" * (isinstance(value, str) and "a list of text" in kinds)
    raise ValueError(f"{name} must be {kinds}, got {short(value)}{one}")


def _axes(value: Any, hint: Any) -> list[str]:
    """Letters, or lengths, of the axes of an array; empty for anything else."""
    of = next((one for one in get_args(hint) if fits(value, one)), None) if _is_union(hint) else hint
    return getattr(of, "dim_str", "").split()


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what a type hint says: numbers such as arrays hold, arrays of whole numbers or of any."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any or _is_union(hint):
        return hint is Any or any(fits(value, one) for one in inner)
    if kind is Annotated:
        return fits(value, inner[0]) and bool(inner[2](value))
    if kind is Mapping:
        return isinstance(value, Mapping) and all(fits(one, inner[1]) for one in value.values())
    if kind in (Sequence, tuple):
        each = inner * len(value) if kind is Sequence and isinstance(value, (list, tuple)) else inner
        return isinstance(value, (list, tuple)) and len(value) == len(each) and all(map(fits, value, each))
    if hint in (int, float):
        is_whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        return is_whole or (hint is float and isinstance(value, float) and math.isfinite(value))
    if axes := getattr(hint, "dims", None):
        kinds = "iub" if "int64" in hint.dtypes else "fiub"
        return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == len(axes)
    return isinstance(value, kind or hint)


def _named(hint: Any) -> list[str]:
    """What a type hint says, in words."""
    kind, inner = get_origin(hint), get_args(hint)
    if _is_union(hint):
        return [word for one in inner if one is not int or float not in inner for word in _named(one)]
    if kind is Annotated:
        return [inner[1]]
    if kind is Sequence:
        return [f"a list of {' or '.join(_named(inner[0]))}"]
    if kind is Iterable:
        return ["a list"]
    if kind is tuple:
        return [f"{len(inner)} numbers"]
    if axes := getattr(hint, "dims", None):
        whole = "whole " * ("int64" in hint.dtypes)
        return [f"an array of {whole}numbers with {len(axes)} {'axes' if len(axes) > 1 else 'axis'}"]
    return ["a mapping" if kind is Mapping else _WORDS.get(hint, f"a {hint.__name__}")]


def short(value: Any) -> str:
    """A value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def as_array(value: Any, name: str) -> np.ndarray:
    """Return an array, a tensor or a pandas object as a NumPy array, with NaN where a number is missing.

    ValueError for a sparse matrix, a masked entry, integers that float64 cannot hold, or a column that is not numeric.
    """
    if is_tensor(value):
        value = _from_tensor(value, name)
    elif isinstance(value, pd.DataFrame):
        value = _from_frame(value, name)
    elif isinstance(value, (pd.Series, pd.Index)):
        value = _from_column(value)
    elif type(value).__module__.startswith("scipy.sparse"):
        raise ValueError(f"{name} must be dense, got a sparse matrix; use .toarray()")
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ValueError(
            f"{name} must have no masked entries, got {np.ma.count_masked(value)}; fill them or drop their rows"
        )
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be an array of numbers, got {short(value)}") from error
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT:
        raise ValueError(
            f"{name} holds integers beyond 2**53, which lose digits as floats; if they are identifiers, leave them out"
        )
    return array


def is_tensor(value: Any) -> bool:
    """Whether a value is PyTorch's: its maker has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_tensor(value: Any, name: str) -> Any:
    torch = sys.modules["torch"]
    if value.layout != torch.strided:
        raise ValueError(f"{name} must be dense, got a sparse tensor; use .to_dense()")
    value = value.detach().cpu()
    return value.double() if value.is_floating_point() and value.dtype != torch.float32 else value


def _from_frame(value: pd.DataFrame, name: str) -> np.ndarray:
    columns = [as_array(value.iloc[:, k], f"column {c!r} of {name}") for k, c in enumerate(value.columns)]
    for column, array in zip(value.columns, columns, strict=True):
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"{name} must be numeric, got column {column!r} of dtype {array.dtype}; encode its categories first"
            )
    return np.column_stack(columns) if columns else np.empty(value.shape)


def _from_column(value: pd.Series | pd.Index) -> np.ndarray:
    """Nullable and Arrow columns as what NumPy has for them."""
    if isinstance(value.dtype, np.dtype):
        return value.to_numpy()
    if isinstance(value.dtype, pd.SparseDtype):
        return np.asarray(value.array)
    if value.dtype.kind in "fiub" and value.hasnans:
        return value.to_numpy(np.float64, na_value=np.nan)
    return value.to_numpy(value.dtype.numpy_dtype if value.dtype.kind in "fiub" else object)


def as_covariates(x: Any, name: str = "x") -> Covariates:
    """Return ``x``, called ``name`` in an error, as an (n, d) array of finite floats, float32 or else float64.

    Raises:
        ValueError: not two-dimensional, without a column, sparse, masked, not numeric, or not finite.
    """
    x = as_array(x, name)
    if x.ndim != 2:
        raise ValueError(
            f"{name} must have two axes (units, covariates), got shape {x.shape};"
            " reshape(-1, 1) makes one covariate a column"
        )
    if not x.shape[1]:
        raise ValueError(f"{name} must have at least one covariate, got shape {x.shape}")
    if x.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numeric, got dtype {x.dtype}; encode its categories first")
    x = x if x.dtype == np.float32 else x.astype(np.float64)
    if not np.isfinite(x).all():
        rows = np.flatnonzero(~np.isfinite(x).all(axis=1))
        raise ValueError(
            f"{name} must be finite, got NaN or infinity in {rows.size} rows, the first being row {rows[0]};"
            " impute or drop them"
        )
    return x


def as_arms(t: Any, n: int, name: str = "t", multi_arm: bool = False) -> Arms:
    """Return ``t`` as (n,) integers, 0 (control), 1 (treated), and more if ``multi_arm``; else ValueError."""
    t = as_array(t, name)
    if t.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} units, got shape {t.shape}")
    if t.dtype.kind in "mM":
        raise ValueError(f"{name} must be binary (0 control, 1 treated), got times; recode the treatment")
    values = list(dict.fromkeys(t.tolist()))  # not sorted: they may be of several kinds
    known = range(len(t)) if multi_arm else (0, 1)
    odd = [v for v in values if not (isinstance(v, (Real, Decimal, np.bool_)) and v in known)]
    if odd:
        more = ", or number several arms from 0, the reference," if multi_arm else ","
        raise ValueError(f"{name} must be binary (0 control, 1 treated){more} got also {odd[:5]}; recode the treatment")
    return t.astype(np.int64)


def arms_of(t: Arms) -> int:
    """How many arms there are in ``t``, (n,), numbered from 0; at least 2."""
    return max(int(t.max(initial=1)) + 1, 2)


def as_outcomes(y: Any, n: int, name: str = "y", missing: bool = False) -> Outcomes:
    """Return ``y`` as an (n,) float64 array of finite outcomes, or NaN if some may be ``missing``; else ValueError."""
    y = as_array(y, name)
    if y.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} units, got shape {y.shape}")
    if y.dtype.kind in "fiub":
        odd = y[np.isinf(y) | (np.isnan(y) & (not missing))].tolist()
    else:
        odd = [v for v in y.tolist() if isinstance(v, bool) or not isinstance(v, Real)] or y.tolist()
    if odd:
        gaps = ", missing where an outcome has not been bought" if missing else ""
        raise ValueError(f"{name} must be finite numbers{gaps}, got {odd[0]!r}")
    return y.astype(np.float64)


def as_indices(labelled: Any, n: int, name: str = "labelled") -> Indices:
    """Return ``labelled`` as an integer array of distinct indices below ``n``; else ValueError."""
    given = as_array(labelled, name)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a list of integer indices, got shape {given.shape} and dtype {given.dtype};"
            " for a mask use np.flatnonzero(mask)"
        )
    out = given.astype(np.int64)
    if out.size and (out.min() < 0 or out.max() >= n):
        raise ValueError(f"{name} must lie in 0..{n - 1}, got {out.min()}..{out.max()}")
    values, counts = np.unique(out, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name} must not repeat an index, got {values[counts > 1][:5].tolist()} more than once")
    return out


def as_count(value: Any, name: str, least: int = 1) -> int:
    """Return ``value`` as an int; ValueError where it is none, or below ``least``."""
    hint = Annotated[int, f"a whole number of at least {least}", lambda whole: whole >= least]
    return as_hinted({name: value}, {name: hint})[name]
