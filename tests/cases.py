"""How many cases a test has, and how many of them always run."""

import inspect
import traceback
from functools import wraps

import pytest
from hypothesis import given, settings


def each(names, values):
    """Run a test with every value and say all that failed: one test, where ``parametrize`` would make hundreds.

    The cases share the test's fixtures.
    """
    names, values = [name.strip() for name in names.split(",")], list(values)

    def decorate(test):
        @wraps(test)
        def looped(*args, **fixtures):
            failed = []
            for value in values:
                case = dict(zip(names, value if len(names) > 1 else [value], strict=True))
                try:
                    test(*args, **fixtures, **case)
                except (Exception, pytest.fail.Exception) as error:
                    line = traceback.extract_tb(error.__traceback__)[-1].lineno
                    failed.append((error, f"{case}: {type(error).__name__} in line {line}: {error}"))
            if failed:  # the traceback shown is that of the first
                raise AssertionError("\n".join(told for _, told in failed)) from failed[0][0]

        signature = inspect.signature(test)
        kept = [p for p in signature.parameters.values() if p.name not in names]
        looped.__signature__ = signature.replace(parameters=kept)
        return looped

    return decorate


def exhaustive(*values):
    """A case of ``parametrize`` that the exhaustive part alone runs."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def part_and_whole(name, part, whole):
    """Run a test with a small number, always, and with a large one, which is exhaustive."""
    whole = pytest.param(whole, marks=pytest.mark.exhaustive, id="whole")
    return pytest.mark.parametrize(name, [pytest.param(part, id="part"), whole])


def drawn(part, whole, **strategies):
    """Run a test on so many drawn problems: few, always, and many, which is exhaustive; they share its fixtures."""

    def decorate(test):
        @part_and_whole("problems", part, whole)
        @wraps(test)
        def many(problems, **fixtures):
            @settings(max_examples=problems)
            @given(**strategies)
            def one(**case):
                test(**fixtures, **case)

            one()

        kept = [p for p in inspect.signature(test).parameters.values() if p.name not in strategies]
        size = inspect.Parameter("problems", inspect.Parameter.KEYWORD_ONLY)
        many.__signature__ = inspect.Signature([*kept, size])
        return many

    return decorate
