"""All points that a subject's rules allow, what its model predicts for them, and which remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from uzushio.errors import TuningError
from uzushio.tuning.subject import Machine, Parameter, Point, Subject, Value

#: Of points that rules allow: more than this takes minutes, and says that rules are missing.
LARGEST = 500_000

#: A point as a key: its values in the order of the parameters.
Key = tuple[Value, ...]


@dataclass(frozen=True)
class Candidate:
    """A point that the rules allow.

    Attributes:
        key: its values, in the order of the parameters.
        predicted: seconds, by the model.
    """

    key: Key
    predicted: float


class Space:
    """The points of a subject, of which those that differ only in what does not act are one.

    Args:
        subject: the room's declaration.
        machine: what the model of cost is fed with.
        given: values that the case itself says: they stay, and are not tuned.

    Raises:
        TuningError: what the case itself says is refused by a rule.
    """

    def __init__(self, subject: Subject, machine: Machine, given: Point | None = None) -> None:
        self.subject = subject
        self.parameters = with_given(subject.parameters, given or {})
        self.names = tuple(parameter.name for parameter in self.parameters)
        self._by_key = {
            key: Candidate(key, subject.predict(self._point(key), machine))
            for key in allowed(subject, self.parameters)
        }
        self.all = sorted(self._by_key.values(), key=lambda one: one.predicted)
        self.kept = self.all
        self.prune(subject.trust)

    def prune(self, trust: float) -> None:
        """Keep what can be the best if the model is right within a factor `trust` to either side.

        A best point b and the best predicted q: p(b) <= f t(b) <= f t(q) <= f² p(q), with t in
        units of the unknown common factor.
        """
        most = self.all[0].predicted * max(1.0, trust) ** 2
        self.kept = [one for one in self.all if one.predicted <= most]

    def point(self, key: Key) -> dict[str, Value]:
        """The values by name."""
        return self._point(key)

    def key(self, point: Point) -> Key:
        """The point with the defaults of what does not act."""
        values: dict[str, Value] = {}
        for parameter in self.parameters:
            given = point.get(parameter.name, parameter.default)
            values[parameter.name] = given if _acts(parameter, values) else parameter.resting
        return tuple(values.values())

    def find(self, key: Key) -> Candidate | None:
        """The candidate, if the rules allow it."""
        return self._by_key.get(key)

    def default(self) -> Candidate:
        """What runs use that nobody has tuned, or what is nearest to it with what the case says."""
        key = self.key(self.subject.default())
        found = self.find(key)
        return found or min(
            self.all, key=lambda one: sum(a != b for a, b in zip(one.key, key, strict=True))
        )

    def switched_on(self) -> list[Candidate]:
        """For each value that is not "off", the best predicted point: pruned or not."""
        found: dict[tuple[int, Value], Candidate] = {}
        for one in self.all:
            for place, parameter in enumerate(self.parameters):
                if parameter.off is not None and one.key[place] != parameter.off:
                    found.setdefault((place, one.key[place]), one)
        return list(dict.fromkeys(found.values()))

    def neighbours(self, key: Key) -> list[Candidate]:
        """Kept candidates that differ from `key` in one parameter, numbers by one or two places.

        Parameters that act only in the neighbour have any value there; best predicted first.
        """
        return [one for one in self.kept if self._near(one.key, key)]

    def _near(self, one: Key, other: Key) -> bool:
        changed = 0
        values = self._point(other)
        for parameter, a, b in zip(self.parameters, one, other, strict=True):
            if a == b or not _acts(parameter, values):
                continue
            places = abs(parameter.values.index(a) - parameter.values.index(b))
            changed += 1 if not parameter.ordered or places <= 2 else 2
        return changed == 1

    def _point(self, key: Iterable[Value]) -> dict[str, Value]:
        return dict(zip(self.names, key, strict=False))


def check(subject: Subject, given: Point) -> None:
    """Raise `TuningError` if what the case says leaves nothing that the rules allow."""
    next(allowed(subject, with_given(subject.parameters, given)))


def allowed(subject: Subject, parameters: Sequence[Parameter]) -> Iterator[Key]:
    """Walk through the parameters, and turn back at the first rule that is broken.

    Raises:
        TuningError: there is no point, or far too many.
    """
    names = [one.name for one in parameters]
    last = {name: place for place, name in enumerate(names)}
    rules = [
        [rule for rule in subject.rules if max(last[n] for n in rule.names) == place]
        for place in range(len(names))
    ]
    refusals: Counter[str] = Counter()
    found = 0
    stack: list[Key] = [()]
    while stack:
        key = stack.pop()
        if len(key) == len(names):
            found += 1
            if found > LARGEST:
                raise TuningError(
                    f"{subject.room} has more than {LARGEST} possible points; fix some values in "
                    "the case, or with --set."
                )
            yield key
            continue
        place = len(key)
        parameter = parameters[place]
        values = dict(zip(names, key, strict=False))
        acts = _acts(parameter, values)
        for value in reversed(parameter.values) if acts else (parameter.resting,):
            values[parameter.name] = value
            reasons = (rule.refusal(*(values[n] for n in rule.names)) for rule in rules[place])
            refusal = next(filter(None, reasons), None)
            if refusal is None:
                stack.append((*key, value))
            else:
                refusals[refusal] += 1
    if not found:
        reason = refusals.most_common(1)[0][0] if refusals else "there is nothing to tune"
        raise TuningError(f"no values are possible with what the case says: {reason}.")


def _acts(parameter: Parameter, values: Point) -> bool:
    """Whether the parameter acts beside earlier values."""
    return all(values[name] in allowed for name, allowed in parameter.only_if.items())


def with_given(parameters: Iterable[Parameter], given: Point) -> list[Parameter]:
    """The parameters; those that the case says have one value."""
    return [
        replace(
            one,
            values=(given[one.name],),
            default=given[one.name],
            idle=None,
            only_if={},
            off=None,
        )
        if one.name in given
        else one
        for one in parameters
    ]
