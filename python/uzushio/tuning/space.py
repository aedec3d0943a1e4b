"""Search space: points allowed by a subject's rules, their predicted times, and pruning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from uzushio.errors import TuningError
from uzushio.tuning.subject import Machine, Parameter, Point, Subject, Value

#: Maximum number of allowed points: more take minutes, and indicate missing rules.
MAX_POINTS = 500_000

#: Point as a key: its values in the order of the parameters.
Key = tuple[Value, ...]


@dataclass(frozen=True)
class Candidate:
    """Allowed point.

    Attributes:
        key: values in the order of the parameters.
        predicted: seconds predicted by the model.
    """

    key: Key
    predicted: float


class Space:
    """Allowed points of a subject; points that differ only in inactive parameters are one.

    Args:
        subject: declaration of the room.
        machine: measurements for the cost model.
        given: values set in the case; they are not tuned.

    Raises:
        TuningError: a rule refuses the values of the case.
    """

    def __init__(self, subject: Subject, machine: Machine, given: Point | None = None) -> None:
        self.subject = subject
        self.parameters = with_given(subject.parameters, given or {})
        self.names = tuple(parameter.name for parameter in self.parameters)
        self._by_key = {
            key: Candidate(key, subject.predict(self.point(key), machine))
            for key in allowed(subject, self.parameters)
        }
        self.all = sorted(self._by_key.values(), key=lambda candidate: candidate.predicted)
        self.remaining = self.all
        self.prune(subject.trust)

    def prune(self, trust: float) -> None:
        """Keep the points that can be the best if the model's error is within a factor `trust`.

        For the best point b and the best predicted q: p(b) <= f t(b) <= f t(q) <= f² p(q), with t
        in units of the unknown common factor.
        """
        max_predicted = self.all[0].predicted * max(1.0, trust) ** 2
        self.remaining = [
            candidate for candidate in self.all if candidate.predicted <= max_predicted
        ]

    def point(self, key: Iterable[Value]) -> dict[str, Value]:
        """Return the values by name."""
        return dict(zip(self.names, key, strict=False))

    def key(self, point: Point) -> Key:
        """Return the key of a point, with the inactive values of parameters that do not act."""
        values: dict[str, Value] = {}
        for parameter in self.parameters:
            given = point.get(parameter.name, parameter.default)
            values[parameter.name] = given if _acts(parameter, values) else parameter.inactive_value
        return tuple(values.values())

    def find(self, key: Key) -> Candidate | None:
        """Return the candidate of a key; None if the rules refuse it."""
        return self._by_key.get(key)

    def default(self) -> Candidate:
        """Return the default point, or the nearest allowed one with the values of the case."""
        key = self.key(self.subject.default())
        candidate = self.find(key)
        return candidate or min(
            self.all, key=lambda point: sum(a != b for a, b in zip(point.key, key, strict=True))
        )

    def switched_on(self) -> list[Candidate]:
        """Return the best predicted point for each value that is not "off", pruned or not."""
        switched: dict[tuple[int, Value], Candidate] = {}
        for candidate in self.all:
            for place, parameter in enumerate(self.parameters):
                if parameter.off is not None and candidate.key[place] != parameter.off:
                    switched.setdefault((place, candidate.key[place]), candidate)
        return list(dict.fromkeys(switched.values()))

    def neighbours(self, key: Key) -> list[Candidate]:
        """Return remaining candidates with one parameter different from `key`, best first.

        Numbers differ by one or two places. Parameters that act only in the neighbour have any
        value there.
        """
        return [candidate for candidate in self.remaining if self._near(candidate.key, key)]

    def _near(self, key: Key, other: Key) -> bool:
        changed = 0
        values = self.point(other)
        for parameter, a, b in zip(self.parameters, key, other, strict=True):
            if a == b or not _acts(parameter, values):
                continue
            places = abs(parameter.values.index(a) - parameter.values.index(b))
            changed += 1 if not parameter.ordered or places <= 2 else 2
        return changed == 1


def check(subject: Subject, given: Point) -> None:
    """Raise `TuningError` if the rules refuse all points with the values of the case."""
    next(allowed(subject, with_given(subject.parameters, given)))


def allowed(subject: Subject, parameters: Sequence[Parameter]) -> Iterator[Key]:
    """Yield the allowed points, by depth-first search with a check of each rule.

    Raises:
        TuningError: there is no point, or more than the maximum.
    """
    names = [parameter.name for parameter in parameters]
    last = {name: place for place, name in enumerate(names)}
    rules = [
        [rule for rule in subject.rules if max(last[n] for n in rule.names) == place]
        for place in range(len(names))
    ]
    refusals: Counter[str] = Counter()
    count = 0
    stack: list[Key] = [()]
    while stack:
        key = stack.pop()
        if len(key) == len(names):
            count += 1
            if count > MAX_POINTS:
                raise TuningError(
                    f"{subject.room} has more than {MAX_POINTS} possible points; fix some values "
                    "in the case, or with --set."
                )
            yield key
            continue
        place = len(key)
        parameter = parameters[place]
        values = dict(zip(names, key, strict=False))
        acts = _acts(parameter, values)
        for value in reversed(parameter.values) if acts else (parameter.inactive_value,):
            values[parameter.name] = value
            reasons = (rule.refusal(*(values[n] for n in rule.names)) for rule in rules[place])
            refusal = next(filter(None, reasons), None)
            if refusal is None:
                stack.append((*key, value))
            else:
                refusals[refusal] += 1
    if not count:
        reason = refusals.most_common(1)[0][0] if refusals else "there is nothing to tune"
        raise TuningError(f"no values are possible with those of the case: {reason}.")


def _acts(parameter: Parameter, values: Point) -> bool:
    """Whether the parameter acts with the values of earlier parameters."""
    return all(values[name] in allowed for name, allowed in parameter.only_if.items())


def with_given(parameters: Iterable[Parameter], given: Point) -> list[Parameter]:
    """Return the parameters, with a single value for those set in the case."""
    return [
        replace(
            parameter,
            values=(given[parameter.name],),
            default=given[parameter.name],
            idle=None,
            only_if={},
            off=None,
        )
        if parameter.name in given
        else parameter
        for parameter in parameters
    ]
