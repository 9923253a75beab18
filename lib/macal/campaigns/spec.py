"""What a sweep is to run, checked before anything runs, and read from a file."""

import json
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from macal import acquisition, datasets, models
from macal.arguments import Count, as_hinted
from macal.campaigns import loop
from macal.models.base import settings_of
from macal.registry import Registry, check_known

MAX_RANGE = 100_000  # numbers in a range of a file


@dataclass(frozen=True)
class Spec:
    """What a sweep is to run: every method on every replication.

    Attributes:
        dataset: a name of :func:`macal.datasets.names`.
        methods: name in the table -> {"criterion": name, and its parameters}.
        replications: seeds of the data.
        model: {"name": a name of :func:`macal.models.names`, and its parameters}; criteria that need a model go by it.
        protocol: "paper" or "code".
        n_queries: batches per campaign; the problem's own by default.
        every: train label-free campaigns at every so many queries.
        steps: train them after these numbers of queries instead.
        block: replications per chunk of model-based methods, which move in lock-step.
        apart: whether each of those methods makes chunks of its own, where processes are many.
        stage: trainings per checkpoint of label-free methods.
        threads: of PyTorch, in each process.

    Raises:
        UnknownName: a name that does not exist.
        ValueError: a value out of range; nothing to run.
    """

    dataset: str
    methods: dict[str, dict[str, Any]]
    replications: Sequence[int]
    model: dict[str, Any] = field(default_factory=lambda: {"name": "exact-gp"})
    protocol: str = "paper"
    n_queries: int | None = None
    every: int = 1
    steps: Sequence[int] | None = None
    block: int = 5
    apart: bool = False
    stage: int = 32
    threads: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "replications", _numbers(self.replications, "replications"))
        check_known("dataset", datasets.names(), self.dataset)
        check_known("protocol", datasets.PROTOCOLS, self.protocol)
        _as_object(self.methods, "methods", '{"macal": {"alpha": 2.5}}')
        if not self.methods or not self.replications:
            raise ValueError("a sweep needs at least one method and one replication, got none")
        if len(set(self.replications)) < len(self.replications) or min(self.replications) < 0:
            raise ValueError(f"replications must be distinct and not negative, got {reprlib.repr(self.replications)}")
        counts = dict.fromkeys(("every", "block", "stage", "threads"), Count)
        as_hinted(vars(self), counts | {"n_queries": Count | None})
        if self.steps is not None:
            object.__setattr__(self, "steps", _numbers(self.steps, "steps"))
            if not self.steps or list(self.steps) != sorted({*self.steps}) or self.steps[0] < 0:
                raise ValueError(f"steps must be rising numbers of queries, 0 or more, got {self.steps}")
        model = self.build_model()
        for method in self.methods:
            loop.check_needs(self.criterion(method), model)

    def criterion(self, method: str) -> acquisition.Criterion:
        """Make the criterion of a method."""
        return _make(acquisition.CRITERIA, self.methods[method], "criterion", method, f"methods[{method!r}]")

    def build_model(self) -> models.Model:
        """Make the model."""
        return _make(models.MODELS, self.model, "name", "exact-gp", "model")

    def config(self, replication: int, method: str) -> dict[str, Any]:
        """Return the configuration that the record of one campaign answers, and that names it."""
        parameters = settings_of(self.criterion(method))
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "replication": replication,
            "method": method,
            "alpha": parameters.get("alpha"),
            "criterion": {"name": self.methods[method].get("criterion", method), **parameters},
            "model": {"name": self.model.get("name", "exact-gp"), **settings_of(self.build_model())},
            "n_queries": self.n_queries,
            "every": self.every,
            "threads": self.threads,
        } | ({} if self.steps is None else {"steps": list(self.steps)})


def _numbers(values: Any, name: str) -> tuple[int, ...]:
    plain = isinstance(values, Iterable) and not isinstance(values, (str, Mapping))
    found = tuple(values) if plain else ()
    if not plain or any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) for v in found):
        raise ValueError(f"{name} must be a list of whole numbers, say [0, 1, 2], got {reprlib.repr(values)}")
    return tuple(map(int, found))


def numbers(text: str, name: str) -> tuple[int, ...]:
    """Read numbers and rising ranges, ``"0-11, 15"``; ValueError with the name for anything else."""
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if not first <= last < first + MAX_RANGE:
            raise ValueError(
                f"{name} must be a list of whole numbers, or rising ranges of at most {MAX_RANGE:,} each,"
                ' say "0-11, 15";'
                f" got {part.strip()!r} in {reprlib.repr(text)}"
            )
        found += range(first, last + 1)
    return tuple(found)


def _as_object(value: Any, name: str, example: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be an object, say {example}, got {reprlib.repr(value)}")


def _make(registry: Registry, given: Any, key: str, default: str, where: str) -> Any:
    """Make a criterion or a model of what a field of a spec says; ``key`` holds its name."""
    _as_object(given, where, '{"alpha": 2.5}' if key == "criterion" else '{"name": "exact-gp", "steps": 500}')
    name = given.get(key, default)
    if not isinstance(name, str):
        raise ValueError(f"{where}[{key!r}] must be one of the names {', '.join(registry)}; got {name!r}")
    try:
        return registry.make(name, {k: v for k, v in given.items() if k != key})
    except (TypeError, AttributeError) as error:  # a value of another type than the parameter's
        raise ValueError(f"{where} holds a parameter of the wrong type ({error}), got {given!r}") from error


def read_spec(path: Path) -> Spec:
    """Read a spec from a JSON file with its fields; ``results/specs`` of the book's repository holds examples.

    Replications and steps may be ranges: ``"0-11, 15"`` is 0 to 11, and 15.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not JSON, or no spec; the message names the file and the field.
    """
    known = {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(Spec)}
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of the encoding too
        raise ValueError(f"{path} is not JSON in UTF-8 ({error}); results/specs holds examples of specs") from error
    try:
        _as_object(given, "a spec", '{"dataset": "toy", "methods": {"macal": {}}, "replications": [0, 1]}')
        check_known("field", known, *given)
        if missing := [name for name, required in known.items() if required and name not in given]:
            raise ValueError(f"a spec needs the fields dataset, methods and replications, got no {', '.join(missing)}")
        written = {name: given[name] for name in ("replications", "steps") if isinstance(given.get(name), str)}
        return Spec(**given | {name: numbers(text, name) for name, text in written.items()})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
